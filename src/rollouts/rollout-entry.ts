/** One HookRollout in memory: its members, the slots in use and the queue, as this replica knows them. */

import { setImmediate as nextTurn } from "node:timers/promises";

import { compareText } from "../lib/compare-text.ts";
import { entryOf } from "../lib/entry-of.ts";
import { timestamp } from "../lib/instant.ts";
import { namespacedName } from "../lib/keys.ts";
import { printable } from "../lib/printable.ts";
import {
  type HookRollout,
  type HookRolloutStatus,
  MAX_HELD,
  MAX_ROW_MESSAGE,
  type RolloutHeld,
} from "../api/hook-policy.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import type { Cluster, Namespace, ObjectMeta, StoredNamespace } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { expectedCall } from "../operations/call.ts";
import { isAwaited } from "../operations/hook-lives.ts";
import { truncateText } from "../lib/truncate.ts";
import type { Situation } from "../policy/world.ts";
import { isAtLeast } from "../views/versions.ts";
import {
  type AskedOperation,
  isQueued,
  type MemberCluster,
  oldestFirst,
  type SinceOf,
  waitingSince,
} from "./asked-operation.ts";
import {
  graceOf,
  isBegun,
  isRenewable,
  keepsSlot,
  ownClaim,
  claimRefusal,
  leftUnused,
  whoBegins,
} from "./claim.ts";
import { type Health, healthOf } from "./health.ts";
import { closedFor, type Hold, holdOf, holdText, liftingOverride } from "./hold.ts";
import { type Member, memberOf, readsNamespaceLabels, targetOf } from "./member.ts";
import { BEGINS } from "../operations/beginnings.ts";
import { type CompiledRollout, type CompiledStage, compileRollout } from "./rollout.ts";
import { unmetGate } from "./promotion.ts";
import type { RolloutApi } from "./rollout-api.ts";
import { Slots } from "./slots.ts";
import type { Decider } from "../memory/decider.ts";
import type { Lister } from "../memory/memory.ts";
import { isSameSpec } from "../memory/same-object.ts";
import { RolloutQueue } from "./rollout-queue.ts";
import { Slice } from "../turns/slice.ts";

export interface RolloutWorld {
  /** What policies and memory say about operations, and what the gates of stages look at. */
  readonly decider: Pick<Decider, "firstAsked" | "overridesOf" | "policiesHold" | "worldOf">;
  readonly now: () => Date;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<StoredNamespace>;
  readonly served: ServedHooks;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly onError: (error: unknown) => void;
  /** All rollouts, in the order of their names. */
  readonly entries?: () => readonly RolloutEntry[];
  /** How long the queue may be out of date; 0: never. */
  readonly refreshMs?: number;
  /** How long the work over all members may keep the event loop at a time. */
  readonly turnMs?: number;
  /** Default: compileRollout(), which takes milliseconds. */
  readonly compile?: (object: HookRollout) => CompiledRollout;
}

export type HeldRows = Required<Pick<HookRolloutStatus, "held" | "heldOmitted">>;

/** What the queue was last brought up to date with. */
interface Queued {
  readonly asked: readonly AskedOperation[];
  /** The uids of those whose turn it could not be, whatever slots are free. */
  readonly stopped: Set<string>;
  /** With those of the Clusters whose turn it is. */
  readonly slots: Slots;
}

/** Facts that follow from one copy of a Cluster. */
interface RememberedCluster {
  readonly namespace: StoredNamespace | undefined;
  /** Absent: the rollout does not select the Cluster. */
  readonly known?: MemberCluster;
  /** Whether it shows that it waits. */
  waits?: boolean;
  health?: Health;
}

/** A Cluster that the rollout selects, whose operation has not begun. */
export interface StagePlace extends Member {
  readonly entry: RolloutEntry;
  readonly target: string;
}

/** The queue is sorted again after twenty times as long as sorting takes. */
const REFRESH_SHARE = 20;
/** And after this long at the earliest, if nothing but the time has changed. */
const REST_MS = 2000;

export class RolloutEntry {
  readonly queue = new RolloutQueue();
  readonly #world: RolloutWorld;
  object: HookRollout;
  rollout: CompiledRollout;
  #queued: Queued | undefined;
  /** For other rollouts, which take none of them. */
  #inUse: { readonly slots: Slots; readonly changes: number; readonly nextMs: number } | undefined;
  /** How often the object or what may be its members have changed. */
  #changes = 0;
  /** Thousands of Clusters are matched once each, until one of the inputs changes. */
  #members = new WeakMap<Cluster, RememberedCluster>();
  #refreshedAt = -Infinity;
  #cost = 0;
  #hasChanged = true;
  #isRefreshing = false;
  #refreshing: Promise<boolean> | undefined;

  constructor(object: HookRollout, world: RolloutWorld) {
    this.#world = world;
    this.object = object;
    this.rollout = this.#compile(object);
  }

  get status(): HookRolloutStatus | undefined {
    return this.object.status;
  }

  get hook(): HookName {
    return BEGINS[this.rollout.operation];
  }

  set(object: HookRollout): void {
    const { now, nowMs } = this.#world;
    const isSame = isSameSpec(this.object, object);
    // By every replica, because any replica may be called next.
    for (const { uid } of leftUnused(this.status, object.status, now())) this.queue.leftUnused(uid, nowMs());
    this.object = object;
    this.#refreshedAt = -Infinity;
    this.#hasChanged = true;
    this.#changes += 1;
    if (isSame) return;
    this.#inUse = undefined;
    this.rollout = this.#compile(object);
    this.#members = new WeakMap();
  }

  /** Compiles a copy of the object that may be newer than the one in memory. */
  compiledOf(object: HookRollout): CompiledRollout {
    return isSameSpec(this.object, object) ? this.rollout : this.#compile(object);
  }

  #compile(object: HookRollout): CompiledRollout {
    const { compile = compileRollout } = this.#world;
    return compile(object);
  }

  membersChanged(): void {
    this.#changes += 1;
    this.#hasChanged = true;
  }

  /** Cluster API has called about the Cluster. Returns whether that is new. */
  asked(uid: string): boolean {
    const nowMs = this.#world.nowMs();
    const isNew = !this.queue.isAsking(uid, nowMs - graceOf(this.rollout));
    if (isNew) this.#hasChanged = true;
    this.queue.asked(uid, nowMs);
    return isNew;
  }

  /** Nothing holds the Cluster but that it has no turn. */
  opened(uid: string): void {
    if (this.#queued?.stopped.delete(uid) === true) this.#hasChanged = true;
  }

  /** Whether a slot is left after those of the Clusters whose turn it is. */
  hasRoom({ stage, values }: Member): boolean {
    return stage !== undefined && this.#queued?.slots.hasRoom({ stage, values }) === true;
  }

  /** The operations that it held when the queue was last brought up to date, the oldest first. */
  async held(): Promise<readonly AskedOperation[]> {
    const queued = this.#queued;
    if (queued === undefined) return [];
    const slice = new Slice(this.#world.turnMs);
    const held: AskedOperation[] = [];
    for (const operation of queued.asked) {
      if (this.#isHeld(operation)) held.push(operation);
      if (slice.isOver()) await nextTurn();
    }
    return held.toSorted(oldestFirst);
  }

  /** Only those that the status has room for are explained, because gates cost steps. */
  async heldRows(): Promise<HeldRows> {
    const held = await this.held();
    const shown = held.slice(0, MAX_HELD);
    return {
      held: shown.map((operation) => this.#rowOf(operation)),
      heldOmitted: held.length - shown.length,
    };
  }

  #rowOf(operation: AskedOperation): RolloutHeld {
    const { member, target, firstAsked, claimExpires } = operation;
    const { metadata, stage } = member;
    const reason = claimExpires ? "ClaimExpires" : "NoFreeSlot";
    const hold = this.#closing(operation) ?? holdOf(this.rollout, { reason, stage: stage?.name });
    return {
      ...whoBegins(metadata, { target, stage }),
      reason: hold.reason,
      message: truncateText(printable(holdText(hold)), MAX_ROW_MESSAGE),
      since: timestamp(firstAsked),
    };
  }

  /** `undefined`: it may begin once it has a slot. */
  #closing({ member, cluster, target }: AskedOperation): Hold | undefined {
    return closedFor(this.rollout, this.status, { ...member, target }, this.#situationOf(cluster));
  }

  /** Whether it waits for what ends by itself: a soak, or operations that run. */
  waitsForTime(operation: AskedOperation): boolean {
    const hold = this.#closing(operation);
    if (hold?.soaksUntil !== undefined) return true;
    const isInLine = hold === undefined || hold.reason === "StageClosed" || hold.reason === "TooManyTargets";
    return isInLine && (this.status?.summary?.running ?? 0) > 0;
  }

  #situationOf(cluster: Cluster): Situation {
    const { decider, now } = this.#world;
    return { world: decider.worldOf(cluster), call: expectedCall(this.hook, cluster), now: now() };
  }

  /**
   * A Cluster for which a slot is free is not held, though Cluster API may not call about it, or another rollout hold it. Asked of
   * thousands of Clusters in a row.
   */
  #isHeld({ cluster, member, isOpen }: AskedOperation): boolean {
    if (this.#world.decider.policiesHold(cluster, this.hook) || this.#isLifted(cluster)) return false;
    const { uid } = member.metadata;
    // A slot that it has is exchanged for one to the version that it wants now.
    const hasSlot = this.#queued?.slots.has(uid) === true;
    return !isOpen || !(hasSlot || this.queue.mayBegin(uid) || this.hasRoom(member));
  }

  #isLifted(cluster: Cluster): boolean {
    const { decider, now } = this.#world;
    const world = { cluster, overrides: decider.overridesOf(cluster) };
    return liftingOverride(this.rollout, { world, call: { hook: this.hook }, now: now() }) !== undefined;
  }

  /** In steps. Only the other rollouts of these Clusters are looked at, of which there may be many. */
  *#operationsOf(known: readonly MemberCluster[], slots: Slots): Generator<AskedOperation | undefined> {
    const looks = { isOpen: this.#openPlaces(), sinceOf: waitingSince(this.status) };
    const found: FoundOperation[] = [];
    for (const each of known) {
      const operation = this.#askedOf(each, slots, looks);
      if (operation !== undefined) found.push(operation);
      yield;
    }
    const holds = ({ hook, rollout }: RolloutEntry): boolean =>
      hook === this.hook && rollout.mode === "Enforce";
    const others = new Set((this.#world.entries?.() ?? []).filter((each) => each !== this && holds(each)));
    const sharing = new Set<RolloutEntry>();
    for (const { cluster } of found.filter(({ isOpen }) => isOpen)) {
      for (const other of others.difference(sharing))
        if (other.member(cluster) !== undefined) sharing.add(other);
      yield;
    }
    const isLater = ({ rollout }: RolloutEntry): boolean => compareText(rollout.name, this.rollout.name) > 0;
    for (const other of sharing) if (isLater(other)) yield* other.#countSlots();
    const holders = [...sharing].map((other) => other.#holder(isLater(other)));
    for (const each of found)
      yield { ...each, isHeldElsewhere: each.isOpen && holders.some((holder) => holder(each.cluster)) };
  }

  /**
   * Of two rollouts, the first by name decides whose turn it is, among those Clusters for which the later one has a slot. Asked
   * of the Clusters that wait for a slot of another rollout.
   */
  #holder(isLater: boolean): IsHeld {
    const opens = this.#openPlaces();
    const slots = this.#inUse?.slots;
    return (cluster) => {
      const place = this.placeOf(cluster, this.member(cluster));
      if (place === undefined || this.#isLifted(cluster)) return false;
      const { stage, mayBeIn, values, target } = place;
      if (stage === undefined || mayBeIn !== undefined || !opens(stage, target, cluster)) return true;
      if (ownClaim(this.#round(), place) !== undefined) return false;
      const { uid } = place.metadata;
      if (!isLater) return !this.queue.mayBegin(uid);
      return slots !== undefined && !slots.has(uid) && !slots.hasRoom({ stage, values });
    };
  }

  /** Brings the slots in use up to date, in steps, unless that was done a moment ago. */
  *#countSlots(): Generator<undefined> {
    const { nowMs, now, clusters } = this.#world;
    const [began, changes] = [nowMs(), this.#changes];
    if (this.#inUse !== undefined && (this.#inUse.changes === changes || began < this.#inUse.nextMs)) return;
    const { rollout, status } = this;
    const members: Member[] = [];
    for (const cluster of clusters.list()) {
      const member = this.member(cluster);
      if (member !== undefined) members.push(member);
      yield;
    }
    if (this.rollout !== rollout) return;
    const slots = new Slots(rollout, status ?? {}, members, now());
    this.#inUse = { slots, changes, nextMs: nowMs() + (nowMs() - began) * REFRESH_SHARE };
  }

  /** Whether the Cluster shows that it waits. */
  awaits(cluster: Cluster): boolean {
    const remembered = this.#remembered(cluster);
    remembered.waits ??= isAwaited(this.hook, cluster, this.#world.served);
    return remembered.waits;
  }

  /** `undefined`: the rollout does not select the Cluster. */
  member(cluster: Cluster): Member | undefined {
    return this.#remembered(cluster).known?.member;
  }

  /** `member`: of this copy of the Cluster. `undefined`: the rollout does not select it, or its operation has begun. */
  placeOf(cluster: Cluster, member: Member | undefined): StagePlace | undefined {
    if (member === undefined) return undefined;
    const place = { ...member, entry: this, target: targetOf(this.rollout.operation, cluster) };
    return isBegun(this, place, this.#world.served) ? undefined : place;
  }

  /** Kept as long as this copy of the Cluster, because the expressions read nothing else. */
  health(cluster: Cluster): Health {
    const remembered = this.#remembered(cluster);
    if (remembered.known === undefined) return "Unknown";
    remembered.health ??= healthOf(this.rollout, cluster, this.#world.now());
    return remembered.health;
  }

  /** Whether memory shows each member, and what its place depends on, as it is in the API server, or later. */
  async isPresent(api: Pick<RolloutApi, "members" | "namespaces">): Promise<boolean> {
    const namespaces = readsNamespaceLabels(this.rollout) && api.namespaces();
    const [listed, all] = await Promise.all([api.members(), namespaces]);
    return (all === false || this.#hasPlaces(listed, all)) && this.#hasMembers(listed);
  }

  #hasPlaces(listed: readonly ObjectMeta[], all: readonly Namespace[]): boolean {
    const live = new Map(all.map(({ metadata }) => [metadata.name, metadata]));
    return listed.every(({ namespace = "" }) => {
      const [known, present] = [this.#world.namespaces.get(namespace), live.get(namespace)];
      if (known === undefined || present === undefined) return known === present;
      return isAtLeast(known.metadata, present);
    });
  }

  #hasMembers(listed: readonly ObjectMeta[]): boolean {
    const { clusters, namespaces } = this.#world;
    const uids = new Set(listed.map(({ uid }) => uid));
    for (const cluster of clusters.list())
      if (!uids.has(cluster.metadata.uid) && this.member(cluster) !== undefined) return false;
    return listed.every((metadata) => {
      const known = clusters.get(namespacedName(metadata));
      if (known !== undefined && isAtLeast(known.metadata, metadata)) return true;
      if (known !== undefined && this.member(known) !== undefined) return false;
      const namespace = namespaces.get(metadata.namespace ?? "");
      return memberOf(this.rollout, { metadata }, namespace) === undefined;
    });
  }

  /** Applies `work` to each member, in slices. */
  async ofMembers<T>(work: (known: MemberCluster) => T): Promise<T[]> {
    const slice = new Slice(this.#world.turnMs);
    const all: T[] = [];
    for (const cluster of this.#world.clusters.list()) {
      const { known } = this.#remembered(cluster);
      if (known !== undefined) all.push(work(known));
      if (slice.isOver()) await nextTurn();
    }
    return all;
  }

  /** Brings the queue up to date, unless that was done a moment ago. */
  refresh(): void {
    const { nowMs, refreshMs, onError } = this.#world;
    const share = this.#cost * REFRESH_SHARE;
    const pause = this.#hasChanged ? share : Math.max(refreshMs ?? REST_MS, share);
    if (!this.#isRefreshing && nowMs() - this.#refreshedAt >= pause)
      this.refreshed().catch((error: unknown) => onError(error));
  }

  /** Brings the queue up to date: before this returns, if one slice is enough. */
  async refreshed(): Promise<void> {
    // One that runs may have begun before the last change.
    if (this.#isRefreshing) await this.#refreshing;
    if (!this.#isRefreshing) this.#refreshing = this.#refresh();
    if (!(await this.#refreshing)) await this.refreshed();
  }

  /** `false`: the spec has changed during a pause, so a part of the members are those of the old one. The queue stays as it is. */
  async #refresh(): Promise<boolean> {
    const { nowMs } = this.#world;
    const began = nowMs();
    this.#isRefreshing = true;
    this.#refreshedAt = began;
    this.#hasChanged = false;
    const { rollout } = this;
    const slice = new Slice(this.#world.turnMs);
    const [known, asked]: [MemberCluster[], AskedOperation[]] = [[], []];
    try {
      for (const cluster of this.#world.clusters.list()) {
        const each = this.#remembered(cluster).known;
        if (each !== undefined) known.push(each);
        if (slice.isOver()) await nextTurn();
      }
      const members = known.map(({ member }) => member);
      const slots = new Slots(rollout, this.status ?? {}, members, this.#world.now());
      for (const operation of this.#operationsOf(known, slots)) {
        if (operation !== undefined) asked.push(operation);
        if (slice.isOver()) await nextTurn();
      }
      if (this.rollout !== rollout) return false;
      const waiting = asked.filter(isQueued);
      this.queue.update({ rollout, slots, waiting, turns: this.status?.turns }, began);
      const stopped = asked.filter((each) => !isQueued(each)).map(({ member }) => member.metadata.uid);
      this.#queued = { asked, stopped: new Set(stopped), slots };
      return true;
    } finally {
      this.#cost = nowMs() - began;
      this.#isRefreshing = false;
    }
  }

  /** Whether a Cluster may begin for a target once it has a slot; for its stage, computed once for thousands of Clusters. */
  #openPlaces(): IsOpen {
    const places = new Map<string, boolean>();
    const now = this.#world.now();
    return (stage, target, cluster) => {
      const isOpen = (): boolean =>
        claimRefusal(this.rollout, this.status, { stage, target }, now) === undefined;
      return (
        stage !== undefined &&
        entryOf(places, `${stage.name} ${target}`, isOpen) &&
        (stage.until.length === 0 || unmetGate(stage, this.#situationOf(cluster)) === undefined)
      );
    };
  }

  /** `undefined`: the Cluster shows no operation that waits, or has a slot that it may use. */
  #askedOf(
    { member, cluster }: MemberCluster,
    slots: Slots,
    { isOpen: opens, sinceOf }: { readonly isOpen: IsOpen; readonly sinceOf: SinceOf },
  ): FoundOperation | undefined {
    const { uid } = member.metadata;
    const place = this.placeOf(cluster, member);
    if (place === undefined || !this.awaits(cluster)) return undefined;
    const { target } = place;
    const claimExpires = slots.has(uid) && keepsSlot(this.#round(), place);
    const own = this.status?.running?.find((claim) => claim.uid === uid);
    if (claimExpires && !(own && !isRenewable(own, this.rollout, this.#world.now()))) return undefined;
    const known = this.#world.decider.firstAsked(uid, this.hook);
    if (known === undefined) return undefined;
    const firstAsked = sinceOf(known, member.metadata, target);
    const isOpen = !claimExpires && opens(member.stage, target, cluster);
    return { member, cluster, target, firstAsked, claimExpires, isOpen };
  }

  #round() {
    return { rollout: this.rollout, status: this.status, now: this.#world.now() };
  }

  #remembered(cluster: Cluster): RememberedCluster {
    const { metadata, topology } = cluster;
    const namespace = this.#world.namespaces.get(metadata.namespace ?? "");
    const before = this.#members.get(cluster);
    if (before !== undefined && before.namespace === namespace) return before;
    const member = topology === undefined ? undefined : memberOf(this.rollout, cluster, namespace);
    const remembered: RememberedCluster = { namespace, ...(member && { known: { member, cluster } }) };
    this.#members.set(cluster, remembered);
    return remembered;
  }
}

type FoundOperation = Omit<AskedOperation, "isHeldElsewhere">;
type IsHeld = (cluster: Cluster) => boolean;
type IsOpen = (stage: CompiledStage | undefined, target: string, cluster: Cluster) => boolean;
