/** Forecasts when time alone releases an operation: the same decide(), evaluated at later instants. */

import type { HookCall } from "../api/runtime-hooks.ts";
import { heldRules, pendingGates, type PolicyTrace, type RuleTrace } from "../policy/decision.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { withinForecastBudget } from "../policy/budget.ts";
import type { OperationState, World } from "../policy/world.ts";
import { lookAt } from "./timeline.ts";

/** The search for windows that never overlap would not end without this bound. */
export const MAX_LOOKS_AHEAD = 100;

/**
 * The earliest instant from `now` on at which `policies` release the operation if only the time changes; `undefined`: never,
 * or it cannot be computed.
 */
export function forecast(
  policies: readonly CompiledPolicy[],
  world: World,
  call: HookCall,
  now: Date,
): Date | undefined {
  return withinForecastBudget(() => {
    let state: OperationState = world.state ?? { firstAsked: now, rules: new Map() };
    let at = now;
    for (let step = 0; step < MAX_LOOKS_AHEAD; step += 1) {
      const look = lookAt({ policies, world, call, state }, at);
      const { holds, trace } = look.decision;
      if (!holds) return at;
      const soonest = Math.max(...heldRules(trace).map(({ rule }) => releasedBefore(rule)));
      if (soonest === Infinity) return undefined;
      const next = Math.min(soonest, nextTimer(policies, trace));
      if (!(next > at.getTime())) return undefined;
      [state, at] = [look.state, new Date(next)];
    }
    return undefined;
  });
}

/** The rule, which holds, does not release before this instant (ms); Infinity: time alone does not release. */
function releasedBefore(rule: RuleTrace): number {
  const { verdict, deadlineAt, deadlineReleases } = rule;
  const deadline = verdict === "Blocked" && deadlineReleases === true ? toMs(deadlineAt) : Infinity;
  const pending = pendingGates(rule);
  const gatesMetAt =
    pending.length === 0 ? Infinity : Math.max(...pending.map(({ changesAt }) => toMs(changesAt)));
  return Math.min(deadline, gatesMetAt);
}

/** No timer starts or stops before this instant (ms). The search must stop at each of these edges. */
function nextTimer(policies: readonly CompiledPolicy[], trace: readonly PolicyTrace[]): number {
  const edges = trace.flatMap(({ rules }, index) =>
    rules.filter((rule) => mayStartTimer(policies[index], rule)).map(({ changesAt }) => toMs(changesAt)),
  );
  return Math.min(...edges);
}

function mayStartTimer(policy: CompiledPolicy | undefined, rule: RuleTrace): boolean {
  const { deadline, waits = [] } = policy?.rules.find(({ name }) => name === rule.rule) ?? {};
  if (deadline !== undefined && rule.timers?.blockedSince === undefined) return true;
  // If a user has to act, time alone never starts a wait.
  return waits.length > 0 && pendingGates(rule).every(({ changesAt }) => changesAt !== undefined);
}

function toMs(instant: Date | "Unknown" | undefined): number {
  return instant instanceof Date ? instant.getTime() : Infinity;
}

/** How long tasks take is not known: the release is the one that they can delay. */
export function withoutTasks(policy: CompiledPolicy): CompiledPolicy {
  if (policy.rules.every(({ tasks }) => tasks.length === 0)) return policy;
  return { ...policy, rules: policy.rules.map((rule) => ({ ...rule, tasks: [] })) };
}
