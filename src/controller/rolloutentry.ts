/** One HookRollout in memory: its members, the slots in use and the queue, as this replica knows them. */

import type { HookRollout, HookRolloutStatus } from "../api/hookpolicy.ts";
import type { ServedHooks } from "../api/hookcatalog.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { isAsked } from "../operations/shows.ts";
import { refusalOf } from "../rollouts/claim.ts";
import { type Health, healthOf } from "../rollouts/health.ts";
import { BEGINS, type Member, memberOf, targetOf } from "../rollouts/member.ts";
import { type CompiledRollout, type CompiledStage, compileRollout } from "../rollouts/rollout.ts";
import { Slots } from "../rollouts/slots.ts";
import type { Lister } from "./ports.ts";
import { isSameSpec } from "./samespec.ts";
import { RolloutQueue, type Waiting } from "./rolloutqueue.ts";
import type { Namespace } from "../api/meta.ts";

export interface RolloutWorld {
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
  readonly served: ServedHooks;
  /** When the pending operation of the Cluster began; `undefined`: the Cluster shows none. */
  readonly firstAsked: (clusterUID: string, hook: HookName) => Date | undefined;
  readonly now: () => Date;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** How long the queue may be out of date. */
  readonly refreshMs?: number;
}

/** A member, and the Cluster that it was made of. */
export interface KnownMember {
  readonly member: Member;
  readonly cluster: Cluster;
}

interface Remembered extends KnownMember {
  readonly namespace: Namespace | undefined;
  health?: Health;
}

/** The queue is sorted again after this long at the earliest, and after twenty times what it costs. */
const REFRESH_MS = 50;
const REFRESH_SHARE = 20;

export class RolloutEntry {
  readonly queue = new RolloutQueue();
  readonly #world: RolloutWorld;
  #object: HookRollout;
  #compiled: CompiledRollout;
  /** Thousands of Clusters are matched once each, until one of the inputs changes. */
  #members = new WeakMap<Cluster, Remembered>();
  #refreshedAt = -Infinity;
  #cost = 0;
  #waiting: readonly Waiting[] = [];

  constructor(object: HookRollout, world: RolloutWorld) {
    this.#world = world;
    this.#object = object;
    this.#compiled = compileRollout(object);
  }

  get object(): HookRollout {
    return this.#object;
  }

  get rollout(): CompiledRollout {
    return this.#compiled;
  }

  get status(): HookRolloutStatus | undefined {
    return this.#object.status;
  }

  get hook(): HookName {
    return BEGINS[this.#compiled.operation];
  }

  set(object: HookRollout): void {
    const isSame = isSameSpec(this.#object, object);
    this.#object = object;
    this.#refreshedAt = -Infinity;
    if (isSame) return;
    this.#compiled = compileRollout(object);
    this.#members = new WeakMap();
  }

  /** `undefined`: the rollout does not select the Cluster. */
  member(cluster: Cluster): Member | undefined {
    return this.#remembered(cluster)?.member;
  }

  /** An expression reads nothing but the Cluster, so the answer lasts as long as this copy of it. */
  health(cluster: Cluster): Health {
    const remembered = this.#remembered(cluster);
    if (remembered === undefined) return "Unknown";
    remembered.health ??= healthOf(this.#compiled, cluster, this.#world.now());
    return remembered.health;
  }

  members(): KnownMember[] {
    return [...this.#world.clusters.list()].flatMap((cluster) => this.#remembered(cluster) ?? []);
  }

  /** Those that wait for a slot in an open stage, first come first. */
  get waiting(): readonly Waiting[] {
    const byUID = new Map(this.#waiting.map((each) => [each.member.metadata.uid, each]));
    return this.queue.order.flatMap((uid) => byUID.get(uid) ?? []);
  }

  /** Brings the queue up to date, unless that was done a moment ago. */
  refresh(): void {
    const { nowMs, refreshMs = REFRESH_MS } = this.#world;
    const began = nowMs();
    if (began - this.#refreshedAt < Math.max(refreshMs, this.#cost * REFRESH_SHARE)) return;
    const known = this.members();
    const slots = new Slots(
      this.#compiled,
      this.status ?? {},
      known.map(({ member }) => member),
      this.#world.now(),
    );
    const isOpen = this.#openPlaces();
    this.#waiting = known.flatMap((each) => this.#waits(each, slots, isOpen));
    this.queue.update(this.#compiled, slots, this.#waiting, began);
    this.#refreshedAt = nowMs();
    this.#cost = this.#refreshedAt - began;
  }

  /** Whether Clusters of a stage may begin for a target: the same for thousands of them. */
  #openPlaces(): (stage: CompiledStage, target: string) => boolean {
    const known = new Map<string, boolean>();
    const now = this.#world.now();
    return (stage, target) => {
      const place = `${stage.name} ${target}`;
      const isOpen =
        known.get(place) ?? refusalOf(this.#compiled, this.status, { stage, target }, now) === undefined;
      known.set(place, isOpen);
      return isOpen;
    };
  }

  #waits(
    { member, cluster }: KnownMember,
    slots: Slots,
    isOpen: (stage: CompiledStage, target: string) => boolean,
  ): Waiting[] {
    const { stage, marked, metadata } = member;
    const { served, firstAsked } = this.#world;
    if (stage === undefined || marked || slots.has(metadata.uid)) return [];
    if (!isAsked(this.hook, cluster, served)) return [];
    const asked = firstAsked(metadata.uid, this.hook);
    const target = targetOf(this.#compiled.operation, cluster);
    if (asked === undefined || !isOpen(stage, target)) return [];
    return [{ member: { ...member, stage }, target, firstAsked: asked }];
  }

  #remembered(cluster: Cluster): Remembered | undefined {
    const { metadata, topology } = cluster;
    const namespace = this.#world.namespaces.get(metadata.namespace ?? "");
    const known = this.#members.get(cluster);
    if (known !== undefined && known.namespace === namespace) return known;
    const member = topology === undefined ? undefined : memberOf(this.#compiled, metadata, namespace);
    const remembered = member === undefined ? undefined : { member, cluster, namespace };
    if (remembered !== undefined) this.#members.set(cluster, remembered);
    return remembered;
  }
}
