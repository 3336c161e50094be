/** Every operation that was asked for and has not ended, by Cluster and hook. */

import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { forgetEdited, forgetPolicy } from "../policy/timers.ts";
import { type Ask, askKey, deletionAsk, hasEnded } from "./asks.ts";
import type { PolicyObject } from "./policyset.ts";

/** Asks about Clusters that the informer has not seen: new ones, or invented by whoever reaches the port. */
const MAX_UNKNOWN = 1000;

export class AskSet {
  /** By Cluster uid, then hook. */
  readonly #asks = new Map<string, Map<HookName, Ask>>();
  readonly #unknown = new Map<string, Ask>();

  get(clusterUID: string, hook: HookName): Ask | undefined {
    return this.#asks.get(clusterUID)?.get(hook) ?? this.#unknown.get(askKey(clusterUID, hook));
  }

  of(clusterUID: string): Ask[] {
    return [...(this.#asks.get(clusterUID)?.values() ?? [])];
  }

  put(ask: Ask): void {
    const asks = this.#asks.get(ask.clusterUID) ?? new Map<HookName, Ask>();
    asks.set(ask.call.hook, ask);
    this.#asks.set(ask.clusterUID, asks);
  }

  /** Where it is. */
  update(ask: Ask): void {
    const key = askKey(ask.clusterUID, ask.call.hook);
    if (this.#unknown.has(key)) this.#unknown.set(key, ask);
    else this.put(ask);
  }

  /** Until the informer has seen the Cluster. */
  putUnknown(ask: Ask): void {
    this.#unknown.set(askKey(ask.clusterUID, ask.call.hook), ask);
    const oldest = this.#unknown.keys().next();
    if (this.#unknown.size > MAX_UNKNOWN && oldest.done !== true) this.#unknown.delete(oldest.value);
  }

  /** It is gone: what was remembered for its rules is of no use any more. */
  forgetPolicy(policyUID: string): void {
    for (const asks of this.#asks.values()) {
      for (const [hook, ask] of asks) asks.set(hook, forgetPolicy(ask, policyUID));
    }
  }

  /** Clocks that the edit of a policy stops. */
  policyEdited(policyUID: string, before: PolicyObject["spec"], now: PolicyObject["spec"]): void {
    for (const asks of this.#asks.values()) {
      for (const [hook, ask] of asks) asks.set(hook, forgetEdited(ask, policyUID, before, now));
    }
  }

  delete({ clusterUID, call: { hook } }: Ask): void {
    const asks = this.#asks.get(clusterUID);
    asks?.delete(hook);
    if (asks?.size === 0) this.#asks.delete(clusterUID);
  }

  /** The informer has the Cluster: what was asked before counts, and a deletion that began is going to be asked for. */
  begin(cluster: Cluster, holdsDeletion: boolean): void {
    const { uid } = cluster.metadata;
    for (const [key, ask] of this.#unknown) {
      if (ask.clusterUID !== uid) continue;
      this.#unknown.delete(key);
      if (!hasEnded(ask, cluster)) this.put(ask);
    }
    if (!holdsDeletion || this.#asks.get(uid)?.has("BeforeClusterDelete") === true) return;
    const ask = deletionAsk(cluster);
    if (ask !== undefined) this.put(ask);
  }
}
