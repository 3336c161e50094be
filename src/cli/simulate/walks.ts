/** Follows operations through time, and follows indistinguishable operations only once. */

import { isDeepStrictEqual } from "node:util";
import { BUDGET_EXHAUSTED } from "../../policy/budget.ts";
import type { Decision, PolicyTrace } from "../../policy/decision.ts";
import type { CompiledRule } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { OperationState } from "../../policy/world.ts";
import { clocked, type Look, lookAt, type OperationInputs, walk } from "../../operations/timeline.ts";
import { valueAt } from "../validate/value-at.ts";
import {
  answerOf,
  type Doubt,
  doubtsIn,
  holdsForCertain,
  isSameAnswer,
  type SimulatedAnswer,
} from "./answer.ts";

/** A look whose answer differs from the one before. */
export interface WalkTurn {
  readonly at: Date;
  /** The answer about the first operation that was followed; others differ only in the names in their messages. */
  readonly answer: SimulatedAnswer;
  readonly doubts: readonly Doubt[];
  /** Whether it is held only by rules that are not evaluable. */
  readonly isDoubtful: boolean;
  /** The state of the operation before the look. */
  readonly state: OperationState;
}

export class Walks {
  readonly #known = new Map<string, readonly WalkTurn[]>();

  /** `first`: the look at the beginning. `to`: absent for this look alone. */
  turns(operation: OperationInputs, first: Look, to: Date | undefined): readonly WalkTurn[] {
    if (to === undefined) return [turnOf(first, operation.state)];
    const facts = factsOf(operation, first);
    const known = facts === undefined ? undefined : this.#known.get(facts);
    if (known !== undefined) return known;
    const turns = follow(operation, first, to);
    if (facts !== undefined) this.#known.set(facts, turns);
    return turns;
  }
}

function follow(operation: OperationInputs, first: Look, to: Date): readonly WalkTurn[] {
  const turns: WalkTurn[] = [];
  let { state }: { state: OperationState } = operation;
  const policies = operation.policies.filter((_, index) => first.decision.trace[index]?.matched === true);
  for (const look of walk({ ...operation, policies }, first.at, to)) {
    const turn = turnOf(look, state);
    if (!isSameTurn(turns.at(-1), turn)) turns.push(turn);
    ({ state } = look);
  }
  return turns;
}

function turnOf({ at, decision }: Look, state: OperationState): WalkTurn {
  return turnWith({ at, state, answer: answerOf(decision) }, decision);
}

export function turnWith(
  turn: Pick<WalkTurn, "at" | "state" | "answer">,
  { holds, trace }: Decision,
): WalkTurn {
  const isDoubtful = holds && !holdsForCertain(trace);
  return { ...turn, doubts: doubtsIn(trace), isDoubtful };
}

/** Whether nothing that is compared differs. */
export function isSameTurn(before: WalkTurn | undefined, turn: WalkTurn): boolean {
  if (before === undefined || !isSameAnswer(before.answer, turn.answer)) return false;
  return isDeepStrictEqual(before.doubts, turn.doubts);
}

/** The decision about another operation with the same turns at one of them. */
export function decisionAt(operation: OperationInputs, { at, state }: WalkTurn): Decision {
  return lookAt({ ...operation, state: { ...operation.state, rules: state.rules } }, at).decision;
}

/** The fields of a rule's trace that tell operations apart. */
const FACTS = ["verdict", "reason", "condition", "gates", "met", "members"];

/**
 * Everything besides the time that the future of an operation depends on: operations with the same facts have the same
 * turns. `undefined`: the facts are not known.
 */
function factsOf(operation: OperationInputs, { decision }: Look): string | undefined {
  const { policies, world, call, state } = operation;
  if (state.rules.size > 0 || state.reportedBy !== undefined || world.overrides.length > 0) return undefined;
  const facts: unknown[] = [call, state.firstAsked];
  for (const [index, trace] of decision.trace.entries()) {
    if (!trace.matched) continue;
    const rules = policies[index]?.rules.filter(({ hooks }) => hooks.has(call.hook)) ?? [];
    if (!isKnown(trace, rules)) return undefined;
    facts.push(policyName(trace.policy), JSON.stringify(trace.rules, FACTS));
    for (const { clusterPaths } of rules.flatMap(clocked)) {
      if (clusterPaths === undefined) return undefined;
      facts.push(
        world.namespace,
        clusterPaths.map((path) => valueAt(world.cluster, path)),
      );
    }
  }
  return JSON.stringify(facts);
}

/** Whether every gate was evaluated, and none ran out of steps, which differ from Cluster to Cluster. */
function isKnown({ unread, rules: found }: PolicyTrace, rules: readonly CompiledRule[]): boolean {
  if (unread === true) return false;
  return rules.every(({ name, matchConditions, gates }) => {
    const rule = found.find((each) => each.rule === name);
    if (rule === undefined || [rule, ...rule.gates].some(({ reason }) => reason === BUDGET_EXHAUSTED))
      return false;
    return rule.gates.length >= gates.length || !matchConditions.some(({ expression }) => expression.usesNow);
  });
}
