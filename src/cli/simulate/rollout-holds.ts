/** Computes what the HookRollouts of a fleet hold if Cluster API asks about every Cluster at the same instant. */

import { counted } from "../../lib/counted.ts";
import { entryOf } from "../../lib/entry-of.ts";
import { timestamp } from "../../lib/instant.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { HookRolloutStatus } from "../../api/hook-policy.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import { type QueueInput, RolloutQueue, type WaitingCluster } from "../../rollouts/rollout-queue.ts";
import { TooManyChanges } from "../../operations/timeline.ts";
import { clusterKey } from "../../views/cluster.ts";
import { targetVersion } from "../../api/target-version.ts";
import { isBegun } from "../../rollouts/claim.ts";
import { closedFor, type Hold, holdOf, liftingOverride } from "../../rollouts/hold.ts";
import { BEGINS, type Member } from "../../rollouts/member.ts";
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
  const equal = new Map<string, HoldInStage>();
  let looks = 0;
  for (const at of edges) {
    looks += operations.length;
    if (looks > MAX_LOOKS && at > wish.at)
      throw new TooManyChanges(
        `stages of HookRollouts open and close too often for ${counted(operations.length, "operation")}: choose a time that ends before ${timestamp(at)}`,
      );
    const holds = holdsAt(known, fleet, at, equal);
    const since = new Map<HoldInStage | undefined, HoldFrom>();
    const change = (key: string, held?: HoldInStage): void => {
      entryOf(changes, key, () => []).push(entryOf(since, held, () => ({ at, held })));
    };
    for (const key of before.keys()) if (!holds.has(key)) change(key);
    for (const [key, held] of holds) if (before.get(key) !== held) change(key, held);
    before = holds;
  }
  return changes;
}

/** About all operations together: a simulation exceeds this only with windows that open many times. */
const MAX_LOOKS = 20_000_000;

/** `equal`: what was found before, so that the same hold is one object at all times, and of all Clusters. */
function holdsAt(
  known: readonly KnownRollout[],
  fleet: Fleet,
  at: Date,
  equal: Map<string, HoldInStage>,
): ReadonlyMap<string, HoldInStage> {
  const holds = new Map<string, HoldInStage>();
  for (const rollout of known) {
    const hook = BEGINS[rollout.compiled.operation];
    const isFree = ({ world }: AwaitedOperation): boolean =>
      !holds.has(holdKey(hook, clusterKey(world.cluster)));
    for (const [cluster, held] of holdsOf(rollout, fleet, rollout.own.filter(isFree), at))
      holds.set(
        holdKey(hook, cluster),
        entryOf(equal, JSON.stringify(held), () => held),
      );
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

/** By clusterKey(). */
function holdsOf(
  { compiled, states, status, byKey, slots }: KnownRollout,
  fleet: Fleet,
  operations: readonly AwaitedOperation[],
  at: Date,
): ReadonlyMap<string, HoldInStage> {
  const holds = new Map<string, HoldInStage>();
  const waiting: WaitingCluster[] = [];
  for (const { world, call, firstAsked, released } of operations) {
    const key = clusterKey(world.cluster);
    const member = byKey.get(key);
    const situation = { world, call, now: at };
    const target = targetVersion(call) ?? "";
    if (member === undefined || liftingOverride(compiled, situation)) continue;
    if (isBegun({ rollout: compiled, status }, { ...member, target }, fleet.served)) continue;
    const { stage } = member;
    const hold = closedFor(compiled, status, { stage, target }, situation);
    if (hold !== undefined) holds.set(key, { hold, stage: stage?.name });
    else if (released && stage !== undefined)
      waiting.push({ member: { ...member, stage }, target, firstAsked });
  }
  const input = { rollout: compiled, slots: slots(), waiting, turns: status.turns };
  for (const { metadata, stage } of withoutSlot(input, states, at)) {
    const place = { stage: stage?.name };
    const hold = holdOf(compiled, { reason: "NoFreeSlot", ...place });
    holds.set(namespacedName(metadata), { hold, ...place });
  }
  return holds;
}

/** The Clusters that get no slot, because those before them take the free ones: first, those about which Cluster API asks now. */
function withoutSlot(input: QueueInput, states: readonly MemberState[], at: Date): readonly Member[] {
  const asking = input.waiting.filter(({ member }) => !input.slots.has(member.metadata.uid));
  const queue = new RolloutQueue();
  for (const { member } of asking) queue.asked(member.metadata.uid, at.getTime());
  for (const { isAwaited, member } of states)
    if (!isAwaited) queue.putBehind(member.metadata.uid, at.getTime());
  queue.update({ ...input, waiting: asking }, at.getTime());
  return asking.map(({ member }) => member).filter(({ metadata }) => !queue.mayBegin(metadata.uid));
}
