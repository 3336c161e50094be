/**
 * Takes and gives back slots in the API server. One round of a rollout reads it once, lists its members once, and stores
 * once for all Clusters that wait for it: the resourceVersion makes the slots one replica's at a time.
 */

import { isDeepStrictEqual } from "node:util";
import type { HookRollout, RolloutClaim } from "../api/hookpolicy.ts";
import type { Namespace, ObjectMeta } from "../api/meta.ts";
import { claim, type Candidate, type ClaimResult, type HoldReason } from "../rollouts/claim.ts";
import { type Member, memberOf } from "../rollouts/member.ts";
import { type CompiledRollout, compileRollout } from "../rollouts/rollout.ts";
import { Slots } from "../rollouts/slots.ts";
import type { RolloutApi } from "./rolloutports.ts";

export type Taken =
  /** `claim`: what was stored for it. */
  | { readonly begins: true; readonly claim?: RolloutClaim }
  | { readonly begins: false; readonly reason: HoldReason | "NotConfirmed"; readonly stage?: string };

interface Asker {
  readonly candidateOf: (rollout: CompiledRollout) => Candidate | undefined;
  readonly resolve: (taken: Taken) => void;
}

export interface RolloutClaimsOptions {
  readonly api: RolloutApi;
  /** From memory: `undefined` where it is not known. */
  readonly namespaceOf: (name: string) => Namespace | undefined;
  /** Whether memory knows that the Cluster has no topology, so that no hook is called for it. */
  readonly isUnmanaged: (metadata: ObjectMeta) => boolean;
  readonly now: () => Date;
  /** The API server's answer to a write. */
  readonly onStored: (object: HookRollout) => void;
  readonly onError: (error: unknown) => void;
}

const NOT_CONFIRMED: Taken = { begins: false, reason: "NotConfirmed" };

export class RolloutClaims {
  readonly #options: RolloutClaimsOptions;
  readonly #waiting = new Map<string, Asker[]>();
  readonly #running = new Set<string>();

  constructor(options: RolloutClaimsOptions) {
    this.#options = options;
  }

  /**
   * `candidateOf` is given the rollout as it was just read; `undefined`: it does not hold this Cluster. Never rejects.
   */
  async take(name: string, candidateOf: Asker["candidateOf"]): Promise<Taken> {
    const { promise, resolve } = Promise.withResolvers<Taken>();
    this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), { candidateOf, resolve }]);
    void this.#run(name);
    return await promise;
  }

  /**
   * Gives back what was taken for a Cluster that another rollout refuses. If Cluster API did not wait for the answer,
   * another replica may have renewed the claim and released the Cluster: it is not this replica's any more.
   */
  async giveBack(name: string, taken: RolloutClaim): Promise<void> {
    const { api, onStored, onError } = this.#options;
    try {
      const object = await api.getRollout(name);
      const running = object?.status?.running?.filter((each) => !isDeepStrictEqual(each, taken));
      if (object?.status === undefined || running?.length === object.status.running?.length) return;
      const stored = await api.replaceRolloutStatus(object, { ...object.status, running: running ?? [] });
      if (stored !== undefined) onStored(stored);
    } catch (error) {
      // The claim ends by itself.
      onError(error);
    }
  }

  async #run(name: string): Promise<void> {
    if (this.#running.has(name)) return;
    this.#running.add(name);
    for (let askers = this.#next(name); askers !== undefined; askers = this.#next(name)) {
      try {
        await this.#round(name, askers);
      } catch (error) {
        if (!this.#options.api.isConflict(error)) this.#options.onError(error);
        for (const { resolve } of askers) resolve(NOT_CONFIRMED);
      }
    }
    this.#running.delete(name);
  }

  #next(name: string): readonly Asker[] | undefined {
    const askers = this.#waiting.get(name);
    this.#waiting.delete(name);
    return askers;
  }

  async #round(name: string, askers: readonly Asker[]): Promise<void> {
    const { api, now, onStored } = this.#options;
    const object = await api.getRollout(name);
    // A rollout that is gone holds nothing any more.
    if (object === undefined) return askers.forEach(({ resolve }) => resolve({ begins: true }));
    const rollout = compileRollout(object);
    const members = (await api.members()).flatMap((metadata) => this.#memberOf(rollout, metadata));
    const at = now();
    const slots = new Slots(rollout, object.status ?? {}, members, at);
    let status = object.status;
    const results = askers.map(({ candidateOf, resolve }) => {
      const candidate = candidateOf(rollout);
      const result: ClaimResult =
        candidate === undefined ? { begins: true } : claim({ rollout, status, slots, now: at }, candidate);
      if (result.begins) status = result.status ?? status;
      const uid = candidate?.metadata.uid;
      const claimed = result.begins ? result.status?.running?.find((each) => each.uid === uid) : undefined;
      return { result, claimed, resolve };
    });
    // Those who are refused wait for no write.
    for (const { result, resolve } of results) if (!result.begins) resolve(result);
    if (status !== undefined && !isDeepStrictEqual(status, object.status)) {
      // A rollout that was deleted meanwhile holds nothing any more.
      const stored = await api.replaceRolloutStatus(object, status);
      if (stored !== undefined) onStored(stored);
    }
    for (const { result, claimed, resolve } of results)
      if (result.begins) resolve({ begins: true, ...(claimed !== undefined && { claim: claimed }) });
  }

  #memberOf(rollout: CompiledRollout, metadata: ObjectMeta): Member[] {
    const { namespaceOf, isUnmanaged } = this.#options;
    if (isUnmanaged(metadata)) return [];
    const member = memberOf(rollout, metadata, namespaceOf(metadata.namespace ?? ""));
    return member === undefined ? [] : [member];
  }
}
