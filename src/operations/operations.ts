/** Every operation that Cluster API waits for, or is going to, by Cluster and hook. */

import { isDeepStrictEqual } from "node:util";

import type { ServedHooks } from "../api/hookcatalog.ts";
import type { HookPolicySpec } from "../api/hookpolicy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { shownSince } from "./call.ts";
import { hasEnded } from "./ended.ts";
import { type Ask, shownAsk } from "./operation.ts";
import { editOf, forgetEdited, forgetPolicy } from "./timers.ts";

export interface FollowContext {
  readonly now: Date;
  readonly served: Pick<ServedHooks, "blocking" | "marksUpgrades">;
}

/** How a change of a Cluster has changed its operations. */
export interface Followed {
  readonly ended: readonly Ask[];
  readonly hasBegun: boolean;
}

export class AskSet {
  /** By Cluster uid, then hook. */
  readonly #asks = new Map<string, Map<HookName, Ask>>();

  get(clusterUID: string, hook: HookName): Ask | undefined {
    return this.#asks.get(clusterUID)?.get(hook);
  }

  has(clusterUID: string): boolean {
    return this.#asks.has(clusterUID);
  }

  of(clusterUID: string): Ask[] {
    return [...(this.#asks.get(clusterUID)?.values() ?? [])];
  }

  put(ask: Ask): void {
    const asks = this.#asks.get(ask.clusterUID) ?? new Map<HookName, Ask>();
    asks.set(ask.call.hook, ask);
    this.#asks.set(ask.clusterUID, asks);
  }

  /** The policy is gone, so nothing needs what was remembered for its rules. */
  forgetPolicy(policyUID: string): void {
    for (const asks of this.#asks.values()) {
      for (const [hook, ask] of asks) {
        const without = forgetPolicy(ask, policyUID);
        if (without !== ask) asks.set(hook, without);
      }
    }
  }

  /** Stops the clocks that the edit of a policy stops. */
  policyEdited(policyUID: string, before: HookPolicySpec, now: HookPolicySpec): void {
    const edit = editOf(before, now);
    for (const asks of this.#asks.values()) {
      for (const [hook, ask] of asks) asks.set(hook, forgetEdited(ask, policyUID, edit));
    }
  }

  delete({ clusterUID, call: { hook } }: Ask): void {
    const asks = this.#asks.get(clusterUID);
    asks?.delete(hook);
    if (asks?.size === 0) this.#asks.delete(clusterUID);
  }

  /** The Cluster is gone: forgets its operations, and returns them. */
  forget(clusterUID: string): readonly Ask[] {
    const asks = this.of(clusterUID);
    this.#asks.delete(clusterUID);
    return asks;
  }

  /** The Cluster has changed, so operations of it may have ended or begun. */
  follow(cluster: Cluster, context: FollowContext): Followed {
    const ended = this.of(cluster.metadata.uid).filter((ask) => hasEnded(ask, cluster, context.served));
    for (const ask of ended) this.delete(ask);
    return { ended, hasBegun: this.begin(cluster, context) };
  }

  /** Begins what the Cluster shows, unless it has begun before. Returns whether something has begun. */
  begin(cluster: Cluster, context: FollowContext): boolean {
    const { uid } = cluster.metadata;
    let begun = false;
    for (const hook of context.served.blocking) {
      const known = this.get(uid, hook);
      if (known !== undefined && known.hearsay !== true) {
        this.#update(known, cluster);
        continue;
      }
      const shown = shownAsk(hook, cluster, context);
      if (shown === undefined) continue;
      begun = true;
      const { saidBy, rules } = known ?? {};
      this.put({ ...shown, ...(saidBy !== undefined && { saidBy }), ...(rules !== undefined && { rules }) });
    }
    return begun;
  }

  /** Takes over what the Cluster shows by now of the same step. */
  #update(ask: Ask, cluster: Cluster): void {
    const call = shownSince(ask.call, cluster);
    if (!isDeepStrictEqual(call, ask.call)) this.put({ ...ask, call });
  }
}
