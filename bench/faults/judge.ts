/**
 * The judgement of a run's calls: which failed, which answers were wrong, and since when all were right again. When the
 * operator may release a Cluster, the driver knows from its own writes to the API server.
 */

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

export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

export interface Call extends TimeSpan {
  readonly cluster: string;
  readonly timeline: Timeline;
  readonly result: "Go" | "Held" | "Failed";
  /** The message of an answer that holds, or the reason why there was no answer. */
  readonly message: string;
}

export interface Judgement {
  readonly calls: number;
  readonly goes: number;
  readonly failed: readonly Call[];
  readonly wrongAllows: readonly Call[];
  /** From the end of the fault to the last answer that was wrong, late or missing; undefined: the run ended with one. */
  readonly rightAgainMs: number | undefined;
  readonly lastWrong: Call | undefined;
}

/** A replica may take this long to hear of a change; what it holds meanwhile is not held too long. */
const NEWS_MS = 1000;
/** Answers are right again when none was wrong for this long at the end of the run. */
const QUIET_MS = 1000;

export function judge(calls: readonly Call[], healedAt: number): Judgement {
  const wrong = calls.filter((call) => call.to > healedAt && isWrong(call));
  const lastWrong = wrong.toSorted((a, b) => a.to - b.to).at(-1);
  const rightAt = lastWrong?.to ?? healedAt;
  const end = Math.max(healedAt, ...calls.map(({ to }) => to));
  return {
    calls: calls.length,
    goes: calls.filter(({ result }) => result === "Go").length,
    failed: calls.filter(({ result }) => result === "Failed"),
    wrongAllows: calls.filter(isWrongAllow),
    rightAgainMs: end - rightAt < QUIET_MS ? undefined : rightAt - healedAt,
    lastWrong,
  };
}

/** At no instant of the call the Cluster may have been free to go. */
function isWrongAllow({ result, timeline, from, to }: Call): boolean {
  return result === "Go" && timeline.isAlways("No", from, to);
}

function isWrong(call: Call): boolean {
  const { result, timeline, from, to } = call;
  if (result === "Held") return timeline.isAlways("Yes", from - NEWS_MS, to);
  return result === "Failed" || isWrongAllow(call);
}
