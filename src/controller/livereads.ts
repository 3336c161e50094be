/**
 * The reads that confirmations need. Confirmations that wait for the same read share it, and it begins after each of them
 * asked for it. Namespaces share the places for reads fairly, and so do the Clusters of a namespace: a flood of calls about
 * some Clusters delays no confirmation about others.
 */

import type { Cluster, Namespace, ObjectMeta } from "../api/meta.ts";
import type { FoundObjects } from "../policy/objects.ts";
import { compareResourceVersions } from "../policy/cluster.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import type { PolicyKind } from "../policy/policyref.ts";
import { FairTurns, type Turn } from "../api/fairturns.ts";
import type { CallShare } from "./callturns.ts";
import type { LiveReader, PolicyList } from "./ports.ts";

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

interface ListedPolicies {
  readonly kind: PolicyKind;
  readonly resourceVersion: string;
  readonly policies: readonly LivePolicy[];
}

/** Below the number of connections for requests (kube/transport.ts), which statuses, Events and the Lease need, too. */
const PLACES = 12;

/** No namespace has this name. */
const ALL_NAMESPACES = "*";

type Share = readonly [group: string, member: string];

export class LiveReads {
  readonly #reader: LiveReader;
  readonly #policies: SharedReads<PolicyList>;
  readonly #overrides: SharedReads<readonly ObjectMeta[]>;
  readonly #clusters: SharedReads<Cluster>;
  readonly #namespaces: SharedReads<Namespace>;
  readonly #allNamespaces: SharedReads<readonly Namespace[]>;
  readonly #objects: SharedReads<FoundObjects>;

  constructor(reader: LiveReader, places = PLACES) {
    const turns = new FairTurns(places);
    this.#reader = reader;
    this.#policies = new SharedReads(turns);
    this.#overrides = new SharedReads(turns);
    this.#clusters = new SharedReads(turns);
    this.#namespaces = new SharedReads(turns);
    this.#allNamespaces = new SharedReads(turns);
    this.#objects = new SharedReads(turns);
  }

  /**
   * All policies that can apply to Clusters of the namespace, as they were at one moment since this call: the kind whose
   * list is newer is listed again at the version of the other list. `undefined`: policies of that kind have changed since.
   * The versions of both kinds are revisions of one etcd: --etcd-servers-overrides is only for built-in resources.
   */
  async policies(
    underWay: ConfirmationUnderWay,
    namespace: string,
  ): Promise<readonly LivePolicy[] | undefined> {
    const list = async (kind: PolicyKind, at?: string): Promise<ListedPolicies> => {
      const { resourceVersion, items } = await this.#list(underWay, { kind, namespace, at });
      return { kind, resourceVersion, policies: items.map((metadata) => ({ kind, metadata })) };
    };
    const [own, clusterWide] = await Promise.all([list("HookPolicy"), list("ClusterHookPolicy")]);
    if (own.resourceVersion === clusterWide.resourceVersion)
      return [...own.policies, ...clusterWide.policies];
    const order = compareResourceVersions(own.resourceVersion, clusterWide.resourceVersion) ?? 0;
    const [older, newer] = order > 0 ? [clusterWide, own] : [own, clusterWide];
    const then = await list(newer.kind, older.resourceVersion);
    const isSame =
      then.resourceVersion === older.resourceVersion && samePolicies(then.policies, newer.policies);
    return isSame ? [...older.policies, ...then.policies] : undefined;
  }

  #list(
    underWay: ConfirmationUnderWay,
    { kind, namespace, at }: { kind: PolicyKind; namespace: string; at: string | undefined },
  ): Promise<PolicyList> {
    const isOwn = kind === "HookPolicy";
    // Other namespaces seldom want the same version.
    const isShared = !isOwn && at === undefined;
    const share: Share = isShared ? [ALL_NAMESPACES, kind] : shareOf(underWay, kind);
    const read = { underWay, share, key: [kind, isOwn ? namespace : "", at ?? ""].join(" ") };
    return this.#policies.read(read, () => this.#reader.policies(kind, isOwn ? namespace : undefined, at));
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
    const read = { underWay, share: shareOf(underWay), key: `${namespace}/${name}` };
    return this.#clusters.read(read, () => this.#reader.cluster(namespace, name));
  }

  objects(underWay: ConfirmationUnderWay, query: ObjectQuery): Promise<FoundObjects> {
    const read = { underWay, share: shareOf(underWay), key: JSON.stringify(query) };
    return this.#objects.read(read, () => this.#reader.objects(query));
  }
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

interface Read {
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

  read({ underWay, share, key }: Read, start: () => Promise<T>): Promise<T> {
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
