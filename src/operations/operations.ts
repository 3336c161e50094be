/** Every pending operation, by Cluster and hook. */

import { isDeepStrictEqual } from "node:util";
import { entryOf } from "../lib/entry-of.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import type { HookPolicySpec } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { shownSince } from "./call.ts";
import { hasEnded } from "./ended.ts";
import { type PendingOperation, shownOperation } from "./operation.ts";
import { editOf, forgetEdited, forgetPolicy } from "./timers.ts";

export interface FollowContext {
  readonly now: Date;
  readonly served: Pick<ServedHooks, "blocking" | "marksUpgrades">;
}

/** How a change of a Cluster has changed its operations. */
export interface OperationChanges {
  readonly ended: readonly PendingOperation[];
  readonly hasBegun: boolean;
  /** Another Cluster may have its name. */
  readonly isGone: boolean;
}

export class PendingOperations {
  /** By Cluster uid, then hook. */
  readonly #operations = new Map<string, Map<HookName, PendingOperation>>();

  get(clusterUID: string, hook: HookName): PendingOperation | undefined {
    return this.#operations.get(clusterUID)?.get(hook);
  }

  has(clusterUID: string): boolean {
    return this.#operations.has(clusterUID);
  }

  of(clusterUID: string): PendingOperation[] {
    return [...(this.#operations.get(clusterUID)?.values() ?? [])];
  }

  put(operation: PendingOperation): void {
    const operations = entryOf(this.#operations, operation.clusterUID, () => new Map());
    operations.set(operation.call.hook, operation);
  }

  forgetPolicy(policyUID: string): void {
    this.#changeAll((operation) => forgetPolicy(operation, policyUID));
  }

  /** Stops the clocks that the edit of a policy stops. */
  policyEdited(policyUID: string, before: HookPolicySpec, now: HookPolicySpec): void {
    const edit = editOf(before, now);
    this.#changeAll((operation) => forgetEdited(operation, policyUID, edit));
  }

  #changeAll(change: (operation: PendingOperation) => PendingOperation): void {
    for (const operations of this.#operations.values())
      for (const [hook, operation] of operations) operations.set(hook, change(operation));
  }

  clusterChanged(
    before: Cluster | undefined,
    now: Cluster | undefined,
    context: FollowContext,
  ): OperationChanges {
    const uids = new Set([before, now].map((cluster) => cluster?.metadata.uid ?? ""));
    const ended = [...uids]
      .flatMap((uid) => this.of(uid))
      .filter((operation) => now === undefined || hasEnded(operation, now, context.served));
    for (const operation of ended) this.#delete(operation);
    const isGone = before !== undefined && before.metadata.uid !== now?.metadata.uid;
    return { ended, hasBegun: now !== undefined && this.begin(now, context), isGone };
  }

  #delete({ clusterUID, call: { hook } }: PendingOperation): void {
    const operations = this.#operations.get(clusterUID);
    operations?.delete(hook);
    if (operations?.size === 0) this.#operations.delete(clusterUID);
  }

  /** Begins the operations that the Cluster shows. Returns whether any of them is new. */
  begin(cluster: Cluster, context: FollowContext): boolean {
    const { uid } = cluster.metadata;
    let begun = false;
    for (const hook of context.served.blocking) {
      const known = this.get(uid, hook);
      if (known !== undefined && known.fromStatusOnly !== true) {
        this.#update(known, cluster);
        continue;
      }
      const shown = shownOperation(hook, cluster, context);
      if (shown === undefined) continue;
      begun = true;
      const { reportedBy, rules } = known ?? {};
      this.put({
        ...shown,
        ...(reportedBy !== undefined && { reportedBy }),
        ...(rules !== undefined && { rules }),
      });
    }
    return begun;
  }

  #update(operation: PendingOperation, cluster: Cluster): void {
    const call = shownSince(operation.call, cluster);
    if (!isDeepStrictEqual(call, operation.call)) this.put({ ...operation, call });
  }
}
