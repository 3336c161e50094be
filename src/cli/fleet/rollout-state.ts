/** How far a rollout is over the Clusters of a fleet, as the operator would find it now. */

import type { HookRolloutStatus } from "../../api/hook-policy.ts";
import { isAtVersion, isAwaited } from "../../operations/hook-lives.ts";
import { healthOf } from "../../rollouts/health.ts";
import { BEGINS, lacksNamespace, type Member, memberOf } from "../../rollouts/member.ts";
import type { MemberState } from "../../rollouts/rollout-progress.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { computeRolloutStatus } from "../../rollouts/rollout-status.ts";
import type { Fleet } from "./fleet.ts";

/** In no stage, if an earlier one could be that of the Cluster, whose Namespace is not known. */
export function knownMember(
  ...[rollout, cluster, namespace]: Parameters<typeof memberOf>
): Member | undefined {
  const member = memberOf(rollout, cluster, namespace);
  if (member === undefined || !lacksNamespace(rollout, member, namespace)) return member;
  const { stage: _, ...rest } = member;
  return rest;
}

export function statesOf(rollout: CompiledRollout, fleet: Fleet, at: Date): readonly MemberState[] {
  return fleet.clusters().flatMap((cluster) => {
    const { metadata, topology } = cluster;
    const member = topology && knownMember(rollout, cluster, fleet.namespace(metadata.namespace ?? ""));
    if (member === undefined) return [];
    return {
      member,
      cluster,
      health: healthOf(rollout, cluster, at),
      hasReached: isAtVersion(cluster),
      lastsUnhealthy: false,
      isAwaited: isAwaited(BEGINS[rollout.operation], cluster, fleet.served),
    };
  });
}

/** The status that the operator would write now; `stored`: empty for a new rollout. */
export function presentStatus(
  rollout: CompiledRollout,
  stored: HookRolloutStatus,
  { members, served }: { readonly members: readonly MemberState[] } & Pick<Fleet, "served">,
  at: Date,
): HookRolloutStatus {
  const nothing = { ended: new Set<string>(), isRebuilding: false, scope: "", next: [] };
  const unheld = { held: [], heldOmitted: 0, asksMidway: !served.marksUpgrades };
  return computeRolloutStatus({ rollout, stored, isPresent: true, members, ...unheld, ...nothing }, at);
}

export function presentState(
  rollout: CompiledRollout,
  stored: HookRolloutStatus,
  fleet: Fleet,
  at: Date,
): { readonly states: readonly MemberState[]; readonly status: HookRolloutStatus } {
  const states = statesOf(rollout, fleet, at);
  return { states, status: presentStatus(rollout, stored, { members: states, served: fleet.served }, at) };
}
