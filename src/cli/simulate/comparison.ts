/** Compares the answers of two sides to the same operation through time. */

import type { HookCall, HookName } from "../../api/runtimehooks.ts";
import type { Look } from "../../operations/timeline.ts";
import type { RequestName } from "../fleet/requestnames.ts";
import type { Answer } from "./answer.ts";
import type { Turn } from "./walks.ts";

export const CHANGES = ["newly-blocked", "newly-allowed", "changed-reason"] as const;
export type ChangeKind = (typeof CHANGES)[number];

export interface Change {
  readonly change: ChangeKind;
  readonly cluster: string;
  readonly hook: HookName;
  /** Set for a request at admission, which is judged by the rules on this hook. */
  readonly request?: RequestName;
  readonly before: Answer;
  readonly after: Answer;
  /** The first instant of the change within a time range. */
  readonly from: Date;
  /** The total duration of the change within the range. */
  readonly seconds: number;
}

/** The answers of one side through time. */
export interface Answers {
  /** The beginning, and wherever the answer changes. */
  readonly turns: readonly Turn[];
  /** The answer at a turn, with the names of this operation. */
  readonly answerAt: (turn: Turn) => Answer;
}

/** The answers of one side to an operation. */
export interface Answered extends Answers {
  readonly call: HookCall;
  readonly first: Look;
}

/** A kind of change, with the two turns at which it is first seen. */
interface Difference {
  readonly change: ChangeKind;
  readonly old: Turn;
  readonly now: Turn;
  readonly from: Date;
  readonly seconds: number;
}

type Turns = Answers["turns"];

/** Walks gives indistinguishable operations the same list of turns, so each pair of lists is compared once. */
export class Comparison {
  readonly #end: number;
  readonly #known = new WeakMap<Turns, WeakMap<Turns, readonly Difference[]>>();

  constructor(end: number) {
    this.#end = end;
  }

  changes(before: Answers, after: Answers): readonly Omit<Change, "cluster" | "hook">[] {
    return this.#differences(before.turns, after.turns).map(({ old, now, ...difference }) => ({
      ...difference,
      before: before.answerAt(old),
      after: after.answerAt(now),
    }));
  }

  #differences(before: Turns, after: Turns): readonly Difference[] {
    const known = this.#known.get(before) ?? new WeakMap<Turns, readonly Difference[]>();
    this.#known.set(before, known);
    const found = known.get(after) ?? differences(before, after, this.#end);
    known.set(after, found);
    return found;
  }
}

/** One entry per kind of change: its first instant and its total duration. */
function differences(before: Turns, after: Turns, end: number): readonly Difference[] {
  const found = new Map<ChangeKind, Difference>();
  for (const { from, to, old, now } of periods(before, after, end)) {
    if (old.key === now.key) continue;
    const change = kindOf(old.answer, now.answer);
    const first = found.get(change) ?? { change, old, now, from: new Date(from), seconds: 0 };
    found.set(change, { ...first, seconds: first.seconds + (to - from) / 1000 });
  }
  return [...found.values()];
}

function kindOf(before: Answer, after: Answer): ChangeKind {
  if (before.holds === after.holds) return "changed-reason";
  return after.holds ? "newly-blocked" : "newly-allowed";
}

interface Period {
  readonly from: number;
  readonly to: number;
  readonly old: Turn;
  readonly now: Turn;
}

/** The times between any two turns; both sides begin at the same instant. */
function* periods(before: Turns, after: Turns, end: number): Generator<Period> {
  let [i, j] = [0, 0];
  for (;;) {
    const [old, now] = [before[i], after[j]];
    if (old === undefined || now === undefined) return;
    const from = Math.max(old.at.getTime(), now.at.getTime());
    const [nextOld = end, nextNow = end] = [before[i + 1], after[j + 1]].map((turn) => turn?.at.getTime());
    yield { from, to: Math.min(nextOld, nextNow), old, now };
    if (nextOld <= nextNow) i += 1;
    if (nextNow <= nextOld) j += 1;
  }
}
