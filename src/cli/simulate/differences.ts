/** Compares the answers of two sides to the same operation through time. */

import type { HookCall } from "../../api/runtime-hooks.ts";
import type { PendingOperation } from "../../operations/operation.ts";
import type { Look } from "../../operations/timeline.ts";
import { isSameAnswer } from "./answer.ts";
import type { SimulatedChange, ChangeKind } from "./change.ts";
import { ruleKey } from "./spec-changes.ts";
import type { AnswerTurn } from "./turns.ts";

export interface OperationAnswers {
  readonly call: HookCall;
  readonly first: Look<PendingOperation>;
  readonly turns: Turns;
  /** The same without the holds of rollouts. */
  readonly ofPolicies: Turns;
}

/** The beginning, and wherever the answer changes. */
type Turns = readonly AnswerTurn[];

/** A kind of change, with the two turns at which it is first seen. */
interface Difference extends Pick<SimulatedChange, "change" | "doubts"> {
  readonly old: AnswerTurn;
  readonly now: AnswerTurn;
  readonly from: Date;
  readonly seconds: number;
}

/** One entry per kind of change: its first instant and its total duration. Both sides begin at the same instant. */
export function differences(
  before: Turns,
  after: Turns,
  end: Date,
  changed: ReadonlySet<string>,
): readonly Difference[] {
  const found = new Map<ChangeKind, Difference>();
  let [i, j] = [0, 0];
  for (;;) {
    const [old, now] = [before[i], after[j]];
    if (old === undefined || now === undefined) return [...found.values()];
    const from = Math.max(old.at.getTime(), now.at.getTime());
    const [nextOld, nextNow] = [(before[i + 1]?.at ?? end).getTime(), (after[j + 1]?.at ?? end).getTime()];
    const difference = differenceOf(old, now, changed);
    if (difference !== undefined) {
      const first = found.get(difference.change) ?? {
        ...difference,
        old,
        now,
        from: new Date(from),
        seconds: 0,
      };
      const seconds = first.seconds + (Math.min(nextOld, nextNow) - from) / 1000;
      found.set(difference.change, { ...first, seconds });
    }
    i += Number(nextOld <= nextNow);
    j += Number(nextNow <= nextOld);
  }
}

/**
 * A change is unknown if a changed rule is not evaluable on either side, if a rule is so on one side alone or through what one
 * side alone has, or if an answer that differs holds only because of rules that are not evaluable.
 */
function differenceOf(
  old: AnswerTurn,
  now: AnswerTurn,
  changed: ReadonlySet<string>,
): Pick<SimulatedChange, "change" | "doubts"> | undefined {
  if (old.answer.holds !== now.answer.holds)
    return { change: now.answer.holds ? "newly-blocked" : "newly-allowed" };
  const sides = [old.doubts, now.doubts].map(
    (side) => new Map(side.map((doubt) => [JSON.stringify(doubt), doubt])),
  );
  const every = new Map(sides.flatMap((side) => [...side]));
  const doubts = [...every.values()];
  const own = [...every]
    .filter(
      ([text, { policy, rule }]) =>
        changed.has(ruleKey(policy, rule)) || !sides.every((side) => side.has(text)),
    )
    .map(([, doubt]) => doubt);
  if (own.length > 0) return { change: "unknown", doubts: own };
  if (isSameAnswer(old.answer, now.answer)) return undefined;
  return old.isDoubtful || now.isDoubtful ? { change: "unknown", doubts } : { change: "changed-reason" };
}
