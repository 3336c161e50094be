/** What the HookRollouts of a fleet hold if Cluster API asks about every Cluster at the same instant. */

import type { Cluster } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtimehooks.ts";
import { RolloutQueue, type Waiting } from "../../controller/rolloutqueue.ts";
import { computeRolloutStatus } from "../../controller/rolloutstatus.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { covers, isActive } from "../../policy/override.ts";
import { targetVersion } from "../../policy/targetversion.ts";
import { refusalOf } from "../../rollouts/claim.ts";
import { healthOf } from "../../rollouts/health.ts";
import type { Hold } from "../../rollouts/holdtext.ts";
import { BEGINS, type Member, memberOf } from "../../rollouts/member.ts";
import { openGate } from "../../rollouts/promotion.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { Slots } from "../../rollouts/slots.ts";
import type { Fleet, FleetRollout } from "../fleet/fleet.ts";

/** An operation that Cluster API asks about. */
export interface Asked {
  readonly cluster: Cluster;
  readonly call: HookCall;
  readonly firstAsked: Date;
  /** Whether every policy releases it. */
  readonly released: boolean;
}

/** By clusterKey(), the first rollout that holds it: in the order of names, in which the operator asks them. */
export type Holds = ReadonlyMap<string, Hold>;

/** The operations of one hook. */
export function rolloutHolds(fleet: Fleet, operations: readonly Asked[], at: Date): Holds {
  const holds = new Map<string, Hold>();
  for (const known of fleet.rollouts) {
    const { compiled } = known;
    if (compiled.mode === "Audit") continue;
    const own = operations.filter(
      ({ cluster, call }) => BEGINS[compiled.operation] === call.hook && !holds.has(clusterKey(cluster)),
    );
    for (const [key, hold] of holdsOf(known, { fleet, operations: own, at })) holds.set(key, hold);
  }
  return holds;
}

interface Scene {
  readonly fleet: Fleet;
  readonly operations: readonly Asked[];
  readonly at: Date;
}

function holdsOf({ compiled, status: stored }: FleetRollout, { fleet, operations, at }: Scene): Holds {
  const members = membersOf(compiled, fleet);
  // As the operator would write it now: a new rollout has no status yet.
  const status = computeRolloutStatus(
    {
      rollout: compiled,
      stored,
      members: members.map(({ member, cluster }) => {
        return { member, cluster, health: healthOf(compiled, cluster, at), lastsUnhealthy: false };
      }),
      ended: new Set(),
      isRebuilding: false,
      scope: "",
      next: [],
    },
    at,
  );
  const byKey = new Map(members.map(({ member, cluster }) => [clusterKey(cluster), member]));
  const holds = new Map<string, Hold>();
  const waiting: Waiting[] = [];
  const { name: rollout, retryAfterSeconds } = compiled;
  for (const { cluster, call, firstAsked, released } of operations) {
    const key = clusterKey(cluster);
    const member = byKey.get(key);
    if (member === undefined || member.marked || isOverridden(compiled, { fleet, cluster, call, at }))
      continue;
    const { stage } = member;
    const target = compiled.operation === "Upgrade" ? (targetVersion(call) ?? "") : "";
    const refusal = refusalOf(compiled, status, { stage, target }, at);
    const open = stage && openGate(stage, { world: fleet.world(cluster), call, now: at });
    if (refusal !== undefined)
      holds.set(key, {
        rollout,
        retryAfterSeconds,
        reason: refusal.reason,
        ...stageOf(refusal.stage ?? stage?.name),
      });
    else if (open !== undefined)
      holds.set(key, {
        rollout,
        retryAfterSeconds,
        reason: "GateOpen",
        wanted: `gate ${open.gate} waits for ${open.wanted}`,
        ...stageOf(stage?.name),
      });
    else if (released && stage !== undefined)
      waiting.push({ member: { ...member, stage }, target, firstAsked });
  }
  const slots = new Slots(
    compiled,
    status,
    members.map(({ member }) => member),
    at,
  );
  const asking = waiting.filter(({ member }) => !slots.has(member.metadata.uid));
  const queue = queueOf(compiled, slots, asking, at);
  for (const { member } of asking) {
    const { uid, namespace, name } = member.metadata;
    if (!queue.mayBegin(uid))
      holds.set(`${namespace}/${name}`, {
        rollout,
        retryAfterSeconds,
        reason: "NoFreeSlot",
        ...stageOf(member.stage.name),
      });
  }
  return holds;
}

function queueOf(
  rollout: CompiledRollout,
  slots: Slots,
  waiting: readonly Waiting[],
  at: Date,
): RolloutQueue {
  const queue = new RolloutQueue();
  for (const { member } of waiting) queue.asked(member.metadata.uid, at.getTime());
  queue.update(rollout, slots, waiting, at.getTime());
  return queue;
}

function stageOf(stage: string | undefined): { readonly stage?: string } {
  return stage === undefined ? {} : { stage };
}

interface Selected {
  readonly member: Member;
  readonly cluster: Cluster;
}

function membersOf(rollout: CompiledRollout, fleet: Fleet): readonly Selected[] {
  return fleet.clusters().flatMap((cluster) => {
    const { metadata, topology } = cluster;
    const member = topology && memberOf(rollout, metadata, fleet.namespace(metadata.namespace ?? ""));
    return member === undefined ? [] : [{ member, cluster }];
  });
}

function isOverridden(
  { name }: CompiledRollout,
  {
    fleet,
    cluster,
    call,
    at,
  }: { readonly fleet: Fleet; readonly at: Date } & Pick<Asked, "cluster" | "call">,
): boolean {
  return fleet
    .world(cluster)
    .overrides.some(
      (override) =>
        isActive(override, cluster, call.hook, at) && covers(override, { kind: "HookRollout", name }),
    );
}
