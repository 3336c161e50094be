/** The timeline of a rollout over the Clusters of a fleet. */

import type { HookRollout } from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import { expectedCall } from "../../operations/call.ts";
import { forecast } from "../../operations/forecast.ts";
import { BEGINS, memberOf } from "../../rollouts/member.ts";
import { isAtTarget } from "../../rollouts/health.ts";
import { type Plan, type PlanMember, planRollout } from "../../rollouts/plan.ts";
import { type CompiledRollout, compileRollout } from "../../rollouts/rollout.ts";
import { CommandError, USAGE } from "../command.ts";
import { liftingOverride } from "../../rollouts/lifting.ts";
import type { Fleet } from "../fleet/fleet.ts";

export interface PlanWish {
  readonly from: Date;
  /** The assumed time of every operation. */
  readonly durationMs: number;
  /** The target of an upgrade: Clusters that have it are left out. Absent: all are upgraded. */
  readonly version?: string | undefined;
}

export interface FleetPlan extends Plan {
  readonly rollout: CompiledRollout;
}

/** Throws a CommandError if the rollout is not valid. */
export function planFleet(object: HookRollout, fleet: Fleet, wish: PlanWish): FleetPlan {
  const rollout = compileRollout(object);
  const { name, problem } = rollout;
  if (problem !== undefined) throw new CommandError(USAGE, `HookRollout ${name} is not valid: ${problem}`);
  const members = fleet.clusters().flatMap((cluster) => planMember(rollout, fleet, cluster, wish) ?? []);
  return { ...planRollout(rollout, members, wish), rollout };
}

function planMember(
  rollout: CompiledRollout,
  fleet: Fleet,
  cluster: Cluster,
  { version }: PlanWish,
): PlanMember | undefined {
  const { topology, metadata } = cluster;
  const member = topology && memberOf(rollout, cluster, fleet.namespace(metadata.namespace ?? ""));
  if (member === undefined || (version !== undefined && isAtTarget(cluster, version))) return undefined;
  const call = expectedCall(BEGINS[rollout.operation], cluster, version);
  const policies = fleet.policiesFor(metadata.namespace ?? "");
  const world = fleet.world(cluster);
  return {
    member,
    releasedFrom: (at) =>
      liftingOverride(rollout, { world, call, now: at }) ? at : forecast(policies, world, call, at),
  };
}
