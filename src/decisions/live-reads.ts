/**
 * The reads that confirmations need. Confirmations that wait for the same read share it, and it begins after each of them
 * asked for it. Namespaces share the places for reads fairly, and so do the Clusters of a namespace: a flood of calls about
 * some Clusters delays no confirmation about others.
 */

import { namespacedName } from "../lib/keys.ts";
import type { ServerTime } from "../lib/clock-skew.ts";
import type { Logger } from "../lib/logger.ts";
import type { Cluster, Namespace, ObjectMeta } from "../api/meta.ts";
import {
  type FoundObjects,
  NOT_READ,
  type ObjectKind,
  objectKindKey,
  type ObjectReader,
  type WatchedObject,
} from "../policy/watched-objects.ts";
import type { DecisionRequest, LiveWorld, Override } from "../policy/world.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import type { HolderRef, PolicyKind } from "../policy/policy-ref.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import { FairTurns, type Turn } from "../turns/fair-queue.ts";
import type { CallShare } from "../turns/turns.ts";

/** Metadata of all policies of a kind, as they were at `resourceVersion`. */
export interface PolicyList {
  readonly resourceVersion: string;
  readonly items: readonly ObjectMeta[];
}

/**
 * What a release needs to read before it, by adapters/api-server.ts: quorum reads (no resourceVersion) of the API server. Each rejects
 * when it cannot be answered.
 */
export interface LiveReader extends ServerTime {
  /**
   * The ClusterHookPolicies, or the HookPolicies of a namespace; `at`: as they were at this resourceVersion, which may come
   * from a list of another kind. A definition that is being deleted may have taken them with it: see `definition`.
   */
  policies(kind: PolicyKind, namespace: string | undefined, at?: string): Promise<PolicyList>;
  /** Metadata of all HookRollouts as they were at this resourceVersion, which may come from a list of another kind. */
  rollouts(at: string): Promise<readonly ObjectMeta[]>;
  /**
   * The uid of the kind's CustomResourceDefinition; rejects if it is being deleted. Objects of the kind that were listed
   * are all there were if the uid was the same before the list, and is the same in a read that begins after it.
   */
  definition(kind: HolderRef["kind"]): Promise<string>;
  cluster(namespace: string, name: string): Promise<Cluster>;
  namespace(name: string): Promise<Namespace>;
  /** Metadata of all Namespaces. */
  namespaces(): Promise<readonly Namespace[]>;
  /** Metadata of the HookOverrides. */
  overrides(): Promise<readonly ObjectMeta[]>;
  objects(query: ObjectQuery): Promise<FoundObjects>;
  /** The HookTasks of a Cluster in the namespace of a ServiceAccount. */
  tasks(namespace: string, clusterUID: string): Promise<readonly TaskRecord[]>;
  /** The reason label of a failed read in metrics, such as "Forbidden": one of few. */
  reasonOf(error: unknown): string;
}

export interface ConfirmationUnderWay {
  readonly share: CallShare;
  /** Whether the caller no longer waits for the result. */
  over: boolean;
}

export interface LivePolicy {
  readonly kind: PolicyKind;
  readonly metadata: ObjectMeta;
}

/** What can hold a Cluster, as it was at one moment. */
export interface Snapshot {
  /** The resourceVersion of that moment. */
  readonly at: string;
  readonly policies: readonly LivePolicy[];
  /** Metadata of the rollouts, if they were asked for. */
  readonly rollouts: readonly ObjectMeta[];
  /** Read from that moment on. A review contains its Cluster. */
  readonly cluster: Cluster;
  readonly namespace: Namespace;
}

/** Another CustomResourceDefinition has the name of one of the kinds. */
export class DefinitionReplaced extends Error {}

/** Below the number of connections for requests (kube/transport.ts), which statuses, Events and the Lease need, too. */
const PLACES = 12;

type DefinedKind = HolderRef["kind"];

const KINDS: readonly DefinedKind[] = ["HookPolicy", "ClusterHookPolicy", "HookRollout"];

/** No namespace has this name. */
const ALL_NAMESPACES = "*";

/** Namespaces share the places, and within each its Clusters, and the reads that all of them need. */
type Share = readonly [group: string, member: string];

const clusterMember = (name: string): string => `Cluster ${name}`;

/** A read that has not begun, as FairTurns queues it. */
interface WaitingRead extends Turn {
  readonly confirmations: ConfirmationUnderWay[];
  readonly answer: Promise<unknown>;
}

export class LiveReads {
  readonly #reader: LiveReader;
  readonly #log: Logger;
  readonly #turns: FairTurns;
  readonly #waiting = new Map<string, WaitingRead>();
  /** The uid of each definition, for the next snapshot, which then needs no read before its lists. */
  readonly #defined = new Map<DefinedKind, string>();

  constructor(reader: LiveReader, log: Logger, places = PLACES) {
    this.#reader = reader;
    this.#log = log;
    this.#turns = new FairTurns(places);
  }

  /**
   * All policies that can apply to the Cluster, and all rollouts, as they were at one moment since this call:
   * that of the list of ClusterHookPolicies, as whose version the other kinds are listed. The versions of all kinds are
   * revisions of one etcd: --etcd-servers-overrides is only for built-in resources. Rejects with DefinitionReplaced if one
   * was replaced, which may have taken its objects with it.
   */
  async snapshot(
    underWay: ConfirmationUnderWay,
    { cluster: asked, admission }: DecisionRequest,
    withRollouts: boolean,
  ): Promise<Snapshot> {
    const { namespace: ns = "", name } = asked.metadata;
    const kinds = KINDS.filter((kind) => withRollouts || kind !== "HookRollout");
    const before = kinds.every((kind) => this.#defined.has(kind))
      ? kinds.map((kind) => this.#defined.get(kind))
      : await this.#definitions(underWay, kinds);
    const clusterWide = await this.#ofAll(underWay, "ClusterHookPolicy", () =>
      this.#reader.policies("ClusterHookPolicy", undefined),
    );
    const at = clusterWide.resourceVersion;
    const [own, rollouts, after, cluster, namespace] = await Promise.all([
      this.#ofNamespace(underWay, "HookPolicy", `${ns} ${at}`, () =>
        this.#reader.policies("HookPolicy", ns, at),
      ),
      withRollouts ? this.#ofAll(underWay, "HookRollout", () => this.#reader.rollouts(at), at) : [],
      this.#definitions(underWay, kinds),
      admission === true ? asked : this.cluster(underWay, ns, name),
      this.namespace(underWay, ns),
    ]);
    if (after.some((uid, place) => uid !== before[place]))
      throw new DefinitionReplaced("a CustomResourceDefinition was replaced");
    const policies = [...livePolicies("HookPolicy", own), ...livePolicies("ClusterHookPolicy", clusterWide)];
    return { at, policies, rollouts, cluster, namespace };
  }

  async #definitions(
    underWay: ConfirmationUnderWay,
    kinds: readonly DefinedKind[],
  ): Promise<readonly string[]> {
    return await Promise.all(
      kinds.map(async (kind) => {
        const uid = await this.#ofAll(underWay, `definition of ${kind}`, () => this.#reader.definition(kind));
        this.#defined.set(kind, uid);
        return uid;
      }),
    );
  }

  namespace(underWay: ConfirmationUnderWay, name: string): Promise<Namespace> {
    return this.#ofNamespace(underWay, "Namespace", name, () => this.#reader.namespace(name));
  }

  cluster(underWay: ConfirmationUnderWay, namespace: string, name: string): Promise<Cluster> {
    return this.#ofCluster(underWay, `Cluster ${namespacedName({ namespace, name })}`, () =>
      this.#reader.cluster(namespace, name),
    );
  }

  /** A failed read affects the gates that look into other namespaces, and no policy that proceeds without them. */
  async allNamespaces(
    underWay: ConfirmationUnderWay,
    needed: boolean,
  ): Promise<Pick<LiveWorld, "namespaces">> {
    if (!needed) return {};
    try {
      const read = await this.#ofAll(underWay, "Namespace", () => this.#reader.namespaces());
      const byName = new Map(read.map((namespace) => [namespace.metadata.name, namespace]));
      return { namespaces: { get: (name) => byName.get(name), list: () => read } };
    } catch (error) {
      this.#log.debug("Failed to read the Namespaces", { error });
      return {};
    }
  }

  /**
   * Those that still exist unchanged; one that is being deleted has another generation. `known`: those in memory; one that
   * memory does not have could only release.
   */
  async overrides(underWay: ConfirmationUnderWay, known: readonly Override[]): Promise<readonly Override[]> {
    if (known.length === 0) return known;
    const live = await this.#ofAll(underWay, "HookOverride", () => this.#reader.overrides());
    return known.filter(({ uid, generation }) =>
      live.some((override) => override.uid === uid && override.generation === generation),
    );
  }

  /** A failed read affects the rules with tasks, and no policy that proceeds without them. */
  async tasks(
    underWay: ConfirmationUnderWay,
    namespaces: readonly string[],
    { metadata: { uid } }: Cluster,
  ): Promise<readonly TaskRecord[] | undefined> {
    try {
      const reads = namespaces.map((namespace) =>
        this.#ofCluster(underWay, `tasks ${namespace} ${uid}`, () => this.#reader.tasks(namespace, uid)),
      );
      return (await Promise.all(reads)).flat();
    } catch (error) {
      this.#log.debug("Failed to read the HookTasks", { error });
      return undefined;
    }
  }

  /** What no query has asked for is not read, and not absent: a gate may have changed since its queries were known. */
  async objects(underWay: ConfirmationUnderWay, queries: readonly ObjectQuery[]): Promise<ObjectReader> {
    const unique = new Map(queries.map((query) => [JSON.stringify(query), query]));
    const read = await Promise.all(
      [...unique].map(async ([key, query]) => {
        const found = await this.#ofCluster(underWay, `objects ${key}`, () =>
          this.#reader.objects(query),
        ).catch((error: unknown) => this.#unreadable(query, error));
        return { place: placeOf(query.kind, query.namespace), found };
      }),
    );
    // Hundreds of gates may look at one place.
    const byPlace = Map.groupBy(read, ({ place }) => place);
    const joined = new Map(
      [...byPlace].map(([place, parts]) => [place, join(parts.map(({ found }) => found))]),
    );
    const asked = new Set(
      queries.map(({ kind, namespace, name = "" }) => `${placeOf(kind, namespace)} ${name}`),
    );
    const find: ObjectReader["find"] = (kind, namespace, look) => {
      const place = placeOf(kind, namespace);
      const isAsked =
        look === undefined || asked.has(`${place} `) || asked.has(`${place} ${look.name ?? ""}`);
      return (isAsked ? joined.get(place) : undefined) ?? NOT_READ;
    };
    return { find };
  }

  /** A failed read affects the gates that look at these objects, and no policy that proceeds without them. */
  #unreadable({ kind }: ObjectQuery, error: unknown): FoundObjects {
    this.#log.debug("Failed to read objects", { kind: objectKindKey(kind), error });
    return { ok: false, reason: "ObjectsUnreadable", message: "the objects could not be read just now" };
  }

  /** What all namespaces need. */
  #ofAll<T>(underWay: ConfirmationUnderWay, what: string, start: () => Promise<T>, at = ""): Promise<T> {
    return this.#read(underWay, [ALL_NAMESPACES, what], `${what} ${at}`, start);
  }

  /** What all Clusters of the namespace need. */
  #ofNamespace<T>(
    underWay: ConfirmationUnderWay,
    kind: string,
    which: string,
    start: () => Promise<T>,
  ): Promise<T> {
    const { namespace, cluster } = underWay.share;
    const member = cluster === "" ? clusterMember("") : `all ${kind}`;
    return this.#read(underWay, [namespace, member], `${kind} of ${which}`, start);
  }

  #ofCluster<T>(underWay: ConfirmationUnderWay, key: string, start: () => Promise<T>): Promise<T> {
    const { namespace, cluster } = underWay.share;
    return this.#read(underWay, [namespace, clusterMember(cluster)], key, start);
  }

  #read<T>(underWay: ConfirmationUnderWay, share: Share, key: string, start: () => Promise<T>): Promise<T> {
    if (underWay.over) return Promise.reject(new Error("the confirmation is over"));
    const waiting = this.#waiting.get(key) ?? this.#wait(key, start);
    waiting.confirmations.push(underWay);
    this.#turns.queue(...share, waiting);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- reads of one key have one type
    return waiting.answer as Promise<T>;
  }

  #wait(key: string, start: () => Promise<unknown>): WaitingRead {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const confirmations: ConfirmationUnderWay[] = [];
    let hasBegun = false;
    const drop = (): void => {
      if (this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
    const begin = (): Promise<unknown> => {
      hasBegun = true;
      drop(); // later requests need another read
      const reading = start();
      resolve(reading);
      return reading;
    };
    const over = (): boolean => hasBegun || confirmations.every((each) => each.over);
    const waiting = { confirmations, answer: promise, over, begin, drop };
    this.#waiting.set(key, waiting);
    return waiting;
  }
}

function livePolicies(kind: PolicyKind, { items }: PolicyList): readonly LivePolicy[] {
  return items.map((metadata) => ({ kind, metadata }));
}

/** The same specs of the same policies; a status does not count. */
export function samePolicies(a: readonly LivePolicy[], b: readonly LivePolicy[]): boolean {
  return identities(a) === identities(b);
}

function identities(policies: readonly LivePolicy[]): string {
  return policies
    .map(({ kind, metadata: { namespace, name, uid, generation } }) =>
      [kind, namespace, name, uid, generation].join(" "),
    )
    .toSorted()
    .join("\n");
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
