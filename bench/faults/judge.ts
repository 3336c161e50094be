/** The judgement of a run's calls: which failed, which answers were wrong, and since when all were right again. */

import type { Timeline } from "./expectation.ts";

export interface Timed {
  readonly from: number;
  readonly to: number;
}

export interface Call extends Timed {
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
