/** The gates of a stage, which must be met for each Cluster before it may begin: gates as in a policy, without waits. */

import { after } from "../lib/instant.ts";
import { inOwnDecision, evaluateGate } from "../policy/budget.ts";
import { type ObjectDemand, type ObjectQuery, wantedInMessage } from "../policy/policy.ts";
import type { Situation } from "../policy/world.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";

export interface UnmetGate {
  readonly gate: string;
  readonly wanted: string;
  /** Why it is not evaluable. */
  readonly problem?: string;
}

/** The first gate that is not met, and what it waits for; `undefined`: the Cluster may begin. */
export function unmetGate({ until }: CompiledStage, situation: Situation): UnmetGate | undefined {
  return inOwnDecision(() => {
    for (const gate of until) {
      const { met, observed, found: _, ...result } = evaluateGate(gate, situation);
      if (met === true) continue;
      const wanted = wantedInMessage(result);
      return {
        gate: gate.name,
        ...(met === undefined
          ? { wanted: `${wanted}, which cannot be evaluated: ${observed}`, problem: observed }
          : { wanted }),
      };
    }
    return undefined;
  });
}

/** The objects that the gates look at for this Cluster, to be read live before it begins. */
export function promotionQueries({ until }: CompiledStage, situation: Situation): readonly ObjectQuery[] {
  return inOwnDecision(() => until.flatMap((gate) => gate.queries?.(situation) ?? []));
}

/** The kinds of objects that the gates of the stages look at. */
export function stageDemands({ stages }: CompiledRollout): readonly ObjectDemand[] {
  return stages.flatMap(({ until }) => until.flatMap(({ demands = [] }) => demands));
}

/** When time alone can change what the gates of the stages say; an expression that reads the clock is looked at again. */
export function gateEdges({ stages }: CompiledRollout, now: Date, lookAgainMs: number): readonly Date[] {
  return stages
    .flatMap(({ until }) => until)
    .flatMap(({ windows = [], usesNow }) => [
      ...windows.flatMap(({ window }) => window.at(now).changesAt ?? []),
      ...(usesNow === true ? [after(now, lookAgainMs)] : []),
    ]);
}
