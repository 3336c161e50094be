/** The wall clock of a zone by Intl alone, so that the tests of windows have nothing of the code that they judge. */

export interface WallClock {
  /** 1 to 12 */
  readonly month: number;
  readonly day: number;
  readonly weekday: string;
  readonly hour: number;
}

export function wallClock(at: Date, timeZone: string): WallClock {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    month: "numeric",
    day: "numeric",
    weekday: "short",
    hour: "numeric",
    hourCycle: "h23",
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const number = (type: "month" | "day" | "hour"): number => Number(parts.get(type));
  return {
    month: number("month"),
    day: number("day"),
    hour: number("hour"),
    weekday: parts.get("weekday") ?? "",
  };
}

/** When the answer, which changes only at full hours of UTC, changes next; as a status writes it. */
export function nextFlip(after: Date, answer: (at: Date) => boolean): string {
  const before = answer(after);
  const at = new Date(after);
  do {
    at.setUTCHours(at.getUTCHours() + 1, 0, 0, 0);
  } while (answer(at) === before);
  return at.toISOString().replace(".000Z", "Z");
}
