/** Computes what the HookRollouts of a fleet hold if Cluster API asks about every Cluster at the same instant. */

import { isDeepStrictEqual } from "node:util";
import { counted } from "../../lib/counted.ts";
import { entryOf } from "../../lib/entry-of.ts";
import { timestamp } from "../../lib/instant.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { HookRolloutStatus } from "../../api/hook-policy.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import { RolloutQueue, type WaitingCluster } from "../../rollouts/rollout-queue.ts";
import { TooManyChanges } from "../../operations/timeline.ts";
import { clusterKey } from "../../views/cluster.ts";
import { targetVersion } from "../../api/target-version.ts";
import { isBegun } from "../../rollouts/claim.ts";
import { closedFor, type Hold, holdOf, liftingOverride } from "../../rollouts/hold.ts";
import type { Member } from "../../rollouts/member.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import type { MemberState } from "../../rollouts/rollout-progress.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { Slots } from "../../rollouts/slots.ts";
import { presentStatus, statesOf, type StatusWish } from "../fleet/rollout-state.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Situation } from "../../policy/world.ts";

export interface AwaitedOperation extends Pick<Situation, "world" | "call"> {
  readonly firstAsked: Date;
  /** Whether every policy releases it. */
  readonly released: boolean;
}

export interface HoldInStage {
  readonly hold: Hold;
  /** The stage of the Cluster, also where all stages stop. */
  readonly stage: string | undefined;
}

export function holdKey(hook: HookName, cluster: string): string {
  return `${hook} ${cluster}`;
}

/** What rollouts hold from an instant on: the first that holds the operation, in the order of names in which the operator asks them. */
export interface HoldFrom {
  readonly at: Date;
  /** Absent: none does. */
  readonly held?: HoldInStage | undefined;
}

/** By holdKey(); without operations that are never held. Each begins with its first hold, and has what differs from the one before. */
export type HoldChanges = ReadonlyMap<string, readonly HoldFrom[]>;

/** From each of the edges on, what the rollouts hold with their statuses of `wish.at`. */
export function rolloutHolds(
  fleet: Fleet,
  operations: readonly AwaitedOperation[],
  edges: Iterable<Date>,
  wish: StatusWish,
): HoldChanges {
  const enforced = fleet.rollouts.filter(({ compiled: { mode } }) => mode === "Enforce");
  const known = enforced.map((rollout): KnownRollout => {
    const { compiled } = rollout;
    const states = statesOf(compiled, fleet, wish.at);
    const status = presentStatus(rollout, fleet, states, wish);
    const members = states.map(({ member }) => member);
    const hook = BEGINS[compiled.operation];
    return {
      compiled,
      states,
      status,
      byKey: new Map(states.map(({ member, cluster }) => [clusterKey(cluster), member])),
      own: operations.filter(({ call }) => call.hook === hook),
      slots: () => new Slots(compiled, status, members, wish.at),
    };
  });
  const changes = new Map<string, HoldFrom[]>();
  let before: ReadonlyMap<string, HoldInStage> = new Map();
  let looks = 0;
  for (const at of edges) {
    looks += operations.length;
    if (looks > MAX_LOOKS && at > wish.at)
      throw new TooManyChanges(
        `stages of HookRollouts open and close too often for ${counted(operations.length, "operation")}: choose a time that ends before ${timestamp(at)}`,
      );
    const holds = holdsAt(known, fleet, at);
    const change = (key: string, held?: HoldInStage): void => {
      entryOf(changes, key, () => []).push({ at, held });
    };
    for (const key of before.keys()) if (!holds.has(key)) change(key);
    for (const [key, held] of holds) if (!isDeepStrictEqual(before.get(key), held)) change(key, held);
    before = holds;
  }
  return changes;
}

/** About all operations together: a simulation exceeds this only with windows that open many times. */
const MAX_LOOKS = 20_000_000;

function holdsAt(known: readonly KnownRollout[], fleet: Fleet, at: Date): ReadonlyMap<string, HoldInStage> {
  const holds = new Map<string, HoldInStage>();
  const first = (hook: HookName, held: ReadonlyMap<string, HoldInStage>): void => {
    for (const [cluster, each] of held) entryOf(holds, holdKey(hook, cluster), () => each);
  };
  const asking = known.map((rollout) => {
    const { closed, waiting } = openFor(rollout, fleet, at);
    first(BEGINS[rollout.compiled.operation], closed);
    return { rollout, waiting };
  });
  // What another rollout holds would leave its slot unused.
  for (const { rollout, waiting } of asking) {
    const hook = BEGINS[rollout.compiled.operation];
    const isFree = ({ member: { metadata } }: WaitingCluster): boolean =>
      !holds.has(holdKey(hook, namespacedName(metadata)));
    first(hook, withoutSlot(rollout, waiting.filter(isFree), at));
  }
  return holds;
}

interface KnownRollout {
  readonly compiled: CompiledRollout;
  readonly states: readonly MemberState[];
  readonly status: HookRolloutStatus;
  /** By clusterKey(). */
  readonly byKey: ReadonlyMap<string, Member>;
  /** About its operation. */
  readonly own: readonly AwaitedOperation[];
  /** That are in use. */
  readonly slots: () => Slots;
}

/** `closed`: by clusterKey(); `waiting`: may begin once they have a slot. */
function openFor(
  { compiled, status, byKey, own }: KnownRollout,
  fleet: Fleet,
  at: Date,
): { readonly closed: ReadonlyMap<string, HoldInStage>; readonly waiting: readonly WaitingCluster[] } {
  const closed = new Map<string, HoldInStage>();
  const waiting: WaitingCluster[] = [];
  for (const { world, call, firstAsked, released } of own) {
    const key = clusterKey(world.cluster);
    const member = byKey.get(key);
    const situation = { world, call, now: at };
    const target = targetVersion(call) ?? "";
    if (member === undefined || liftingOverride(compiled, situation)) continue;
    if (isBegun({ rollout: compiled, status }, { ...member, target }, fleet.served)) continue;
    const { stage } = member;
    const hold = closedFor(compiled, status, { stage, target }, situation);
    if (hold !== undefined) closed.set(key, { hold, stage: stage?.name });
    else if (released && stage !== undefined)
      waiting.push({ member: { ...member, stage }, target, firstAsked });
  }
  return { closed, waiting };
}

/** The Clusters that get no slot, because those before them take the free ones: first, those about which Cluster API asks now. */
function withoutSlot(
  { compiled: rollout, status, states, slots: free }: KnownRollout,
  waiting: readonly WaitingCluster[],
  at: Date,
): ReadonlyMap<string, HoldInStage> {
  const slots = free();
  const asking = waiting.filter(({ member }) => !slots.has(member.metadata.uid));
  const queue = new RolloutQueue();
  for (const { member } of asking) queue.asked(member.metadata.uid, at.getTime());
  for (const { isAwaited, member } of states)
    if (!isAwaited) queue.putBehind(member.metadata.uid, at.getTime());
  queue.update({ rollout, slots, waiting: asking, turns: status.turns }, at.getTime());
  const held = asking.filter(({ member }) => !queue.mayBegin(member.metadata.uid));
  return new Map(
    held.map(({ member: { metadata, stage } }) => [
      namespacedName(metadata),
      { hold: holdOf(rollout, { reason: "NoFreeSlot", stage: stage.name }), stage: stage.name },
    ]),
  );
}
