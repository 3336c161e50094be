/**
 * Confirms releases: before the operator releases a Cluster, reads that began after the call must agree with memory. This
 * makes a lagging, stalled or restarted replica harmless.
 */

import type { Logger } from "../api/logger.ts";
import type { Cluster, Namespace, ObjectMeta } from "../api/meta.ts";
import type { Confirmation, Decision, RuleTrace } from "../policy/decision.ts";
import { compareResourceVersions } from "../policy/cluster.ts";
import {
  type FoundObjects,
  type ObjectKind,
  objectKindKey,
  NOT_READ,
  NOTHING_READ,
  type ObjectReader,
  type WatchedObject,
} from "../policy/objects.ts";
import type { Override } from "../policy/override.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import type { LiveWorld } from "../policy/world.ts";
import { type CallTurns, shareOf } from "./callturns.ts";
import {
  type ConfirmationUnderWay,
  DefinitionReplaced,
  type LivePolicy,
  LiveReads,
  samePolicies,
  type Snapshot,
} from "./livereads.ts";
import { policyKey } from "./policyset.ts";
import { sameCluster } from "./samecluster.ts";
import { confirmedWithin } from "./timebudget.ts";
import type { DecisionStore } from "./decisionstore.ts";
import type { DecisionRequest, LiveReader } from "./ports.ts";
import type { PolicyKind } from "../policy/policyref.ts";

export interface ConfirmationOptions {
  readonly store: DecisionStore;
  readonly reader: LiveReader;
  /** The objects that must be read besides those of policies. */
  readonly alsoReads?: (request: DecisionRequest, world: LiveWorld) => readonly ObjectQuery[];
  /** Absent: the operator decides at once on what it has read. */
  readonly turns?: CallTurns;
  readonly log: Logger;
  readonly now: () => Date;
  /** Memory is behind with policies of these kinds: read them again. */
  readonly onStale: (kinds: ReadonlySet<PolicyKind>) => void;
  readonly budgetMs?: number;
}

/** What the HookRollouts in memory are compared with. */
export interface RolloutMemory {
  /** Called before the rollouts are read; the function tells whether memory has all that were read. */
  remember(): (live: readonly ObjectMeta[]) => boolean;
}

type ClusterAndNamespace = readonly [Cluster, Namespace];

/** The objects that may have to be read twice, to see that they have not changed. */
type Present = Snapshot<ClusterAndNamespace>;

interface PresentAgain extends Present, Pick<LiveWorld, "namespaces"> {}

/** A confirmation of one request. */
interface Asked {
  readonly request: DecisionRequest;
  readonly rollouts: RolloutMemory | undefined;
  readonly underWay: ConfirmationUnderWay;
}

/** The other objects that a decision may depend on. */
interface Others {
  readonly overrides: readonly Override[];
  readonly selecting: boolean;
  readonly queries: readonly ObjectQuery[];
  readonly objects: ObjectReader;
  /** Whether the decision depends on any of them. */
  readonly matter: boolean;
}

/** What memory had when the reads began. */
interface Before {
  /** As of performance.now(). */
  readonly began: number;
  readonly known: Known;
  readonly hasRollouts: ((live: readonly ObjectMeta[]) => boolean) | undefined;
}

interface AllRead {
  readonly request: DecisionRequest;
  readonly before: Before;
  readonly others: Others;
  readonly first: Present;
  readonly again: PresentAgain;
}

/** The largest tolerated difference between this clock and the API server's. */
const MAX_SKEW_MS = 10_000;
/** Together with the budget of rollouts.ts, well below the 10 s after which Cluster API gives up. */
const BUDGET_MS = 3000;
/** Cluster API writes a Cluster often while an operation begins, so a Cluster that has changed is read again. */
const MAX_ATTEMPTS = 3;

export class Confirmer {
  readonly #options: ConfirmationOptions;
  readonly #reads: LiveReads;

  constructor(options: ConfirmationOptions) {
    this.#options = options;
    this.#reads = new LiveReads(options.reader);
  }

  /**
   * Never rejects: the operator does not release what it cannot confirm. `rollouts`: they can hold the Cluster, too, so memory
   * must have all of them.
   */
  async confirm(request: DecisionRequest, rollouts?: RolloutMemory): Promise<Confirmation> {
    const { store, reader, log, budgetMs = BUDGET_MS } = this.#options;
    const underWay = { share: shareOf(request, store.answers), over: false };
    try {
      return await confirmedWithin(budgetMs, () =>
        this.#confirm({ request, rollouts, underWay }, this.#versionsInMemory(request)),
      );
    } catch (error) {
      const reason = error instanceof DefinitionReplaced ? "DefinitionChanging" : reader.reasonOf(error);
      // Only a user can grant what is missing, and the error names it.
      log[reason === "Forbidden" ? "warn" : "debug"]("Failed to read the present state", { error });
      return { ok: false, reason };
    } finally {
      underWay.over = true;
    }
  }

  /**
   * If only policies, rollouts, Cluster and Namespace decide, all of them must have been so at one moment, that of the
   * snapshot. The Cluster and the Namespace were so if they have the version after it that memory had before it, or an earlier
   * attempt: one consistent list and one round of reads then are enough. A second list right after the first would take
   * 100 ms: the API server asks etcd how new its cache is, at most every 100 ms (storage/cacher/progress,
   * ConditionalProgressRequester).
   *
   * If objects, overrides or other Namespaces matter, too, the policies, the Namespace and the Cluster are read again after
   * them: all were so in between. The same holds for all Namespaces if gates select some of them. Not detected: a policy
   * that is created and deleted in between, and objects whose gates never held at the same time.
   */
  async #confirm(
    asked: Asked,
    earlier: Versions | undefined,
    attempts = MAX_ATTEMPTS,
  ): Promise<Confirmation> {
    const { request, rollouts, underWay } = asked;
    const { namespace: ns = "", uid } = request.cluster.metadata;
    const before = {
      began: performance.now(),
      known: this.#known(ns),
      hasRollouts: rollouts?.remember(),
    };
    const versions = earlier ?? versionsOf(await this.#clusterAndNamespace(asked));
    const first = await this.#snapshot(asked);
    // Memory tells which objects their gates look at, so this comes before the reads of these objects.
    const unknown = first.policies.filter((policy) => !this.#isKnown(policy, before.known));
    if (unknown.length > 0) return this.#notInMemory(unknown);
    const [cluster] = first.meanwhile;
    if (cluster.metadata.uid !== uid) return { ok: false, reason: "ClusterReplaced" };
    const others = await this.#others(request, first.meanwhile, underWay);
    const changed = others.matter ? undefined : whichChanged(versions, first.meanwhile);
    if (changed !== undefined) {
      if (attempts > 1) return await this.#confirm(asked, versionsOf(first.meanwhile), attempts - 1);
      return { ok: false, reason: changed };
    }
    const again = others.matter ? await this.#again(asked, others) : first;
    const decide = (): Confirmation =>
      underWay.over
        ? { ok: false, reason: "Timeout" }
        : this.#decide({ request, before, others, first, again });
    const { turns } = this.#options;
    return turns === undefined ? decide() : await turns.run(underWay.share, decide);
  }

  async #snapshot(asked: Asked): Promise<Present> {
    const { request, rollouts, underWay } = asked;
    return await this.#reads.snapshot(underWay, {
      namespace: request.cluster.metadata.namespace ?? "",
      withRollouts: rollouts !== undefined,
      meanwhile: async () => await this.#clusterAndNamespace(asked),
    });
  }

  /** `undefined`: memory does not have both. A review contains its Cluster. */
  #versionsInMemory({ cluster: requested, admission }: DecisionRequest): Versions | undefined {
    const { cluster, namespace } = this.#options.store.answers.inMemory(requested);
    const known = admission === true ? requested : cluster;
    return known && namespace && versionsOf([known, namespace]);
  }

  async #clusterAndNamespace({
    request: { cluster, admission },
    underWay,
  }: Asked): Promise<ClusterAndNamespace> {
    const { namespace = "", name } = cluster.metadata;
    return await Promise.all([
      admission === true ? cluster : this.#reads.cluster(underWay, namespace, name),
      this.#reads.namespace(underWay, namespace),
    ]);
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

  async #others(
    request: DecisionRequest,
    [cluster, namespace]: ClusterAndNamespace,
    underWay: ConfirmationUnderWay,
  ): Promise<Others> {
    const { store, now, alsoReads } = this.#options;
    const overrides = await this.#overrides(underWay, cluster);
    const unread = { cluster, namespace, overrides, objects: NOTHING_READ };
    const selecting = store.answers.selectsNamespaces(request, unread);
    const world = { ...unread, ...(await this.#allNamespaces(underWay, selecting)) };
    const queries = [
      ...store.answers.objectQueries(request, world, now()),
      ...(alsoReads?.(request, world) ?? []),
    ];
    const objects = await this.#objects(underWay, queries);
    const matter = selecting || queries.length > 0 || overrides.length > 0;
    return { overrides, selecting, queries, objects, matter };
  }

  async #again(asked: Asked, { selecting }: Others): Promise<PresentAgain> {
    const [snapshot, namespaces] = await Promise.all([
      this.#snapshot(asked),
      this.#allNamespaces(asked.underWay, selecting),
    ]);
    return { ...snapshot, ...namespaces };
  }

  #decide({ request, before, others, first, again }: AllRead): Confirmation {
    const { store, reader, now } = this.#options;
    const changing = this.#changing({ before, first, again });
    if (changing !== undefined) return { ok: false, reason: changing };
    const at = now();
    const { overrides, selecting, queries, objects } = others;
    const [cluster, namespace] = first.meanwhile;
    const [clusterAgain] = again.meanwhile;
    const { namespaces } = again;
    const world = { cluster, namespace, overrides, objects, ...(namespaces && { namespaces }) };
    const worldUnread = { ...world, objects: NOTHING_READ };
    if (selecting && !sameQueries(queries, store.answers.objectQueries(request, worldUnread, at)))
      return { ok: false, reason: "NamespacesChanging" };
    const wrongClock = clockProblem(reader.clockAheadMs(at, before.began));
    if (wrongClock !== undefined) return { ok: false, reason: wrongClock };
    const decision = store.answers.decideLive(request, world, at);
    if (restsOnWait(decision) && store.answers.isBehind({ ...world, cluster: clusterAgain }))
      return { ok: false, reason: "ClusterNotInMemory" };
    return { ok: true, decision };
  }

  /** A word for what differs between the two reads, or from what memory knows. */
  #changing({ before, first, again }: Pick<AllRead, "before" | "first" | "again">): string | undefined {
    const { store } = this.#options;
    if (!samePolicies(first.policies, again.policies)) return "PoliciesChanging";
    // Memory as it is now must still have these policies, and every policy that it had before the reads.
    const areKnown = again.policies.every((policy) => this.#isKnown(policy, before.known));
    const [cluster, namespace] = first.meanwhile;
    const [clusterAgain, namespaceAgain] = again.meanwhile;
    if (!areKnown || !hasAll(this.#known(cluster.metadata.namespace ?? ""), before.known))
      return "PoliciesChanging";
    if (before.hasRollouts?.(again.rollouts) === false) return "RolloutNotInMemory";
    if (namespace.metadata.resourceVersion !== namespaceAgain.metadata.resourceVersion)
      return "NamespaceChanging";
    const withStatus = store.policies.haveExpressions;
    return sameCluster(cluster, clusterAgain, { withStatus }) ? undefined : "ClusterChanging";
  }

  /** A failed read affects the gates that select namespaces, and no policy that proceeds without them. */
  async #allNamespaces(
    underWay: ConfirmationUnderWay,
    needed: boolean,
  ): Promise<Pick<LiveWorld, "namespaces">> {
    if (!needed) return {};
    try {
      const read = await this.#reads.allNamespaces(underWay);
      return { namespaces: () => read };
    } catch (error) {
      this.#options.log.debug("Failed to read the Namespaces", { error });
      return {};
    }
  }

  /** The overrides in memory that still exist unchanged. An override that memory does not have could only release. */
  async #overrides(underWay: ConfirmationUnderWay, cluster: Cluster): Promise<readonly Override[]> {
    const known = this.#options.store.overrides.ofCluster(cluster);
    if (known.length === 0) return known;
    const live = await this.#reads.overrides(underWay);
    return known.filter(({ uid, generation }) =>
      live.some((override) => override.uid === uid && override.generation === generation),
    );
  }

  async #objects(underWay: ConfirmationUnderWay, queries: readonly ObjectQuery[]): Promise<ObjectReader> {
    const read = new Map<string, FoundObjects[]>();
    const unique = new Map(queries.map((query) => [JSON.stringify(query), query]));
    await Promise.all(
      [...unique.values()].map(async (query) => {
        const found = await this.#reads
          .objects(underWay, query)
          .catch((error: unknown) => this.#unreadable(query, error));
        const key = placeOf(query.kind, query.namespace);
        read.set(key, [...(read.get(key) ?? []), found]);
      }),
    );
    // Hundreds of gates may look at one place.
    const joined = new Map([...read].map(([place, parts]) => [place, join(parts)]));
    return { find: (kind, namespace) => joined.get(placeOf(kind, namespace)) ?? NOT_READ };
  }

  /** A failed read affects the gates that look at these objects, and no policy that proceeds without them. */
  #unreadable({ kind }: ObjectQuery, error: unknown): FoundObjects {
    this.#options.log.debug("Failed to read objects", { kind: objectKindKey(kind), error });
    return { ok: false, reason: "ObjectsUnreadable", message: "the objects could not be read just now" };
  }

  /**
   * A policy that only memory has can hold, but never release. A resource version below the one that memory had before the
   * reads means a restored etcd, where the same generation may be another spec. (The version in memory now is not
   * compared: this operator's own status write can overtake the answer to a list.)
   */
  #isKnown(
    { kind, metadata: { namespace, name, uid, generation, resourceVersion } }: LivePolicy,
    knownBefore: Known,
  ): boolean {
    const key = policyKey(kind, namespace, name);
    const entry = this.#options.store.policies.get(key);
    if (entry === undefined || entry.compiled.uid !== uid || entry.compiled.generation !== generation)
      return false;
    const known = knownBefore.get(`${key} ${uid}`);
    return (
      known === undefined || (compareResourceVersions(resourceVersion, known.resourceVersion) ?? -1) >= 0
    );
  }

  /** The policies in memory that could apply, by key and uid. */
  #known(namespace: string): Known {
    const { entries } = this.#options.store.policies.candidates(namespace);
    return new Map(
      entries.map(({ key, compiled: { uid }, object: { metadata } }) => [`${key} ${uid}`, metadata]),
    );
  }
}

/** The resource versions of a Cluster and its Namespace. */
type Versions = readonly [cluster: string, namespace: string];

function versionsOf([cluster, namespace]: ClusterAndNamespace): Versions {
  return [cluster.metadata.resourceVersion, namespace.metadata.resourceVersion];
}

function whichChanged([cluster, namespace]: Versions, now: ClusterAndNamespace): string | undefined {
  const [clusterNow, namespaceNow] = versionsOf(now);
  if (cluster !== clusterNow) return "ClusterChanging";
  return namespace === namespaceNow ? undefined : "NamespaceChanging";
}

function clockProblem(skew: number | undefined): string | undefined {
  if (skew === undefined) return "ClockUnknown";
  return Math.abs(skew) > MAX_SKEW_MS ? "ClockSkewed" : undefined;
}

/** Whether the release rests on a wait: only memory knows that its gates held without a break. */
function restsOnWait({ holds, trace }: Decision): boolean {
  return !holds && trace.some(({ mode, rules }) => mode === "Enforce" && rules.some(hasWaited));
}

function hasWaited({ reason, timers }: RuleTrace): boolean {
  return reason === "GatesHold" && timers?.gatesMetSince !== undefined;
}

type Known = ReadonlyMap<string, ObjectMeta>;

function hasAll(now: Known, before: Known): boolean {
  return [...before].every(([key, { generation }]) => now.get(key)?.generation === generation);
}

/** Each selected namespace has its own queries. */
function sameQueries(before: readonly ObjectQuery[], again: readonly ObjectQuery[]): boolean {
  return JSON.stringify(before) === JSON.stringify(again);
}

function placeOf(kind: ObjectKind, namespace: string): string {
  return `${objectKindKey(kind)} ${namespace}`;
}

/** Several gates can look at different objects of one kind; a whole object replaces its bare metadata. */
function join(parts: readonly FoundObjects[]): FoundObjects {
  const failed = parts.find(({ ok }) => !ok);
  if (failed !== undefined) return failed;
  const found = parts.filter((part) => part.ok);
  const [first] = found;
  if (first === undefined) return NOT_READ;
  const objects = new Map<string, WatchedObject>();
  for (const object of found.flatMap((part) => part.objects)) {
    const { uid } = object.metadata;
    if (object.raw !== undefined || !objects.has(uid)) objects.set(uid, object);
  }
  return { ok: true, namespaced: first.namespaced, objects: [...objects.values()] };
}
