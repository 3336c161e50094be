/**
 * Confirms releases: before the operator releases a Cluster, reads that began after the call must agree with memory. This
 * makes a lagging, stalled or restarted replica harmless.
 */

import { type Logger, rateLimited } from "../lib/logger.ts";
import type { Namespace, ObjectMeta } from "../api/meta.ts";
import { type Confirmation, type Decision, holdsBesideTasks, type RuleTrace } from "../policy/decision.ts";
import { compareResourceVersions } from "../views/versions.ts";
import { NOTHING_READ, type ObjectReader } from "../policy/watched-objects.ts";
import type { DecisionRequest, LiveWorld, Override } from "../policy/world.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import { readerOf, type TaskReader, type TaskRecord } from "../policy/tasks/task-record.ts";
import type { CallTurns } from "../turns/turns.ts";
import { clockProblem } from "../lib/clock-skew.ts";
import {
  type ConfirmationUnderWay,
  DefinitionReplaced,
  type LivePolicy,
  type LiveReader,
  LiveReads,
  samePolicies,
  type Snapshot,
} from "./live-reads.ts";
import { policyKey } from "../memory/policy-set.ts";
import { sameCluster } from "../memory/same-object.ts";
import { withinBudget } from "../lib/signals.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { PolicyKind } from "../policy/policy-ref.ts";

/** What the gates of policies, or of rollouts, look at besides the Cluster. */
export interface GateReads {
  objectQueries(request: DecisionRequest, world: LiveWorld, now: Date): readonly ObjectQuery[];
  readsNamespaces(request: DecisionRequest, world: LiveWorld): boolean;
}

export interface ConfirmationOptions {
  readonly store: DecisionStore;
  readonly reader: LiveReader;
  readonly rollouts?: GateReads;
  readonly turns: CallTurns;
  readonly log: Logger;
  readonly now: () => Date;
  /** Memory is behind with policies of these kinds: read them again. */
  readonly onStale: (kinds: ReadonlySet<PolicyKind>) => void;
  /** Only tests set it; Infinity: no limit. */
  readonly ownBudgetMs?: number;
}

/** The HookRollouts that memory had before the reads. */
export interface RolloutComparison {
  /** Whether memory has all of them as they were read; `at`: the resourceVersion of that moment. */
  hasAll(live: readonly ObjectMeta[], at: string): boolean;
}

export interface ConfirmOptions {
  /** Rollouts can hold the Cluster, too, so memory must have all of them. */
  readonly rollouts?: RolloutComparison | undefined;
  /** What stands for HookTasks that could not be stored. */
  readonly unstored?: readonly TaskRecord[];
  /** What is left of the time for the call; the Confirmer's own budget is the most that it takes. */
  readonly budgetMs?: number;
}

interface SecondSnapshot extends Snapshot, Pick<LiveWorld, "namespaces"> {}

interface ConfirmationInput {
  readonly request: DecisionRequest;
  readonly rollouts: RolloutComparison | undefined;
  readonly unstored: readonly TaskRecord[];
  readonly underWay: ConfirmationUnderWay;
}

/** The other objects that a decision may depend on. */
interface OtherObjects {
  readonly overrides: readonly Override[];
  /** Whether other Namespaces than the Cluster's own are among them. */
  readonly elsewhere: boolean;
  readonly queries: readonly ObjectQuery[];
  readonly objects: ObjectReader;
  /** Absent: they could not be read. */
  readonly tasks?: TaskReader;
  /** Whether the decision depends on any of them. */
  readonly matter: boolean;
}

/** What memory had when the reads began. */
interface StartingPoint {
  /** As of performance.now(). */
  readonly began: number;
  readonly at: Date;
  readonly known: KnownMetadata;
}

interface ReadResults extends Pick<ConfirmationInput, "request" | "rollouts"> {
  readonly before: StartingPoint;
  readonly others: OtherObjects;
  readonly first: Snapshot;
  readonly again: SecondSnapshot;
}

/** A part of WITHIN_MS in decisions.ts. */
export const BUDGET_MS = 3000;
/** Cluster API writes a Cluster often while an operation begins, so a Cluster that has changed is read again. */
const MAX_ATTEMPTS = 3;

export class Confirmer {
  readonly #options: ConfirmationOptions;
  readonly #reads: LiveReads;
  readonly #logFailure: Logger["error"];
  readonly #logUnread: Logger["warn"];

  constructor(options: ConfirmationOptions) {
    this.#options = options;
    this.#logFailure = rateLimited(options.log, "error");
    this.#logUnread = rateLimited(options.log);
    this.#reads = new LiveReads(options.reader, options.log);
  }

  /** Never rejects: the operator does not release what it cannot confirm. */
  async confirm(
    request: DecisionRequest,
    { rollouts, unstored = [], budgetMs = Infinity }: ConfirmOptions = {},
  ): Promise<Confirmation> {
    const { store, reader, ownBudgetMs = BUDGET_MS } = this.#options;
    const underWay = { share: store.decider.shareOf(request), over: false };
    try {
      const late: Confirmation = { ok: false, reason: "Timeout" };
      return await withinBudget(Math.min(budgetMs, ownBudgetMs), late, () =>
        this.#compare(
          { request, rollouts, unstored, underWay },
          store.decider.worldOf(request.cluster).namespace?.metadata.resourceVersion,
        ),
      );
    } catch (error) {
      const reason = error instanceof DefinitionReplaced ? "DefinitionChanging" : reader.reasonOf(error);
      this.#report(reason, error);
      return { ok: false, reason };
    } finally {
      underWay.over = true;
    }
  }

  #report(reason: string, error: unknown): void {
    const { log } = this.#options;
    // A bug, or gates whose objects take too many steps to find.
    if (reason === "InternalError") return this.#logFailure("Failed to confirm a decision", { error });
    const message = "Failed to read the present state";
    // Only users can cure these, and the error names what is missing or broken.
    if (reason === "Forbidden") log.warn(message, { error });
    else if (reason === "ApiServerUnavailable") this.#logUnread(message, { error });
    else log.debug(message, { error });
  }

  /**
   * If only policies, rollouts, Cluster and Namespace decide, all of them must have been so at one moment, that of the
   * snapshot: one consistent list and one round of reads are enough. A second list right after the first would take 100 ms:
   * the API server asks etcd how new its cache is, at most every 100 ms (storage/cacher/progress,
   * ConditionalProgressRequester).
   *
   * - The Cluster is read after that moment, and was so if its last write is not later: a resourceVersion is a revision of
   *   etcd, and Clusters are in the same etcd as policies (live-reads.ts).
   * - The Namespace may be in another etcd. It was so if it still has the version that memory had before, or an earlier
   *   attempt.
   *
   * If objects, overrides or other Namespaces matter, too, the policies, the Namespace and the Cluster are read again after
   * them: all were so in between. The same holds for all Namespaces if gates select some of them. Not detected: a policy
   * that is created and deleted in between, gates on objects that may never have been met at the same time, and a status
   * that changes in between if only gates of rollouts read it.
   */
  async #compare(
    asked: ConfirmationInput,
    earlier: string | undefined,
    attempts = MAX_ATTEMPTS,
  ): Promise<Confirmation> {
    const { request, rollouts, underWay } = asked;
    const { namespace: ns = "", uid } = request.cluster.metadata;
    const before = { began: performance.now(), at: this.#options.now(), known: this.#known(ns) };
    const version = earlier ?? (await this.#reads.namespace(underWay, ns)).metadata.resourceVersion;
    const first = await this.#reads.snapshot(underWay, request, rollouts !== undefined);
    // Memory tells which objects their gates look at, so this comes before the reads of these objects.
    const unknown = first.policies.filter((policy) => !this.#isKnown(policy, before.known));
    if (unknown.length > 0) return this.#notInMemory(unknown);
    if (rollouts?.hasAll(first.rollouts, first.at) === false)
      return { ok: false, reason: "RolloutNotInMemory" };
    if (first.cluster.metadata.uid !== uid) return { ok: false, reason: "ClusterReplaced" };
    const others = await this.#othersOf(asked, first);
    const again = others.matter ? await this.#again(asked, others) : first;
    const changed = whichChanged(request, others.matter ? versionOf(first.namespace) : version, again);
    if (changed !== undefined) {
      if (attempts > 1) return await this.#compare(asked, versionOf(again.namespace), attempts - 1);
      return { ok: false, reason: changed };
    }
    const decide = (): Confirmation =>
      underWay.over
        ? { ok: false, reason: "Timeout" }
        : this.#decide({ request, rollouts, before, others, first, again });
    return await this.#options.turns.run(underWay.share, decide);
  }

  #notInMemory(unknown: readonly LivePolicy[]): Confirmation {
    const { store, onStale } = this.#options;
    // Memory has been told of the specs that are being compiled, so listing them again would tell no more.
    const stale = unknown.filter(
      ({ kind, metadata: m }) => !store.compiles(policyKey(kind, m.namespace, m.name)),
    );
    if (stale.length > 0) onStale(new Set(stale.map(({ kind }) => kind)));
    return { ok: false, reason: "PolicyNotInMemory" };
  }

  async #othersOf(
    { request, unstored, underWay }: ConfirmationInput,
    { cluster, namespace }: Snapshot,
  ): Promise<OtherObjects> {
    const { store, now } = this.#options;
    const overrides = await this.#reads.overrides(underWay, store.overrides.ofCluster(cluster));
    const unread = { cluster, namespace, overrides, objects: NOTHING_READ };
    const elsewhere = this.#gates().some((gates) => gates.readsNamespaces(request, unread));
    const world = { ...unread, ...(await this.#reads.allNamespaces(underWay, elsewhere)) };
    const queries = this.#queries(request, world, now());
    const taskNamespaces = store.decider.taskNamespaces(request, world);
    const [objects, records] = await Promise.all([
      this.#reads.objects(underWay, queries),
      this.#reads.tasks(underWay, taskNamespaces, cluster),
    ]);
    const matter = elsewhere || queries.length + overrides.length + taskNamespaces.length > 0;
    const tasks = records && readerOf([...records, ...unstored]);
    return { overrides, elsewhere, queries, objects, ...(tasks !== undefined && { tasks }), matter };
  }

  #gates(): readonly GateReads[] {
    const { store, rollouts } = this.#options;
    return [store.decider, ...(rollouts === undefined ? [] : [rollouts])];
  }

  #queries(request: DecisionRequest, world: LiveWorld, now: Date): readonly ObjectQuery[] {
    return this.#gates().flatMap((gates) => gates.objectQueries(request, world, now));
  }

  async #again(
    { request, rollouts, underWay }: ConfirmationInput,
    { elsewhere }: OtherObjects,
  ): Promise<SecondSnapshot> {
    const [snapshot, namespaces] = await Promise.all([
      this.#reads.snapshot(underWay, request, rollouts !== undefined),
      this.#reads.allNamespaces(underWay, elsewhere),
    ]);
    return { ...snapshot, ...namespaces };
  }

  #decide({ request, rollouts, before, others, first, again }: ReadResults): Confirmation {
    const { store, reader, now } = this.#options;
    const changing = this.#changing({ rollouts, before, first, again });
    if (changing !== undefined) return { ok: false, reason: changing };
    const at = now();
    const { overrides, elsewhere, queries, objects, tasks } = others;
    const { cluster, namespace, namespaces } = again;
    const read = { ...(namespaces && { namespaces }), ...(tasks && { tasks }) };
    const world = { cluster, namespace, overrides, objects, ...read };
    const worldUnread = { ...world, objects: NOTHING_READ };
    if (elsewhere && !sameQueries(queries, this.#queries(request, worldUnread, at)))
      return { ok: false, reason: "NamespacesChanging" };
    const wrongClock = clockProblem(reader, at, before.began);
    if (wrongClock !== undefined) return { ok: false, reason: wrongClock };
    // If the clock was set back meanwhile, `before.at` is not before the reads.
    if (at < before.at) return { ok: false, reason: "ClockSkewed" };
    const decision = store.decider.decideLive(request, world, at, before.at);
    if (acts(decision) && !store.decider.isWanted(request, cluster))
      return { ok: false, reason: "NotWanted" };
    if (restsOnWait(decision) && store.decider.isBehind(world))
      return { ok: false, reason: "ClusterNotInMemory" };
    return { ok: true, decision };
  }

  /** The reason if something differs between the two reads, or from what memory knows. */
  #changing({ rollouts, before, first, again }: Omit<ReadResults, "request" | "others">): string | undefined {
    const { store } = this.#options;
    if (!samePolicies(first.policies, again.policies)) return "PoliciesChanging";
    // Memory as it is now must still have these policies, and every policy that it had before the reads.
    const areKnown = again.policies.every((policy) => this.#isKnown(policy, before.known));
    const { cluster } = first;
    if (!areKnown || !hasAll(this.#known(cluster.metadata.namespace ?? ""), before.known))
      return "PoliciesChanging";
    if (rollouts?.hasAll(again.rollouts, again.at) === false) return "RolloutNotInMemory";
    const withStatus = store.policies.readStatus;
    return sameCluster(cluster, again.cluster, { withStatus }) ? undefined : "ClusterChanging";
  }

  /**
   * A policy that only memory has can hold, but never release. A resource version below the one that memory had before the
   * reads means a restored etcd, where the same generation may be another spec. (The version in memory now is not
   * compared: this operator's own status write can overtake the answer to a list.)
   */
  #isKnown(
    { kind, metadata: { namespace, name, uid, generation, resourceVersion } }: LivePolicy,
    knownBefore: KnownMetadata,
  ): boolean {
    const key = policyKey(kind, namespace, name);
    const { store } = this.#options;
    const compiled = store.compiles(key) ? undefined : store.policies.get(key)?.compiled;
    if (compiled?.uid !== uid || compiled.generation !== generation) return false;
    const known = knownBefore.get(`${key} ${uid}`);
    return (
      known === undefined || (compareResourceVersions(resourceVersion, known.resourceVersion) ?? -1) >= 0
    );
  }

  /** The policies in memory that could apply, by key and uid. */
  #known(namespace: string): KnownMetadata {
    const { entries } = this.#options.store.policies.candidates(namespace);
    return new Map(
      entries.map(({ key, compiled: { uid }, object: { metadata } }) => [`${key} ${uid}`, metadata]),
    );
  }
}

const versionOf = ({ metadata }: Namespace): string => metadata.resourceVersion;

/**
 * The reason if something may have changed since the moment of the snapshot, and `undefined` if nothing has. `version`: of the
 * Namespace before that moment.
 */
function whichChanged(
  { admission }: DecisionRequest,
  version: string,
  { at, cluster: { metadata }, namespace }: Snapshot,
): string | undefined {
  const wasSo = admission === true || (compareResourceVersions(metadata.resourceVersion, at) ?? 1) <= 0;
  if (!wasSo) return "ClusterChanging";
  return version === versionOf(namespace) ? undefined : "NamespaceChanging";
}

/** Whether something follows from it: the Cluster is released, takes a slot, or tasks begin. */
function acts(decision: Decision): boolean {
  return !holdsBesideTasks(decision) || (decision.begins ?? []).length > 0;
}

/**
 * Whether the release, or the beginning of a task, rests on a wait: only memory knows that its gates were met without a
 * break.
 */
function restsOnWait(decision: Decision): boolean {
  return (
    !holdsBesideTasks(decision) &&
    decision.trace.some(({ mode, rules }) => mode === "Enforce" && rules.some(hasWaited))
  );
}

function hasWaited({ reason, tasks, timers }: RuleTrace): boolean {
  return (reason === "GatesHold" || tasks !== undefined) && timers?.gatesMetSince !== undefined;
}

type KnownMetadata = ReadonlyMap<string, ObjectMeta>;

function hasAll(now: KnownMetadata, before: KnownMetadata): boolean {
  return [...before].every(([key, { generation }]) => now.get(key)?.generation === generation);
}

/** Each selected namespace has its own queries. */
function sameQueries(before: readonly ObjectQuery[], again: readonly ObjectQuery[]): boolean {
  return JSON.stringify(before) === JSON.stringify(again);
}
