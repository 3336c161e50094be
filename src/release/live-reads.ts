/**
 * The reads that confirmations need. Confirmations that wait for the same read share it, and it begins after each of them
 * asked for it. Namespaces share the places for reads fairly, and so do the Clusters of a namespace: a flood of calls about
 * some Clusters delays no confirmation about others.
 */

import { namespacedName } from "../lib/keys.ts";
import type { Cluster, Namespace, ObjectMeta } from "../api/meta.ts";
import type { FoundObjects } from "../policy/objects.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { HolderRef, PolicyKind } from "../policy/policy-ref.ts";
import { FairTurns, type Turn } from "../turns/fair-queue.ts";
import type { CallShare } from "../turns/call-turns.ts";
import type { LiveReader, PolicyList } from "../memory/ports.ts";

/** A confirmation that is under way. */
export interface ConfirmationUnderWay {
  readonly share: CallShare;
  /** Whether the caller no longer waits for the result. */
  over: boolean;
}

export interface LivePolicy {
  readonly kind: PolicyKind;
  readonly metadata: ObjectMeta;
}

/** What can hold the Clusters of a namespace, as it was at one moment. */
export interface Snapshot<T> {
  /** The resourceVersion of that moment. */
  readonly at: string;
  readonly policies: readonly LivePolicy[];
  /** Metadata of the rollouts, if they were asked for. */
  readonly rollouts: readonly ObjectMeta[];
  /** What else was read, from that moment on. */
  readonly meanwhile: T;
}

interface SnapshotOptions<T> {
  readonly namespace: string;
  readonly withRollouts: boolean;
  readonly meanwhile: () => Promise<T>;
}

/** Another CustomResourceDefinition has the name of one of the kinds. */
export class DefinitionReplaced extends Error {}

/** Below the number of connections for requests (kube/transport.ts), which statuses, Events and the Lease need, too. */
const PLACES = 12;

type DefinedKind = HolderRef["kind"];

const KINDS: readonly DefinedKind[] = ["HookPolicy", "ClusterHookPolicy", "HookRollout"];

/** No namespace has this name. */
const ALL_NAMESPACES = "*";

type Share = readonly [group: string, member: string];

export class LiveReads {
  readonly #reader: LiveReader;
  readonly #policies: SharedReads<PolicyList>;
  readonly #rollouts: SharedReads<readonly ObjectMeta[]>;
  readonly #definition: SharedReads<string>;
  readonly #defined = new Map<DefinedKind, string>();
  readonly #overrides: SharedReads<readonly ObjectMeta[]>;
  readonly #clusters: SharedReads<Cluster>;
  readonly #namespaces: SharedReads<Namespace>;
  readonly #allNamespaces: SharedReads<readonly Namespace[]>;
  readonly #objects: SharedReads<FoundObjects>;
  readonly #tasks: SharedReads<readonly TaskRecord[]>;

  constructor(reader: LiveReader, places = PLACES) {
    const turns = new FairTurns(places);
    this.#reader = reader;
    this.#policies = new SharedReads(turns);
    this.#rollouts = new SharedReads(turns);
    this.#definition = new SharedReads(turns);
    this.#overrides = new SharedReads(turns);
    this.#clusters = new SharedReads(turns);
    this.#namespaces = new SharedReads(turns);
    this.#allNamespaces = new SharedReads(turns);
    this.#objects = new SharedReads(turns);
    this.#tasks = new SharedReads(turns);
  }

  /**
   * All policies that can apply to Clusters of the namespace, and all rollouts, as they were at one moment since this call:
   * that of the list of ClusterHookPolicies, as whose version the other kinds are listed. The versions of all kinds are
   * revisions of one etcd: --etcd-servers-overrides is only for built-in resources. Rejects with DefinitionReplaced if one
   * was replaced, which may have taken its objects with it.
   */
  async snapshot<T>(
    underWay: ConfirmationUnderWay,
    { namespace, withRollouts, meanwhile }: SnapshotOptions<T>,
  ): Promise<Snapshot<T>> {
    const kinds = KINDS.filter((kind) => withRollouts || kind !== "HookRollout");
    const before = kinds.every((kind) => this.#defined.has(kind))
      ? kinds.map((kind) => this.#defined.get(kind))
      : await this.#definitions(underWay, kinds);
    const clusterWide = await this.#clusterHookPolicies(underWay);
    const at = clusterWide.resourceVersion;
    const [own, rollouts, after, read] = await Promise.all([
      this.#hookPolicies(underWay, namespace, at),
      withRollouts ? this.#rolloutsAt(underWay, at) : [],
      this.#definitions(underWay, kinds),
      meanwhile(),
    ]);
    if (after.some((uid, place) => uid !== before[place]))
      throw new DefinitionReplaced("a CustomResourceDefinition was replaced");
    const policies = [...livePolicies("HookPolicy", own), ...livePolicies("ClusterHookPolicy", clusterWide)];
    return { at, policies, rollouts, meanwhile: read };
  }

  #clusterHookPolicies(underWay: ConfirmationUnderWay): Promise<PolicyList> {
    const kind = "ClusterHookPolicy";
    const read = { underWay, share: [ALL_NAMESPACES, kind], key: kind } as const;
    return this.#policies.read(read, () => this.#reader.policies(kind, undefined));
  }

  #hookPolicies(underWay: ConfirmationUnderWay, namespace: string, at: string): Promise<PolicyList> {
    const kind = "HookPolicy";
    const read = { underWay, share: shareOf(underWay, kind), key: [kind, namespace, at].join(" ") };
    return this.#policies.read(read, () => this.#reader.policies(kind, namespace, at));
  }

  #rolloutsAt(underWay: ConfirmationUnderWay, at: string): Promise<readonly ObjectMeta[]> {
    const read = { underWay, share: [ALL_NAMESPACES, "HookRollout"], key: at } as const;
    return this.#rollouts.read(read, () => this.#reader.rollouts(at));
  }

  /** The uid of each definition. It is remembered for the next snapshot, which then needs no read before its lists. */
  async #definitions(
    underWay: ConfirmationUnderWay,
    kinds: readonly DefinedKind[],
  ): Promise<readonly string[]> {
    return await Promise.all(
      kinds.map(async (kind) => {
        const read = { underWay, share: [ALL_NAMESPACES, `definition of ${kind}`], key: kind } as const;
        const uid = await this.#definition.read(read, () => this.#reader.definition(kind));
        this.#defined.set(kind, uid);
        return uid;
      }),
    );
  }

  overrides(underWay: ConfirmationUnderWay): Promise<readonly ObjectMeta[]> {
    const kind = "HookOverride";
    const read = { underWay, share: [ALL_NAMESPACES, kind], key: kind } as const;
    return this.#overrides.read(read, () => this.#reader.overrides());
  }

  namespace(underWay: ConfirmationUnderWay, name: string): Promise<Namespace> {
    const read = { underWay, share: shareOf(underWay, "Namespace"), key: name };
    return this.#namespaces.read(read, () => this.#reader.namespace(name));
  }

  allNamespaces(underWay: ConfirmationUnderWay): Promise<readonly Namespace[]> {
    const kind = "Namespace";
    const read = { underWay, share: [ALL_NAMESPACES, kind], key: kind } as const;
    return this.#allNamespaces.read(read, () => this.#reader.namespaces());
  }

  cluster(underWay: ConfirmationUnderWay, namespace: string, name: string): Promise<Cluster> {
    const read = { underWay, share: shareOf(underWay), key: namespacedName({ namespace, name }) };
    return this.#clusters.read(read, () => this.#reader.cluster(namespace, name));
  }

  objects(underWay: ConfirmationUnderWay, query: ObjectQuery): Promise<FoundObjects> {
    const read = { underWay, share: shareOf(underWay), key: JSON.stringify(query) };
    return this.#objects.read(read, () => this.#reader.objects(query));
  }

  tasks(
    underWay: ConfirmationUnderWay,
    namespace: string,
    clusterUID: string,
  ): Promise<readonly TaskRecord[]> {
    const read = { underWay, share: shareOf(underWay), key: `${namespace} ${clusterUID}` };
    return this.#tasks.read(read, () => this.#reader.tasks(namespace, clusterUID));
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

/** `kind`: set for a read that all Clusters of the namespace need. No Cluster has capital letters in its name. */
function shareOf({ share: { namespace, cluster } }: ConfirmationUnderWay, kind?: string): Share {
  return [namespace, cluster === "" ? "" : (kind ?? cluster)];
}

interface SharedRead {
  readonly underWay: ConfirmationUnderWay;
  readonly share: Share;
  /** Reads of the same thing have the same key. */
  readonly key: string;
}

/** A read that has not begun, as FairTurns queues it. */
interface WaitingRead<T> extends Turn {
  readonly confirmations: ConfirmationUnderWay[];
  readonly answer: Promise<T>;
}

class SharedReads<T> {
  readonly #turns: FairTurns;
  readonly #waiting = new Map<string, WaitingRead<T>>();

  constructor(turns: FairTurns) {
    this.#turns = turns;
  }

  read({ underWay, share, key }: SharedRead, start: () => Promise<T>): Promise<T> {
    if (underWay.over) return Promise.reject(new Error("the confirmation is over"));
    const waiting = this.#waiting.get(key) ?? this.#wait(key, start);
    waiting.confirmations.push(underWay);
    this.#turns.queue(...share, waiting);
    return waiting.answer;
  }

  #wait(key: string, start: () => Promise<T>): WaitingRead<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const confirmations: ConfirmationUnderWay[] = [];
    let hasBegun = false;
    const drop = (): void => {
      if (this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
    const begin = (): Promise<T> => {
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
