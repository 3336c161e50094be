/** Instants as edges: the earliest of several, and their format. */

/** The earliest known instant; "Unknown" only if none is known. */
export function earliest<T extends Date | "Unknown">(instants: Iterable<T | undefined>): T | undefined {
  let first: T | undefined;
  for (const instant of instants) {
    if (instant === undefined) continue;
    if (first === undefined || first === "Unknown") first = instant;
    else if (instant !== "Unknown" && instant < first) first = instant;
  }
  return first;
}

/** RFC 3339 with whole seconds, as in metav1.Time. Uses join(), because V8 keeps the parts of a template as long as its text. */
export function timestamp(time: Date): string {
  return [time.toISOString().slice(0, 19), "Z"].join("");
}

/** Rounds up to a second, because a status keeps whole seconds, and a wait that counts from it must not end early. */
export function wholeSecond(time: Date): Date {
  return new Date(Math.ceil(time.getTime() / 1000) * 1000);
}

export function after(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}

/** `undefined`: the text names no instant. */
export function readTimestamp(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
