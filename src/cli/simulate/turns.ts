/** Follows what is answered about an operation through time. */

import { isDeepStrictEqual } from "node:util";
import type { Decision } from "../../policy/decision.ts";
import { type Look, type OperationInputs, walk } from "../../operations/timeline.ts";
import {
  answerOf,
  type Doubt,
  doubtsIn,
  holdsForCertain,
  isSameAnswer,
  type SimulatedAnswer,
} from "./answer.ts";

/** A look whose answer differs from the one before. */
export interface AnswerTurn {
  readonly at: Date;
  readonly answer: SimulatedAnswer;
  readonly doubts: readonly Doubt[];
  /** Whether it is held only by rules that are not evaluable. */
  readonly isDoubtful: boolean;
}

/** `first`: the look at the beginning. `to`: absent for this look alone. */
export function turnsOf(
  operation: OperationInputs,
  first: Look,
  to: Date | undefined,
): readonly AnswerTurn[] {
  if (to === undefined) return [turnOf(first)];
  const policies = operation.policies.filter((_, index) => first.decision.trace[index]?.matched === true);
  return distinct(walk({ ...operation, policies }, first.at, to).map(turnOf));
}

export function distinct(turns: Iterable<AnswerTurn>): readonly AnswerTurn[] {
  const found: AnswerTurn[] = [];
  for (const turn of turns) if (!isSameTurn(found.at(-1), turn)) found.push(turn);
  return found;
}

function turnOf({ at, decision }: Look): AnswerTurn {
  return turnWith({ at, answer: answerOf(decision) }, decision);
}

export function turnWith(turn: Pick<AnswerTurn, "at" | "answer">, { holds, trace }: Decision): AnswerTurn {
  return { ...turn, doubts: doubtsIn(trace), isDoubtful: holds && !holdsForCertain(trace) };
}

/** Whether nothing that is compared differs. */
function isSameTurn(before: AnswerTurn | undefined, turn: AnswerTurn): boolean {
  if (before === undefined || !isSameAnswer(before.answer, turn.answer)) return false;
  return isDeepStrictEqual(before.doubts, turn.doubts);
}
