/** Every operation that Cluster API waits for, or is going to, by Cluster and hook. */

import type { HookPolicySpec } from "../api/hookpolicy.ts";
import { isDeepStrictEqual } from "node:util";

import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { shownSince } from "./call.ts";
import { type Ask, shownAsk, type ShownContext } from "./operation.ts";
import { editOf, forgetEdited, forgetPolicy } from "./timers.ts";

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

  /** Begins what the Cluster shows, unless it has begun before. Returns whether something has begun. */
  begin(cluster: Cluster, hooks: ReadonlySet<HookName>, context: ShownContext): boolean {
    const { uid } = cluster.metadata;
    let begun = false;
    for (const hook of hooks) {
      const known = this.get(uid, hook);
      if (known !== undefined && known.hearsay !== true) {
        this.#follow(known, cluster);
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
  #follow(ask: Ask, cluster: Cluster): void {
    const call = shownSince(ask.call, cluster);
    if (!isDeepStrictEqual(call, ask.call)) this.put({ ...ask, call });
  }
}
