/** How far a rollout is over the Clusters of a fleet, as the operator would find it now. */

import type { HookRolloutStatus } from "../../api/hook-policy.ts";
import { isAtVersion, isAwaited } from "../../operations/shows.ts";
import { healthOf } from "../../rollouts/health.ts";
import { BEGINS, memberOf } from "../../rollouts/member.ts";
import type { MemberState } from "../../rollouts/progress.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import type { KnownMember } from "../../rollouts/rollout-entry.ts";
import { computeRolloutStatus } from "../../rollouts/rollout-status.ts";
import type { Fleet } from "./fleet.ts";

export function membersOf(rollout: CompiledRollout, fleet: Fleet): readonly KnownMember[] {
  return fleet.clusters().flatMap((cluster) => {
    const { metadata, topology } = cluster;
    const member = topology && memberOf(rollout, cluster, fleet.namespace(metadata.namespace ?? ""));
    return member === undefined ? [] : [{ member, cluster }];
  });
}

export function statesOf(
  rollout: CompiledRollout,
  { served }: Fleet,
  members: readonly KnownMember[],
  at: Date,
): readonly MemberState[] {
  return members.map((each) => ({
    ...each,
    health: healthOf(rollout, each.cluster, at),
    hasReached: isAtVersion(each.cluster),
    lastsUnhealthy: false,
    isAwaited: isAwaited(BEGINS[rollout.operation], each.cluster, served),
  }));
}

/** The status that the operator would write now; a new rollout has none yet. */
export function presentStatus(
  rollout: CompiledRollout,
  stored: HookRolloutStatus,
  members: readonly MemberState[],
  at: Date,
): HookRolloutStatus {
  return computeRolloutStatus(
    {
      rollout,
      stored,
      isPresent: true,
      members,
      ended: new Set(),
      isRebuilding: false,
      scope: "",
      next: [],
      holds: { held: [], omitted: 0 },
    },
    at,
  );
}
