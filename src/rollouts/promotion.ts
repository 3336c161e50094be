/** The gates of a stage, which must hold for each Cluster before it may begin: gates as in a policy, without waits. */

import type { HookCall } from "../api/runtimehooks.ts";
import { Budgets, inOneDecision, lookAt, within } from "../policy/budget.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import type { World } from "../policy/world.ts";
import type { CompiledStage } from "./rollout.ts";

export interface Situation {
  readonly world: World;
  readonly call: HookCall;
  readonly now: Date;
}

/** The first gate that does not hold, and what it waits for; `undefined`: the Cluster may begin. */
export function openGate(
  { until }: CompiledStage,
  { world, call, now }: Situation,
): { readonly gate: string; readonly wanted: string } | undefined {
  return charged(() => {
    for (const gate of until) {
      const { holds, wanted, observed } = lookAt(gate, world, call, now);
      if (holds === true) continue;
      return {
        gate: gate.name,
        wanted: holds === undefined ? `${wanted}, which cannot be evaluated: ${observed}` : wanted,
      };
    }
    return undefined;
  });
}

/** The objects that the gates look at for this Cluster, to be read live before it begins. */
export function promotionQueries(
  { until }: CompiledStage,
  { world, call, now }: Situation,
): readonly ObjectQuery[] {
  return charged(() => until.flatMap((gate) => gate.queries?.(world, call, now) ?? []));
}

/** A rollout has as many steps as a ClusterHookPolicy. */
function charged<T>(work: () => T): T {
  const budget = new Budgets().of({ kind: "ClusterHookPolicy", name: "" });
  return inOneDecision(() => within(budget, work));
}
