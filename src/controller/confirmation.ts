/**
 * "Memory may say not yet; only the present may say go": before the operator releases a Cluster, reads that began
 * after the call must agree with memory. This makes a lagging, stalled or restarted replica harmless.
 */

import type { Logger } from "../api/logger.ts";
import type { Cluster, ObjectMeta } from "../api/meta.ts";
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
import { type ConfirmationUnderWay, LiveReads } from "./livereads.ts";
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

/** The largest tolerated difference between this clock and the API server's. */
const MAX_SKEW_MS = 10_000;
/** With that of rollouts.ts well below the 10 s after which Cluster API gives up. */
const BUDGET_MS = 3000;

export class Confirmer {
  readonly #options: ConfirmationOptions;
  readonly #reads: LiveReads;

  constructor(options: ConfirmationOptions) {
    this.#options = options;
    this.#reads = new LiveReads(options.reader);
  }

  /** Never rejects: the operator does not release what it cannot confirm. */
  async confirm(request: DecisionRequest): Promise<Confirmation> {
    const { reader, log, budgetMs = BUDGET_MS } = this.#options;
    const underWay = this.#underWayFor(request);
    try {
      return await confirmedWithin(budgetMs, () => this.#confirm(request, underWay));
    } catch (error) {
      log.debug("Failed to read the present state", { error });
      return { ok: false, reason: reader.reasonOf(error) };
    } finally {
      underWay.over = true;
    }
  }

  #underWayFor(request: DecisionRequest): ConfirmationUnderWay {
    return { share: shareOf(request, this.#options.store.answers), over: false };
  }

  /**
   * Several reads are no snapshot. Policies and Namespace are therefore read twice, around all other reads: what is
   * the same in both was so in between, when the Cluster was read. (A policy that moves from one kind to the other, by
   * applying the new one and pruning the old, shows in at least one of the reads, or they differ.) Where objects or
   * overrides decide, the Cluster is read twice, too: they and it may never have been true at the same time. So are all
   * Namespaces, where gates select some of them. Not detected: a policy that is created and deleted in between, and objects that change one against the other.
   */
  async #confirm(request: DecisionRequest, underWay: ConfirmationUnderWay): Promise<Confirmation> {
    const { store, reader, now } = this.#options;
    const began = performance.now();
    const { namespace = "", name, uid } = request.cluster.metadata;
    const before = this.#known(namespace);
    const [policies, ns] = await Promise.all([
      this.#policiesOf(underWay, namespace),
      this.#reads.namespace(underWay, namespace),
    ]);
    // This comes before the reads for their gates, because memory tells which objects those are.
    const unknown = policies.filter((policy) => !this.#isKnown(policy, before));
    if (unknown.length > 0) {
      // Memory has been told of the specs that are being compiled, so listing them again would tell no more.
      const stale = unknown.filter(
        ({ kind, metadata: m }) => !store.compiles(policyKey(kind, m.namespace, m.name)),
      );
      if (stale.length > 0) this.#options.onStale(new Set(stale.map(({ kind }) => kind)));
      return { ok: false, reason: "PolicyNotInMemory" };
    }
    const isRead = request.admission !== true;
    const cluster = isRead ? await this.#reads.cluster(underWay, namespace, name) : request.cluster;
    if (cluster.metadata.uid !== uid) return { ok: false, reason: "ClusterReplaced" };
    const overrides = await this.#overrides(underWay, cluster);
    const unread = { cluster, namespace: ns, overrides, objects: NOTHING_READ };
    const selecting = store.answers.selectsNamespaces(request, unread);
    const world = { ...unread, ...(await this.#allNamespaces(underWay, selecting)) };
    const queries = [
      ...store.answers.objectQueries(request, world, now()),
      ...(this.#options.alsoReads?.(request, world) ?? []),
    ];
    const objects = await this.#objects(underWay, queries);
    const decidesAlone = !isRead || (queries.length === 0 && overrides.length === 0);
    const [again, nsAgain, clusterAgain, namespacesAgain] = await Promise.all([
      this.#policiesOf(underWay, namespace),
      this.#reads.namespace(underWay, namespace),
      decidesAlone ? cluster : this.#reads.cluster(underWay, namespace, name),
      this.#allNamespaces(underWay, selecting),
    ]);
    const worldAgain = { ...unread, ...namespacesAgain };
    const decide = (): Confirmation => {
      if (underWay.over) return { ok: false, reason: "Timeout" };
      if (identities(policies) !== identities(again)) return { ok: false, reason: "PoliciesChanging" };
      // Memory as it is now decides about these policies, and about all that it knew before.
      const areKnown = again.every((policy) => this.#isKnown(policy, before));
      if (!areKnown || !hasAll(this.#known(namespace), before))
        return { ok: false, reason: "PoliciesChanging" };
      if (ns.metadata.resourceVersion !== nsAgain.metadata.resourceVersion)
        return { ok: false, reason: "NamespaceChanging" };
      if (!sameCluster(cluster, clusterAgain, { withStatus: store.policies.haveExpressions }))
        return { ok: false, reason: "ClusterChanging" };
      const at = now();
      if (selecting && !sameQueries(queries, store.answers.objectQueries(request, worldAgain, at)))
        return { ok: false, reason: "NamespacesChanging" };
      const wrongClock = clockProblem(reader.clockAheadMs(at, began));
      if (wrongClock !== undefined) return { ok: false, reason: wrongClock };
      const decision = store.answers.decideLive(request, { ...worldAgain, objects }, at);
      if (restsOnWait(decision) && store.answers.isBehind({ ...worldAgain, cluster: clusterAgain }))
        return { ok: false, reason: "ClusterNotInMemory" };
      return { ok: true, decision };
    };
    const { turns } = this.#options;
    return turns === undefined ? decide() : await turns.run(underWay.share, decide);
  }

  /** As with objects, a failed read affects the gates that select namespaces, and no policy that proceeds without them. */
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

  /** The overrides in memory that still exist unchanged: one that memory does not have could only release. */
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
   * A policy that memory has and the API server does not have can only hold, never release. A resource version below
   * the one that memory had before the reads means a restored etcd, where the same generation may be another spec.
   * (The version of now is not compared: this operator's own status write can overtake the answer to a list.)
   */
  #isKnown(
    { kind, metadata: { namespace, name, uid, generation, resourceVersion } }: LivePolicy,
    before: Known,
  ): boolean {
    const key = policyKey(kind, namespace, name);
    const entry = this.#options.store.policies.get(key);
    if (entry === undefined || entry.compiled.uid !== uid || entry.compiled.generation !== generation)
      return false;
    const known = before.get(`${key} ${uid}`);
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

  /** All policies that could apply to Clusters of the namespace. */
  async #policiesOf(underWay: ConfirmationUnderWay, namespace: string): Promise<readonly LivePolicy[]> {
    const [own, clusterWide] = await Promise.all([
      this.#reads.hookPolicies(underWay, namespace),
      this.#reads.clusterHookPolicies(underWay),
    ]);
    return [...livePolicies("HookPolicy", own), ...livePolicies("ClusterHookPolicy", clusterWide)];
  }
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

interface LivePolicy {
  readonly kind: PolicyKind;
  readonly metadata: ObjectMeta;
}

function livePolicies(kind: PolicyKind, live: readonly ObjectMeta[]): LivePolicy[] {
  return live.map((metadata) => ({ kind, metadata }));
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

/** Several gates can look at different objects of one kind; whole objects come before their bare metadata. */
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

function identities(policies: readonly LivePolicy[]): string {
  return policies
    .map(({ kind, metadata: { namespace, name, uid, generation } }) =>
      [kind, namespace, name, uid, generation].join(" "),
    )
    .toSorted()
    .join("\n");
}
