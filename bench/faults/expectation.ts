/** What is right to answer about a Cluster, and when: from what the driver itself has written to the API server. */

/** Kleene's three values. Maybe: a write is under way, and the API server may or may not have stored it. */
export type Truth = "Yes" | "No" | "Maybe";

/** What decides whether a Cluster may go on. */
export interface Facts {
  /** There is a policy that matches it. */
  readonly inForce: Truth;
  /** The policy can be evaluated; what cannot be evaluated holds. */
  readonly evaluable: Truth;
  /** The gates of the policy hold. */
  readonly satisfied: Truth;
}

export function mayGo({ inForce, evaluable, satisfied }: Facts): Truth {
  return or(not(inForce), and(evaluable, satisfied));
}

function not(a: Truth): Truth {
  if (a === "Maybe") return a;
  return a === "Yes" ? "No" : "Yes";
}

function and(a: Truth, b: Truth): Truth {
  if (a === "No" || b === "No") return "No";
  return a === "Yes" && b === "Yes" ? "Yes" : "Maybe";
}

function or(a: Truth, b: Truth): Truth {
  return not(and(not(a), not(b)));
}

/** Whether a Cluster may go on, as it changed; instants are milliseconds of one clock that never jumps. */
export class Timeline {
  readonly #changes: { readonly at: number; readonly go: Truth }[] = [];

  set(at: number, go: Truth): void {
    this.#changes.push({ at, go });
  }

  /** Everything that was so at some instant of the stretch, its ends included; Maybe before the first change. */
  during(from: number, to: number): ReadonlySet<Truth> {
    const before = this.#changes.findLast(({ at }) => at < from)?.go ?? "Maybe";
    const within = this.#changes.filter(({ at }) => from <= at && at <= to).map(({ go }) => go);
    return new Set([before, ...within]);
  }
}
