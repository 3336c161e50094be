/** Every operation that was asked for and has not ended, by Cluster and hook. */

import type { Cluster } from "../api/meta.ts";
import type { HookCall, HookName } from "../api/runtimehooks.ts";
import { editOf, forgetEdited, forgetPolicy } from "../policy/timers.ts";
import { type Ask, askKey, deletionAsk, isWanted, newAsk } from "./asks.ts";
import type { PolicyObject } from "./policyset.ts";

/** Calls that the informer does not confirm yet, or that whoever reaches the port has invented. */
const MAX_UNCONFIRMED = 1000;

export class AskSet {
  /** By Cluster uid, then hook. */
  readonly #asks = new Map<string, Map<HookName, Ask>>();
  /** They have no clocks, and no say in any decision. */
  readonly #unconfirmed = new Map<string, { readonly clusterUID: string; readonly call: HookCall }>();

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

  /** Until the informer shows that the operation is wanted. */
  putUnconfirmed(clusterUID: string, call: HookCall): void {
    this.#unconfirmed.set(askKey(clusterUID, call.hook), { clusterUID, call });
    const oldest = this.#unconfirmed.keys().next();
    if (this.#unconfirmed.size > MAX_UNCONFIRMED && oldest.done !== true)
      this.#unconfirmed.delete(oldest.value);
  }

  /** It is gone: what was remembered for its rules is of no use any more. */
  forgetPolicy(policyUID: string): void {
    for (const asks of this.#asks.values()) {
      for (const [hook, ask] of asks) asks.set(hook, forgetPolicy(ask, policyUID));
    }
  }

  /** Clocks that the edit of a policy stops. */
  policyEdited(policyUID: string, before: PolicyObject["spec"], now: PolicyObject["spec"]): void {
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

  /** The informer has the Cluster: what was asked before begins now, and a deletion that began is going to be asked for. */
  begin(cluster: Cluster, holdsDeletion: boolean, now: Date): void {
    const { uid } = cluster.metadata;
    for (const [key, { clusterUID, call }] of this.#unconfirmed) {
      if (clusterUID !== uid || !isWanted(call, cluster)) continue;
      this.#unconfirmed.delete(key);
      if (this.get(uid, call.hook) === undefined) this.put(newAsk(call, cluster, now, undefined));
    }
    if (!holdsDeletion || this.get(uid, "BeforeClusterDelete") !== undefined) return;
    const ask = deletionAsk(cluster);
    if (ask !== undefined) this.put(ask);
  }
}
