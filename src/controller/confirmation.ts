/**
 * "Memory may say not yet; only the present may say go": before a Cluster is released, reads that began
 * after the call must agree with memory. It is what makes a lagging, stalled or restarted replica harmless.
 */

import type { Logger } from "../api/logger.ts";
import type { Cluster, Namespace, ObjectMeta } from "../api/meta.ts";
import type { Confirmation } from "../policy/decision.ts";
import { compareResourceVersions } from "../policy/cluster.ts";
import {
  type FoundObjects,
  type ObjectKind,
  objectKindKey,
  type ObjectReader,
  type WatchedObject,
} from "../policy/objects.ts";
import type { Override } from "../policy/override.ts";
import type { ObjectQuery, PolicyKind } from "../policy/policy.ts";
import { policyKey } from "./policyset.ts";
import { sameCluster } from "./samecluster.ts";
import type { AskRequest, DecisionStore } from "./store.ts";

/** Consistent reads (no resourceVersion) of the API server; each rejects when it cannot be answered. */
export interface LiveReader {
  /** Metadata of the ClusterHookPolicies, or of the HookPolicies of a namespace. */
  policies(kind: PolicyKind, namespace: string | undefined): Promise<readonly ObjectMeta[]>;
  cluster(namespace: string, name: string): Promise<Cluster>;
  namespace(name: string): Promise<Namespace>;
  /** Metadata of the HookOverrides. */
  overrides(): Promise<readonly ObjectMeta[]>;
  objects(query: ObjectQuery): Promise<FoundObjects>;
  /** A word for why a read failed, such as "Forbidden": bounded, it becomes a metric's label. */
  reasonOf(error: unknown): string;
}

export interface ConfirmationOptions {
  readonly store: DecisionStore;
  readonly reader: LiveReader;
  readonly log: Logger;
  readonly now: () => Date;
  /** Memory turned out to be behind: read everything again. */
  readonly onStale: () => void;
  readonly budgetMs?: number;
}

/** Well below the 10 s after which Cluster API gives up. */
const BUDGET_MS = 3000;

export class Confirmer {
  readonly #options: ConfirmationOptions;
  readonly #reads = new Map<string, SharedRead<readonly ObjectMeta[]>>();
  #overrideReads: SharedRead<readonly ObjectMeta[]> | undefined;

  constructor(options: ConfirmationOptions) {
    this.#options = options;
  }

  /** Never rejects: what cannot be confirmed is not a go. */
  async confirm(request: AskRequest): Promise<Confirmation> {
    const { reader, log, budgetMs = BUDGET_MS } = this.#options;
    const timeout = Promise.withResolvers<Confirmation>();
    const timer = setTimeout(() => timeout.resolve({ ok: false, reason: "Timeout" }), budgetMs);
    try {
      return await Promise.race([this.#confirm(request), timeout.promise]);
    } catch (error) {
      log.debug("Failed to read the present state", { error });
      return { ok: false, reason: reader.reasonOf(error) };
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Several reads are no snapshot. Policies and Namespace are therefore read twice, around all else: what is the same in
   * both reads was so in between, when the Cluster was read. (A policy that moves from one kind to the other, apply the
   * new and prune the old, shows in one of the reads at least, or they differ.) In the same way the Cluster, where
   * objects or overrides decide, too: it and they may never have been good at a time. Not told apart from a moment:
   * a policy that is created and deleted in between, and objects that change one against the other.
   */
  async #confirm(request: AskRequest): Promise<Confirmation> {
    const { store, reader, now } = this.#options;
    const { namespace = "", name, uid } = request.cluster.metadata;
    const before = this.#known(namespace);
    const [policies, ns] = await Promise.all([this.#policiesOf(namespace), reader.namespace(namespace)]);
    // Before anything is read for them: memory tells what that is.
    if (!policies.every((policy) => this.#isKnown(policy, before))) {
      this.#options.onStale();
      return { ok: false, reason: "PolicyNotInMemory" };
    }
    const cluster = await reader.cluster(namespace, name);
    if (cluster.metadata.uid !== uid) return { ok: false, reason: "ClusterReplaced" };
    const overrides = await this.#overrides(cluster);
    const world = { cluster, namespace: ns, overrides, objects: NOTHING_READ };
    const queries = store.objectQueries(request, world, now());
    const objects = await this.#objects(queries);
    const decidesAlone = queries.length === 0 && overrides.length === 0;
    const [again, nsAgain, clusterAgain] = await Promise.all([
      this.#policiesOf(namespace),
      reader.namespace(namespace),
      decidesAlone ? cluster : reader.cluster(namespace, name),
    ]);
    if (identities(policies) !== identities(again)) return { ok: false, reason: "PoliciesChanging" };
    // Memory as it is now decides: of those, and of all that it knew before.
    const areKnown = again.every((policy) => this.#isKnown(policy, before));
    if (!areKnown || !hasAll(this.#known(namespace), before))
      return { ok: false, reason: "PoliciesChanging" };
    if (ns.metadata.resourceVersion !== nsAgain.metadata.resourceVersion)
      return { ok: false, reason: "NamespaceChanging" };
    if (!sameCluster(cluster, clusterAgain, { withStatus: store.policies.haveExpressions }))
      return { ok: false, reason: "ClusterChanging" };
    return { ok: true, decision: store.decideLive(request, { ...world, objects }, now()) };
  }

  /** Those in memory that are still there and the same: one that memory does not have could only release. */
  async #overrides(cluster: Cluster): Promise<readonly Override[]> {
    const { store, reader } = this.#options;
    const known = store.overrides.ofCluster(cluster);
    if (known.length === 0) return known;
    this.#overrideReads ??= new SharedRead(() => reader.overrides());
    const live = await this.#overrideReads.read();
    return known.filter(({ uid, generation }) =>
      live.some((override) => override.uid === uid && override.generation === generation),
    );
  }

  async #objects(queries: readonly ObjectQuery[]): Promise<ObjectReader> {
    const { reader } = this.#options;
    const read = new Map<string, FoundObjects[]>();
    const unique = new Map(queries.map((query) => [JSON.stringify(query), query]));
    await Promise.all(
      [...unique.values()].map(async (query) => {
        const found = await reader.objects(query).catch((error: unknown) => this.#unreadable(query, error));
        const key = placeOf(query.kind, query.namespace);
        read.set(key, [...(read.get(key) ?? []), found]);
      }),
    );
    return { find: (kind, namespace) => join(read.get(placeOf(kind, namespace)) ?? []) };
  }

  /** Concerns the gates that look at them, and no policy that goes on without them. */
  #unreadable({ kind }: ObjectQuery, error: unknown): FoundObjects {
    this.#options.log.debug("Failed to read objects", { kind: objectKindKey(kind), error });
    return { ok: false, reason: "ObjectsUnreadable", message: "the objects could not be read just now" };
  }

  /**
   * A policy that memory has and the API server has not can only hold, never release. A resource version
   * below the one that memory had before the reads tells of a restored etcd, where the same generation may be
   * another spec. (Not below the one of now: our own write of the status can overtake the answer to a list.)
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

  /** What memory knows of the policies that could apply, by key and uid. */
  #known(namespace: string): Known {
    const { entries } = this.#options.store.policies.candidates(namespace);
    return new Map(
      entries.map(({ key, compiled: { uid }, object: { metadata } }) => [`${key} ${uid}`, metadata]),
    );
  }

  /** All that could apply to Clusters of the namespace. */
  async #policiesOf(namespace: string): Promise<readonly LivePolicy[]> {
    const ofKind = async (kind: PolicyKind, within?: string): Promise<LivePolicy[]> =>
      (await this.#policies(kind, within)).map((metadata) => ({ kind, metadata }));
    const read = [ofKind("HookPolicy", namespace), ofKind("ClusterHookPolicy")];
    return (await Promise.all(read)).flat();
  }

  #policies(kind: PolicyKind, namespace: string | undefined): Promise<readonly ObjectMeta[]> {
    const key = namespace ?? "";
    const read = this.#reads.get(key) ?? new SharedRead(() => this.#options.reader.policies(kind, namespace));
    this.#reads.set(key, read);
    return read.read().finally(() => {
      if (read.idle) this.#reads.delete(key);
    });
  }
}

interface LivePolicy {
  readonly kind: PolicyKind;
  readonly metadata: ObjectMeta;
}

type Known = ReadonlyMap<string, ObjectMeta>;

function hasAll(now: Known, before: Known): boolean {
  return [...before].every(([key, { generation }]) => now.get(key)?.generation === generation);
}

const NOT_READ: FoundObjects = { ok: false, reason: "ObjectsNotRead", message: "the objects were not read" };
const NOTHING_READ: ObjectReader = { find: () => NOT_READ };

function placeOf(kind: ObjectKind, namespace: string): string {
  return `${objectKindKey(kind)} ${namespace}`;
}

/** Several gates can look at different objects of one kind; whole objects come before their metadata alone. */
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

/** Every caller gets a read that began after its call; callers that wait share the next one. */
export class SharedRead<T> {
  readonly #start: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(start: () => Promise<T>) {
    this.#start = start;
  }

  get idle(): boolean {
    return this.#running === undefined && this.#next === undefined;
  }

  read(): Promise<T> {
    if (this.#running === undefined) return this.#run();
    this.#next ??= this.#running.then(
      () => this.#runNext(),
      () => this.#runNext(),
    );
    return this.#next;
  }

  #runNext(): Promise<T> {
    this.#next = undefined;
    return this.#run();
  }

  #run(): Promise<T> {
    const running = this.#start().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
