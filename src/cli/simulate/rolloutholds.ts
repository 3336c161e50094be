/** Computes what the HookRollouts of a fleet hold if Cluster API asks about every Cluster at the same instant. */

import type { HookRolloutStatus } from "../../api/hookpolicy.ts";
import type { Cluster } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtimehooks.ts";
import { RolloutQueue, type Waiting } from "../../controller/rolloutqueue.ts";
import { computeRolloutStatus } from "../../controller/rolloutstatus.ts";
import { isAtVersion } from "../../operations/shows.ts";
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
export interface AwaitedOperation {
  readonly cluster: Cluster;
  readonly call: HookCall;
  readonly firstAsked: Date;
  /** Whether every policy releases it. */
  readonly released: boolean;
}

/** By clusterKey(), the first rollout that holds it: in the order of names, in which the operator asks them. */
export type Holds = ReadonlyMap<string, Hold>;

/** The operations of one hook. */
export function rolloutHolds(fleet: Fleet, operations: readonly AwaitedOperation[], at: Date): Holds {
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
  readonly operations: readonly AwaitedOperation[];
  readonly at: Date;
}

function holdsOf({ compiled, status: stored }: FleetRollout, scene: Scene): Holds {
  const { fleet, operations, at } = scene;
  const members = membersOf(compiled, fleet);
  const status = statusOf(compiled, { stored, members, at });
  const byKey = new Map(members.map(({ member, cluster }) => [clusterKey(cluster), member]));
  const holds = new Map<string, Hold>();
  const waiting: Waiting[] = [];
  for (const operation of operations) {
    const key = clusterKey(operation.cluster);
    const member = byKey.get(key);
    if (member === undefined || member.marked || isOverridden(compiled, operation, scene)) continue;
    const target = targetOf(compiled, operation.call);
    const hold = closedFor(compiled, { operation, member, status, target }, scene);
    if (hold !== undefined) holds.set(key, hold);
    else if (operation.released && member.stage !== undefined)
      waiting.push({ member: { ...member, stage: member.stage }, target, firstAsked: operation.firstAsked });
  }
  const own = members.map(({ member }) => member);
  for (const { metadata, stage } of withoutSlot(compiled, new Slots(compiled, status, own, at), waiting, at))
    holds.set(`${metadata.namespace}/${metadata.name}`, holdOf(compiled, "NoFreeSlot", stage?.name));
  return holds;
}

/** As the operator would write it now: a new rollout has none yet. */
function statusOf(
  rollout: CompiledRollout,
  {
    stored,
    members,
    at,
  }: { readonly stored: HookRolloutStatus; readonly members: readonly Selected[]; readonly at: Date },
): HookRolloutStatus {
  return computeRolloutStatus(
    {
      rollout,
      stored,
      members: members.map((each) => ({
        ...each,
        health: healthOf(rollout, each.cluster, at),
        hasReached: isAtVersion(each.cluster),
        lastsUnhealthy: false,
      })),
      ended: new Set(),
      isRebuilding: false,
      scope: "",
      next: [],
    },
    at,
  );
}

function targetOf({ operation }: CompiledRollout, call: HookCall): string {
  return operation === "Upgrade" ? (targetVersion(call) ?? "") : "";
}

interface Candidate {
  readonly operation: AwaitedOperation;
  readonly member: Member;
  readonly status: HookRolloutStatus;
  readonly target: string;
}

/** Whatever slots are free. */
function closedFor(
  rollout: CompiledRollout,
  { operation, member: { stage }, status, target }: Candidate,
  { fleet, at }: Scene,
): Hold | undefined {
  const refusal = refusalOf(rollout, status, { stage, target }, at);
  if (refusal !== undefined) return holdOf(rollout, refusal.reason, refusal.stage ?? stage?.name);
  const open =
    stage && openGate(stage, { world: fleet.world(operation.cluster), call: operation.call, now: at });
  if (open === undefined) return undefined;
  const wanted = `gate ${open.gate} waits for ${open.wanted}`;
  return { ...holdOf(rollout, "GateOpen", stage?.name), wanted };
}

function holdOf(
  { name, retryAfterSeconds }: CompiledRollout,
  reason: Hold["reason"],
  stage: string | undefined,
): Hold {
  return { rollout: name, retryAfterSeconds, reason, ...(stage !== undefined && { stage }) };
}

/** The first of the queue take the free slots. */
function withoutSlot(
  rollout: CompiledRollout,
  slots: Slots,
  waiting: readonly Waiting[],
  at: Date,
): readonly Member[] {
  const asking = waiting.filter(({ member }) => !slots.has(member.metadata.uid));
  const queue = new RolloutQueue();
  for (const { member } of asking) queue.asked(member.metadata.uid, at.getTime());
  queue.update(rollout, slots, asking, at.getTime());
  return asking.map(({ member }) => member).filter(({ metadata }) => !queue.mayBegin(metadata.uid));
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
  { cluster, call }: AwaitedOperation,
  { fleet, at }: Pick<Scene, "fleet" | "at">,
): boolean {
  return fleet
    .world(cluster)
    .overrides.some(
      (override) =>
        isActive(override, cluster, call.hook, at) && covers(override, { kind: "HookRollout", name }),
    );
}
