/** What became of the calls of a run: which failed, which answers were wrong, and since when all were right again. */

import type { Timeline, Truth } from "./expectation.ts";

export interface Call {
  readonly cluster: string;
  readonly timeline: Timeline;
  /** When it was sent and when its answer was there. */
  readonly from: number;
  readonly to: number;
  readonly result: "Go" | "Held" | "Failed";
  /** Of an answer that holds, or why there was none. */
  readonly message: string;
}

export interface Judgement {
  readonly calls: number;
  readonly goes: number;
  readonly failed: readonly Call[];
  readonly wrongAllows: readonly Call[];
  /** From the end of the fault to the last answer that was wrong, late or missing; undefined: there was one at the end. */
  readonly rightAgainMs: number | undefined;
  /** That answer. */
  readonly lastWrong: Call | undefined;
}

/** So long a replica may take to hear of a change: what it holds meanwhile is not counted as held too long. */
const NEWS_MS = 1000;
/** An end of the run without such a stretch of right answers is none. */
const QUIET_MS = 1000;

export function judge(calls: readonly Call[], healedAt: number): Judgement {
  const failed = calls.filter(({ result }) => result === "Failed");
  const wrongAllows = calls.filter(isWrongAllow);
  const wrong = calls.filter((call) => call.to > healedAt && isWrong(call));
  const lastWrong = wrong.toSorted((a, b) => a.to - b.to).at(-1);
  const rightAt = lastWrong?.to ?? healedAt;
  const end = Math.max(healedAt, ...calls.map(({ to }) => to));
  return {
    calls: calls.length,
    goes: calls.filter(isGo).length,
    failed,
    wrongAllows,
    rightAgainMs: end - rightAt < QUIET_MS ? undefined : rightAt - healedAt,
    lastWrong,
  };
}

function isGo({ result }: Call): boolean {
  return result === "Go";
}

/** There was no instant of the call at which the Cluster may have been free to go. */
function isWrongAllow(call: Call): boolean {
  return isGo(call) && always(call, call.from, "No");
}

function isWrong(call: Call): boolean {
  if (call.result === "Failed" || isWrongAllow(call)) return true;
  return call.result === "Held" && always(call, call.from - NEWS_MS, "Yes");
}

function always({ timeline, to }: Call, from: number, go: Truth): boolean {
  const seen = timeline.during(from, to);
  return seen.size === 1 && seen.has(go);
}
