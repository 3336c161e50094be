/** When the operator may release a Cluster, as the driver knows from its own writes to the API server. */

/** Kleene's three values. Maybe: a write is under way, and the API server may or may not have stored it. */
export type Truth = "Yes" | "No" | "Maybe";

export interface Facts {
  readonly inForce: Truth;
  /** The policy can be evaluated; one that cannot holds. */
  readonly evaluable: Truth;
  readonly satisfied: Truth;
}

/** The Cluster may be released where no policy is in force, or where the policy can be evaluated and is satisfied. */
export function mayGo({ inForce, evaluable, satisfied }: Facts): Truth {
  return not(and(inForce, not(and(evaluable, satisfied))));
}

function not(a: Truth): Truth {
  if (a === "Maybe") return a;
  return a === "Yes" ? "No" : "Yes";
}

function and(a: Truth, b: Truth): Truth {
  if (a === "No" || b === "No") return "No";
  return a === "Yes" ? b : a;
}

/** The changes of one Cluster's Truth; instants are milliseconds of a clock that never jumps. */
export class Timeline {
  readonly #changes: { readonly at: number; readonly go: Truth }[] = [];

  set(at: number, go: Truth): void {
    this.#changes.push({ at, go });
  }

  /** Whether only `go` was true from `from` to `to`, ends included. Before the first change everything is Maybe. */
  isAlways(go: Truth, from: number, to: number): boolean {
    const before = this.#changes.findLast(({ at }) => at < from)?.go ?? "Maybe";
    const within = this.#changes.filter(({ at }) => from <= at && at <= to);
    return before === go && within.every((change) => change.go === go);
  }
}
