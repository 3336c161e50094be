/**
 * Takes slots in the API server. One round of a rollout lists its members once, and stores once for all
 * Clusters that wait for it: the resourceVersion makes the slots one replica's at a time.
 */

import { isDeepStrictEqual } from "node:util";
import { entryOf } from "../lib/entry-of.ts";
import type { HookRollout, HookRolloutStatus } from "../api/hook-policy.ts";
import type { ObjectMeta, StoredNamespace } from "../api/meta.ts";
import { namespacedName } from "../lib/keys.ts";
import { type Candidate, claim, ownClaim, type ClaimRefusal } from "./claim.ts";
import { type Member, memberOf } from "./member.ts";
import type { CompiledRollout } from "./rollout.ts";
import { Slots } from "./slots.ts";
import { clockProblem } from "../lib/clock-skew.ts";
import type { Lister } from "../memory/memory.ts";
import type { RolloutApi } from "./rollout-api.ts";
import type { RolloutWorld } from "./rollout-entry.ts";
import { isSame, type RolloutSnapshot } from "./rollout-snapshot.ts";

export type ClaimOutcome = { readonly begins: true } | ClaimRefusal | typeof NOT_CONFIRMED;

export interface ClaimTerms {
  /** `undefined`: the rollout, as it was just read, does not select the Cluster. */
  readonly candidateOf: (
    rollout: CompiledRollout,
    status: HookRolloutStatus | undefined,
  ) => Candidate | undefined;
  /** What policies have released the Cluster for: another spec of the rollout may hold it instead of them. */
  readonly snapshot: RolloutSnapshot;
  /** Memory has a claim of the Cluster, so no other Cluster has to be read. */
  readonly renews?: boolean;
}

interface ClaimRequest extends ClaimTerms {
  readonly resolve: (taken: ClaimOutcome) => void;
}

/** What a round has read before the rollout. */
interface Listed {
  readonly clusters: readonly ObjectMeta[];
  readonly namespaces: Pick<Lister<StoredNamespace>, "get">;
}

/** What one attempt has read, and when. */
interface ClaimReading {
  readonly rollout: CompiledRollout;
  readonly object: HookRollout;
  /** `undefined`: they were not listed. */
  readonly members: readonly Member[] | undefined;
  readonly at: Date;
}

export interface RolloutClaimsOptions extends Pick<
  RolloutWorld,
  "clusters" | "namespaces" | "now" | "onError"
> {
  readonly api: RolloutApi;
  readonly compiledOf: (object: HookRollout) => CompiledRollout;
  /** See readsNamespaceLabels(). */
  readonly readsNamespaces: (name: string) => boolean;
  /** The API server's answer to a write. */
  readonly onStored: (object: HookRollout) => void;
}

/** Other writes of the status often come between a read and a write, because upgrades begin and end. */
const ATTEMPTS = 5;
const NOT_CONFIRMED = { begins: false, reason: "NotConfirmed" } as const;

export class RolloutClaims {
  readonly #options: RolloutClaimsOptions;
  readonly #waiting = new Map<string, ClaimRequest[]>();
  readonly #running = new Set<string>();

  constructor(options: RolloutClaimsOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async take(name: string, claiming: ClaimTerms): Promise<ClaimOutcome> {
    const { promise, resolve } = Promise.withResolvers<ClaimOutcome>();
    entryOf(this.#waiting, name, () => []).push({ ...claiming, resolve });
    void this.#run(name);
    return await promise;
  }

  async #run(name: string): Promise<void> {
    if (this.#running.has(name)) return;
    this.#running.add(name);
    for (let requests = this.#next(name); requests !== undefined; requests = this.#next(name)) {
      try {
        await this.#round(name, requests);
      } catch (error) {
        if (!this.#options.api.isConflict(error)) this.#options.onError(error);
        for (const { resolve } of requests) resolve(NOT_CONFIRMED);
      }
    }
    this.#running.delete(name);
  }

  #next(name: string): readonly ClaimRequest[] | undefined {
    const requests = this.#waiting.get(name);
    this.#waiting.delete(name);
    return requests;
  }

  /** Renewals do not wait for the list, which can take longer than Cluster API waits. */
  async #round(name: string, requests: readonly ClaimRequest[]): Promise<void> {
    const { true: renewing = [], false: others = [] } = Object.groupBy(
      requests,
      ({ renews = false }) => `${renews}`,
    );
    if (renewing.length > 0) await this.#take(name, renewing);
    if (others.length > 0) await this.#take(name, others, await this.#list(name));
  }

  /** In memory, a Namespace may still have the labels of another place. */
  async #list(name: string): Promise<Listed> {
    const { api, namespaces, readsNamespaces } = this.#options;
    const [clusters, all] = await Promise.all([api.members(), readsNamespaces(name) && api.namespaces()]);
    if (all === false) return { clusters, namespaces };
    return { clusters, namespaces: new Map(all.map((each) => [each.metadata.name, each])) };
  }

  /**
   * The Clusters are listed before the rollout is read: a list of thousands takes long, and only the time between the read
   * and the write is open to conflicts. The claims alone keep the limits, because each is stored before its Cluster begins
   * and no other write comes between the read and the write. The list is only too old to show Clusters that were claimed
   * since. Without a list, claims can only be renewed.
   */
  async #take(name: string, requests: readonly ClaimRequest[], listed?: Listed): Promise<void> {
    const { api, compiledOf, now } = this.#options;
    let waiting = requests;
    for (let attempt = 1; ; attempt += 1) {
      const began = performance.now();
      const object = await api.getRollout(name);
      // It was there at the snapshot: since then something else may hold the Cluster in its place.
      if (object === undefined) return waiting.forEach(({ resolve }) => resolve(NOT_CONFIRMED));
      const rollout = compiledOf(object);
      const members = listed && (await this.#membersOf(rollout, object.status, listed));
      const at = now();
      // While this clock is ahead, the claims of others seem overdue, and soaks seem to have ended.
      if (clockProblem(api, at, began) !== undefined)
        return waiting.forEach(({ resolve }) => resolve(NOT_CONFIRMED));
      const { status, granted } = this.#judge({ rollout, object, members, at }, waiting);
      waiting = [...granted.keys()];
      const version = await this.#store(object, status, attempt);
      if (version === undefined) continue;
      for (const [{ resolve, renews = false, snapshot }, isStored] of granted) {
        const isOlder = renews && snapshot.isUnchanged(object.metadata);
        if (isStored && !isOlder) snapshot.laterSlots.set(name, version);
        resolve({ begins: true });
      }
      return;
    }
  }

  /**
   * Returns the status to store, and the requests that it grants, each with whether the status has a claim for it that was not
   * stored so far. The other requests are answered at once.
   */
  #judge(
    { rollout, object: { metadata, status: before }, members, at }: ClaimReading,
    requests: readonly ClaimRequest[],
  ): {
    readonly status: HookRolloutStatus | undefined;
    readonly granted: ReadonlyMap<ClaimRequest, boolean>;
  } {
    const slots = new Slots(rollout, before ?? {}, members ?? [], at);
    const granted = new Map<ClaimRequest, boolean>();
    let status = before;
    for (const request of requests.filter((each) => isConfirmed(each, metadata))) {
      const candidate = request.candidateOf(rollout, status);
      const round = { rollout, status, slots, now: at };
      if (candidate === undefined) {
        granted.set(request, false);
        continue;
      }
      // Without the members the slots in use are not known.
      const isUnknown = members === undefined && ownClaim(round, candidate) === undefined;
      const result = isUnknown ? NOT_CONFIRMED : claim(round, candidate);
      if (!result.begins) {
        request.resolve(result);
        continue;
      }
      status = result.status ?? status;
      granted.set(request, result.status !== undefined);
    }
    return { status, granted };
  }

  /**
   * The resourceVersion of the rollout with this status. `undefined`: the rollout must be read again, because it has changed, or
   * may be gone.
   */
  async #store(
    object: HookRollout,
    status: HookRolloutStatus | undefined,
    attempt: number,
  ): Promise<string | undefined> {
    const { api, onStored } = this.#options;
    if (status === undefined || isDeepStrictEqual(status, object.status))
      return object.metadata.resourceVersion;
    try {
      const stored = await api.replaceRolloutStatus(object, status);
      if (stored !== undefined) {
        onStored(stored);
        return stored.metadata.resourceVersion;
      }
    } catch (error) {
      if (!api.isConflict(error) || attempt === ATTEMPTS) throw error;
      return undefined;
    }
    if (attempt === ATTEMPTS) throw new Error(`HookRollout ${object.metadata.name} is deleted and created`);
    return undefined;
  }

  async #membersOf(
    rollout: CompiledRollout,
    status: HookRolloutStatus | undefined,
    { namespaces, ...listed }: Listed,
  ): Promise<readonly Member[]> {
    const metadata = [...listed.clusters, ...(await this.#unlisted(rollout, status, listed.clusters))];
    const { clusters } = this.#options;
    return metadata.flatMap((each) => {
      const known = clusters.get(namespacedName(each));
      const isKnown = known?.metadata.uid === each.uid;
      // Without a topology no hook is called for it.
      if (isKnown && known.topology === undefined) return [];
      const isPresent = isKnown && known.metadata.resourceVersion === each.resourceVersion;
      const shown = { metadata: each, ...(isPresent && { created: known.created }) };
      return memberOf(rollout, shown, namespaces.get(each.namespace ?? "")) ?? [];
    });
  }

  /** Clusters that were claimed after the list: if slots are spread, the labels of these count, too. */
  async #unlisted(
    { spread }: CompiledRollout,
    { running = [] }: HookRolloutStatus = {},
    listed: readonly ObjectMeta[],
  ): Promise<readonly ObjectMeta[]> {
    if (spread.length === 0) return [];
    const missing = new Map(running.map((each) => [each.uid, each]));
    for (const { uid } of listed) missing.delete(uid);
    const { api } = this.#options;
    const found = await Promise.all(
      [...missing.values()].map(async ({ namespace, name }) => await api.findCluster(namespace, name)),
    );
    return found.flatMap((cluster) => cluster?.metadata ?? []).filter(({ uid }) => missing.has(uid));
  }
}

/** Whether the rollout that was just read has the spec for which policies have released the Cluster. */
function isConfirmed({ snapshot, resolve }: ClaimRequest, metadata: ObjectMeta): boolean {
  const is = isSame(metadata, snapshot.get(metadata.name));
  if (!is) resolve(NOT_CONFIRMED);
  return is;
}
