/** Walks one operation through time as the operator does: re-evaluates it at every edge, and remembers. */

import type { HookCall } from "../api/runtime-hooks.ts";
import { UsageError } from "../lib/thrown.ts";
import { decide } from "../policy/decide.ts";
import { type Decision, heldRules, pendingGates, type Verdict } from "../policy/decision.ts";
import type { CompiledPolicy, CompiledRule } from "../policy/policy.ts";
import { remember } from "./timers.ts";
import type { OperationState, World } from "../policy/world.ts";

export interface OperationInputs<T extends OperationState = OperationState> {
  readonly policies: readonly CompiledPolicy[];
  readonly world: World;
  readonly call: HookCall;
  readonly state: T;
  /** The seconds until the next look, if an expression reads the clock: such an expression has no edges. */
  readonly lookAgain?: (decision: Decision) => number;
  /** Another instant to look at, which changes no decision. */
  readonly alsoAt?: (
    policies: readonly CompiledPolicy[],
    trace: Decision["trace"],
    at: Date,
  ) => Date | undefined;
}

export interface Look<T extends OperationState = OperationState> {
  readonly at: Date;
  readonly decision: Decision;
  readonly state: T;
}

/** A walk needs too many looks, because an expression reads the clock, and the time is too long. */
export class TooManyChanges extends UsageError {}

export const MAX_LOOKS = 100_000;

export function lookAt<T extends OperationState>(
  { policies, world, call, state }: OperationInputs<T>,
  at: Date,
): Look<T> {
  const decision = decide(policies, { ...world, state }, call, at);
  return { at, decision, state: remember(state, policies, decision.trace) };
}

/** Looks at `from`, then wherever something can change before `to`. */
export function* walk<T extends OperationState>(
  operation: OperationInputs<T>,
  from: Date,
  to: Date,
): Generator<Look<T>> {
  let look = lookAt(operation, from);
  for (let count = 0; count < MAX_LOOKS; count += 1) {
    yield look;
    const next = nextLook(operation, look);
    if (next === undefined || next >= to) return;
    look = lookAt({ ...operation, state: look.state }, next);
  }
  throw new TooManyChanges(
    `more than ${MAX_LOOKS} changes lie between ${from.toISOString()} and ${to.toISOString()}`,
  );
}

/** What is remembered of the operation at `to`, if only time passes from `from` on. */
export function remembered<T extends OperationState>(operation: OperationInputs<T>, from: Date, to: Date): T {
  let { state } = operation;
  for (const look of walk(operation, from, to)) ({ state } = look);
  return state;
}

/** Without a limit, windows that are never open together would be followed for ever. */
const MAX_AHEAD = 10;

/**
 * The decisions that follow when time alone ends what holds an operation: after a freeze, a window can be closed. Each is made
 * when all gates of the one before have opened whose time is known. The first decision that does not hold ends the search.
 */
export function* decisionsAhead(
  operation: OperationInputs,
  decision: Decision,
  from: Date,
): Generator<Decision> {
  let [held, { state }, at] = [decision, operation, from];
  for (let count = 0; count < MAX_AHEAD; count += 1) {
    const pending = heldRules(held.trace).flatMap(({ rule }) => pendingGates(rule));
    const opens = pending.flatMap(({ changesAt, isSearchEnd }) =>
      changesAt instanceof Date && isSearchEnd !== true ? [changesAt.getTime()] : [],
    );
    const next = new Date(Math.max(...opens));
    // Where nothing is known to change, it is not a time.
    if (!(next > at)) return;
    const look = lookAt({ ...operation, state }, next);
    if (!look.decision.holds) return;
    yield look.decision;
    [held, state, at] = [look.decision, look.state, next];
  }
}

/** When time alone can change what the look has found. */
export function nextLook(
  operation: Omit<OperationInputs, "world" | "state">,
  look: Omit<Look, "state">,
): Date | undefined {
  const { policies, lookAgain, alsoAt } = operation;
  const { at, decision } = look;
  const edges = decision.trace
    .map(({ changesAt }) => (changesAt instanceof Date ? changesAt.getTime() : Infinity))
    .filter((edge) => edge > at.getTime());
  const seconds = lookAgain !== undefined && readsClock(operation, look) ? lookAgain(decision) : Infinity;
  const also = alsoAt?.(policies, decision.trace, at)?.getTime() ?? Infinity;
  const next = Math.min(...edges, also, at.getTime() + seconds * 1000);
  return next === Infinity ? undefined : new Date(next);
}

/** Whether an expression reads the clock, so that the answer can change at any time. */
function readsClock(
  { policies, call }: Pick<OperationInputs, "policies" | "call">,
  { decision }: Pick<Look, "decision">,
): boolean {
  return policies.some(
    ({ rules }, index) =>
      decision.trace[index]?.matched === true &&
      rules.some((rule) => rule.hooks.has(call.hook) && isClocked(rule)),
  );
}

function isClocked({ matchConditions, gates }: CompiledRule): boolean {
  const expressions = matchConditions.map(({ expression }) => expression);
  return [...expressions, ...gates].some(({ usesNow }) => usesNow === true);
}

/** The verdict from an instant on. */
export interface VerdictChange {
  readonly at: Date;
  readonly verdict: Verdict;
}

/** A time during which the verdict is the same: from inclusive, to exclusive. */
export interface Span {
  readonly verdict: Verdict;
  readonly from: Date;
  readonly to: Date;
}

export function spansOf(changes: Iterable<VerdictChange>, end: Date): Span[] {
  const spans: Span[] = [];
  for (const { at, verdict } of changes) {
    const last = spans.at(-1);
    if (last?.verdict === verdict) continue;
    if (last !== undefined) spans[spans.length - 1] = { ...last, to: at };
    spans.push({ verdict, from: at, to: end });
  }
  return spans;
}
