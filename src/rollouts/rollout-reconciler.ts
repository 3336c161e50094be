/**
 * Reconciles the status of one HookRollout with what its members show: gives slots back, judges stages, records failures.
 * Runs in one replica at a time. Idempotent: in the steady state it reads and writes nothing.
 */

import { isDeepStrictEqual } from "node:util";
import { entryOf } from "../lib/entry-of.ts";
import { namespacedName } from "../lib/keys.ts";
import { FOLLOW_MS, type Requeue } from "../lib/requeue.ts";
import {
  CONDITION,
  type HookRollout,
  type HookRolloutStatus,
  REASON,
  type RolloutClaim,
} from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { conditionOf, type Cluster } from "../api/meta.ts";
import {
  isAtVersion,
  isCreationOver,
  isBeingDeleted,
  type ServedUpgrades,
} from "../operations/hook-lives.ts";
import { isMarkOf } from "./claim.ts";
import { type Health, healthOf, isAsNew, isAtTarget, reachedVersion } from "./health.ts";
import { showsMark } from "./member.ts";
import { type CompiledRollout, scopeOf } from "./rollout.ts";
import type { Operation } from "../operations/beginnings.ts";
import { UNCLAIMED } from "./slots.ts";
import { opens, untilDue } from "./stages.ts";
import { clockProblem } from "../lib/clock-skew.ts";
import type { MemberCluster } from "./asked-operation.ts";
import type { HeldRows, RolloutEntry } from "./rollout-entry.ts";
import type { NotCalled } from "../memory/memory.ts";
import type { Rollouts, RolloutsOptions } from "./rollout-decisions.ts";
import type { MemberState } from "./rollout-progress.ts";
import { computeRolloutStatus, type RolloutInput } from "./rollout-status.ts";

export interface RolloutReconcilerOptions extends Pick<
  RolloutsOptions,
  "api" | "clusters" | "now" | "nowMs" | "served"
> {
  readonly rollouts: Rollouts;
  /** Whether this replica writes the statuses of rollouts. */
  readonly leading: () => boolean;
  readonly loaded: () => boolean;
  /** Why Cluster API does not call the hook in any namespace; absent: nothing tells. */
  readonly notCalled?: (hook: HookName) => NotCalled;
  /** What the HookTasks say for which a Cluster has a slot. */
  readonly tasks: SlotTasks;
  /** This replica has stored `now` in place of `before`. */
  readonly onStored: (
    object: HookRollout,
    before: HookRolloutStatus | undefined,
    now: HookRolloutStatus,
  ) => void;
}

/** Open, or failed so that a person has to act, or when the last one ended; `undefined`: there is none. */
export type SlotTaskState = "Unfinished" | "Failed" | Date | undefined;

export interface SlotTasks {
  known(claim: RolloutClaim, hook: HookName): SlotTaskState;
  /** By a quorum read (no resourceVersion); rejects when that is not possible. */
  read(claim: RolloutClaim, hook: HookName): Promise<SlotTaskState>;
}

/** Longer than Cluster API takes to write the mark after a release. */
export const CLAIM_MS = 3 * 60_000;
/** A member that was at its version may be unhealthy for a moment. */
export const UNHEALTHY_MS = 30_000;
/** Finds something only if an event was missed. */
const RESYNC_MS = 30_000;
/** Instants have whole seconds, and timers fire early. */
const LATER_MS = 50;
const MAX_READS = 8;

/** What the last look at the members found, by uid. */
interface Look {
  readonly reached: Map<string, string>;
  readonly unhealthySince: Map<string, number>;
  /** Those that have been healthy. */
  readonly healthy: Set<string>;
}

/** What this replica remembers of a rollout; its times are monotonic milliseconds. */
interface RolloutKnowledge {
  look: Look;
  rebuildUntil: number | undefined;
  /** Since when a claim has been as it is, by claimKey(). */
  readonly claimsSeen: Map<string, number>;
}

/** What memory shows of the members, as of one version of the rollout. */
interface Sight extends Pick<RolloutInput, "members" | "next">, HeldRows {
  readonly entry: RolloutEntry;
  readonly object: HookRollout;
}

interface RolloutReading {
  readonly object: HookRollout;
  /** The slots that the reads have shown to be free. */
  readonly ended: ReadonlySet<string>;
  /** See ProgressInput. */
  readonly isPresent: boolean;
  /** When the reads began, as of performance.now(); absent: `object` is that in memory, and nothing is written. */
  readonly began?: number;
}

const newLook = (): Look => ({ reached: new Map(), unhealthySince: new Map(), healthy: new Set() });

export class RolloutReconciler {
  readonly #options: RolloutReconcilerOptions;
  readonly #known = new WeakMap<RolloutEntry, RolloutKnowledge>();

  constructor(options: RolloutReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(name: string): Promise<Requeue> {
    const { api, rollouts, leading, loaded } = this.#options;
    const entry = rollouts.get(name);
    if (entry === undefined) return {};
    if (!leading() || !loaded()) {
      // It does not see what happens until it leads again, nor for which changes another replica waits.
      const known = this.#knownOf(entry);
      known.look = newLook();
      known.rebuildUntil = undefined;
      return { requeueAfterMs: FOLLOW_MS };
    }
    const mayHaveEnded = this.#mayHaveEnded(entry);
    const sight = await this.#sightOf(entry);
    const { object } = sight;
    const planned = this.#statusOf(sight, { object, ended: new Set(), isPresent: true });
    // While the watch of Clusters stalls, a member may have failed that memory shows as succeeded.
    const isPresent = opens(planned, object.status) ? await entry.isPresent(api) : undefined;
    if (mayHaveEnded.length > 0 || !isDeepStrictEqual(planned, object.status))
      await this.#write(sight, mayHaveEnded, isPresent === true);
    const isBehind = mayHaveEnded.length > 0 || isPresent === false;
    return { requeueAfterMs: isBehind ? FOLLOW_MS : this.#untilDue(entry) };
  }

  /** Deadlines, soaks and claims end by time alone. */
  #untilDue(entry: RolloutEntry): number {
    const { rollout, status } = entry;
    const nowMs = this.#options.nowMs();
    const { look, rebuildUntil = Infinity, claimsSeen } = this.#knownOf(entry);
    const claims = (status?.running ?? []).filter(({ markedAt }) => markedAt === undefined);
    const due = [
      ...claims.map((claim) => (claimsSeen.get(claimKey(claim)) ?? nowMs) + CLAIM_MS),
      ...look.unhealthySince.values().map((since) => since + UNHEALTHY_MS),
      rebuildUntil,
    ].map((at) => at - nowMs);
    const soonest = Math.min(...due.filter((ms) => ms > 0), untilDue(rollout, status, this.#options.now()));
    return Math.min(RESYNC_MS, soonest + LATER_MS);
  }

  /** Rejects on a conflict: the work queue then retries, and everything is read again. */
  async #write(sight: Sight, mayHaveEnded: readonly RolloutClaim[], isPresent: boolean): Promise<void> {
    const { api, rollouts, onStored } = this.#options;
    const { name } = sight.entry.rollout;
    const began = performance.now();
    // The rollout is read before the Clusters, so that a claim which is taken meanwhile causes a conflict.
    const object = await api.getRollout(name);
    if (object === undefined) return;
    const current = rollouts.learn(object);
    if (current === undefined) return;
    const ended = await this.#readEnded(current, mayHaveEnded);
    // What a list of Clusters has proven of memory is true of the members as they are now.
    const isUnchanged = !isPresent && current === sight.entry && current.object === sight.object;
    const status = this.#statusOf(isUnchanged ? sight : await this.#sightOf(current), {
      object,
      ended,
      began,
      isPresent,
    });
    if (isDeepStrictEqual(status, object.status)) return;
    const stored = await api.replaceRolloutStatus(object, status);
    if (stored === undefined) return;
    onStored(stored, object.status, status);
    rollouts.learn(stored);
  }

  /** Looks at each member: the one part of the work that grows with the fleet. */
  async #sightOf(entry: RolloutEntry): Promise<Sight> {
    await entry.refreshed();
    const { object } = entry;
    const next = entry.queue.head();
    const held = await entry.heldRows();
    const known = this.#knownOf(entry);
    const look = newLook();
    const members = await entry.ofMembers((each) => this.#stateOf(entry, each, known.look, look));
    known.look = look;
    return { entry, object, members, next, ...held };
  }

  /**
   * Throws while this clock may differ from the API server's at the read: one that is ahead would end the claims and soaks by
   * which others release Clusters, for good.
   */
  #statusOf(
    { entry, members, next, held, heldOmitted }: Sight,
    { object, ended, began, isPresent }: RolloutReading,
  ): HookRolloutStatus {
    const { rollout } = entry;
    // By an invalid spec, nothing begins: the next valid one is compared with the last.
    const last = rollout.problem === undefined ? undefined : object.status?.scope;
    const scope = last ?? scopeOf(object.spec);
    const { api, served } = this.#options;
    const now = this.#options.now();
    const problem = began === undefined ? undefined : clockProblem(api, now, began);
    if (problem !== undefined)
      throw new Error(
        `cannot write the status of HookRollout ${rollout.name}, because the clock of this machine is not that of the API server: ${problem}`,
      );
    const isRebuilding = this.#isRebuilding(object, entry, { scope, now });
    const stored = object.status;
    const asksMidway = !served.marksUpgrades;
    const known = { rollout, stored, members, ended, isPresent, isRebuilding, scope, asksMidway };
    const notCalled = this.#options.notCalled?.(entry.hook);
    return computeRolloutStatus({ ...known, notCalled, next, held, heldOmitted }, now);
  }

  #knownOf(entry: RolloutEntry): RolloutKnowledge {
    const nothing = { look: newLook(), rebuildUntil: undefined, claimsSeen: new Map() };
    return entryOf(this.#known, entry, () => nothing);
  }

  #stateOf(entry: RolloutEntry, { member, cluster }: MemberCluster, before: Look, look: Look): MemberState {
    const { uid } = cluster.metadata;
    const health = entry.health(cluster);
    const version = reachedVersion(cluster, health, before.reached);
    if (version !== undefined) look.reached.set(uid, version);
    if (health === "Healthy" || before.healthy.has(uid)) look.healthy.add(uid);
    const nowMs = this.#options.nowMs();
    const since = countsAsUnhealthy(entry, cluster, health)
      ? (before.unhealthySince.get(uid) ?? nowMs)
      : undefined;
    if (since !== undefined) look.unhealthySince.set(uid, since);
    return {
      member,
      cluster,
      health,
      hasReached: version !== undefined || isAtVersion(cluster),
      lastsUnhealthy: since !== undefined && nowMs - since >= UNHEALTHY_MS,
      wasHealthy: look.healthy.has(uid),
      isAwaited: entry.awaits(cluster),
    };
  }

  /** A young rollout has lost nothing. Another replica that takes over waits as long again. */
  #isRebuilding(
    { status }: HookRollout,
    entry: RolloutEntry,
    { scope, now }: { readonly scope: string; readonly now: Date },
  ): boolean {
    const { createdAt, mode } = entry.rollout;
    if (mode === "Audit") return false;
    const { nowMs } = this.#options;
    const known = this.#knownOf(entry);
    const isYoung = now.getTime() - createdAt.getTime() < CLAIM_MS;
    const isLost = status?.scope === undefined ? !isYoung : status.scope !== scope;
    const reason = conditionOf({ status }, CONDITION.Ready)?.reason;
    const isInherited = reason === REASON.StatusLost && known.rebuildUntil === undefined;
    // Before this operator was registered, Clusters began without a slot.
    const wasUnheld = reason === REASON.OperatorGone;
    if (isLost || isInherited || wasUnheld) known.rebuildUntil = nowMs() + CLAIM_MS;
    return nowMs() < (known.rebuildUntil ?? -Infinity);
  }

  /** The claims that have ended as far as memory tells. Only a quorum read gives a slot back. */
  #mayHaveEnded(entry: RolloutEntry): RolloutClaim[] {
    const { clusters, tasks } = this.#options;
    const { claimsSeen } = this.#knownOf(entry);
    const running = entry.status?.running ?? [];
    const keys = new Set(running.map(claimKey));
    for (const key of claimsSeen.keys()) if (!keys.has(key)) claimsSeen.delete(key);
    return running.filter((claim) => {
      const known = claim.tasks === true ? tasks.known(claim, entry.hook) : undefined;
      return this.#hasEnded(entry, claim, clusters.get(namespacedName(claim)), known);
    });
  }

  async #readEnded(entry: RolloutEntry, claims: readonly RolloutClaim[]): Promise<ReadonlySet<string>> {
    const { api, tasks } = this.#options;
    const ended = new Set<string>();
    for (let at = 0; at < claims.length; at += MAX_READS) {
      const batch = claims.slice(at, at + MAX_READS);
      await Promise.all(
        batch.map(async (claim) => {
          const cluster = await api.findCluster(claim.namespace, claim.name);
          // After the rollout was read: a replica stores a claim before its HookTasks.
          const read = claim.tasks === true ? await tasks.read(claim, entry.hook) : undefined;
          if (this.#hasEnded(entry, claim, cluster, read)) ended.add(claim.uid);
        }),
      );
    }
    return ended;
  }

  /**
   * A slot is for tasks until they have ended, and then for the operation. If one has failed, another Cluster can use it
   * until a person has acted.
   */
  #isUnused(entry: RolloutEntry, claim: RolloutClaim, tasks: SlotTaskState): boolean {
    const { now, nowMs } = this.#options;
    const since = entryOf(this.#knownOf(entry).claimsSeen, claimKey(claim), nowMs);
    const isOld = nowMs() - since >= CLAIM_MS;
    if (tasks === "Unfinished") return false;
    if (tasks === undefined || tasks === "Failed") return isOld || tasks === "Failed";
    return isOld && now().getTime() - tasks.getTime() >= CLAIM_MS;
  }

  /** A Cluster that has reached its version and failed is not in operation any more: its failure counts instead. */
  #hasEnded(
    entry: RolloutEntry,
    claim: RolloutClaim,
    cluster: Cluster | undefined,
    tasks: SlotTaskState,
  ): boolean {
    const { rollout, status } = entry;
    const isUnused = this.#isUnused(entry, claim, tasks);
    const { uid } = claim;
    const { operation } = rollout;
    const { now, served } = this.#options;
    if (cluster === undefined || cluster.metadata.uid !== uid) return true;
    if (operation === "Upgrade" && isBeingDeleted(cluster)) return true;
    if (showsOwnMark(rollout, claim, cluster, served)) return false;
    if (operation === "Upgrade" && isUpgraded(claim, cluster))
      return hasFailed(status, claim) || healthOf(rollout, cluster, now()) === "Healthy";
    if (operation === "Create" && isCreationOver(cluster)) return true;
    return isUnused && !wasSeenToBegin(operation, claim, cluster);
  }
}

function showsOwnMark(
  rollout: CompiledRollout,
  claim: RolloutClaim,
  cluster: Cluster,
  served: ServedUpgrades,
): boolean {
  return showsMark(rollout.operation, cluster) && isMarkOf(rollout, claim, served);
}

/** In a creation, the mark is away for a moment (isCreationOver). */
function wasSeenToBegin(operation: Operation, { markedAt }: RolloutClaim, { created }: Cluster): boolean {
  return markedAt !== undefined || (operation === "Create" && created);
}

/** Without the mark, the upgrade that was seen is over if the Cluster wants another version, newer or older. */
function isUpgraded({ target = "", markedAt }: RolloutClaim, cluster: Cluster): boolean {
  return isAtTarget(cluster, target) || (markedAt !== undefined && cluster.topology?.version !== target);
}

function countsAsUnhealthy({ rollout }: RolloutEntry, cluster: Cluster, health: Health): boolean {
  return (
    rollout.operation === "Upgrade" &&
    health === "Unhealthy" &&
    isAtTarget(cluster, cluster.topology?.version ?? "")
  );
}

/** At an earlier version does not count. Where Cluster API asks midway, one without a slot can have taken one since. */
function hasFailed(
  { failed = [] }: HookRolloutStatus = {},
  { uid, target = "" }: Pick<RolloutClaim, "uid" | "target">,
): boolean {
  const own = failed.filter((failure) => failure.uid === uid && failure.reason !== UNCLAIMED);
  return own.some(({ target: at = "" }) => at === target || isAsNew(at, target));
}

/** Every write of a claim changes its key. */
function claimKey({ uid, target = "", attempts, renewedAt }: RolloutClaim): string {
  return [uid, target, attempts, renewedAt].join(" ");
}
