/** The pending operations: what is remembered about each, how it begins and ends, and all of them, by Cluster and hook. */

import { isDeepStrictEqual } from "node:util";
import { entryOf } from "../lib/entry-of.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import type { HookPolicySpec } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookCall, HookName } from "../api/runtime-hooks.ts";
import { readTimestamp, timestamp } from "../lib/instant.ts";
import { targetVersion } from "../api/target-version.ts";
import type { OperationState } from "../policy/world.ts";
import { shownCall, shownSince, shownVersion, stepOf, VERSIONED } from "./call.ts";
import {
  HOOK_LIVES,
  isAwaited,
  isBeingDeleted,
  isPending,
  markOf,
  type ServedUpgrades,
} from "./hook-lives.ts";
import { editOf, forgetEdited, forgetPolicy } from "./timers.ts";

export interface PendingOperation extends OperationState {
  readonly clusterUID: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly call: HookCall;
  /** The step of an upgrade that the Cluster shows: every step calls the same hooks. */
  readonly step: string;
  /** Whether Cluster API's mark of the hook was there, which disappears when the hook has released the Cluster. */
  readonly marked: boolean;
}

export function operationKey(clusterUID: string, hook: HookName): string {
  return `${clusterUID}/${hook}`;
}

/** A new target starts a new operation and resets its timers. */
export function newOperation(
  call: HookCall,
  cluster: Cluster,
  now: Date,
  before: PendingOperation | undefined,
): PendingOperation {
  const { uid, name, namespace, deletionTimestamp } = cluster.metadata;
  const same = before !== undefined && targetVersion(before.call) === targetVersion(call);
  const begun = call.hook === "BeforeClusterDelete" ? readTimestamp(deletionTimestamp) : undefined;
  return {
    clusterUID: uid,
    namespace: namespace ?? "",
    cluster: name,
    call,
    firstAsked: begun ?? (same ? before.firstAsked : now),
    ...(same && before.reportedBy !== undefined && { reportedBy: before.reportedBy }),
    rules: same ? before.rules : new Map(),
    step: stepOf(call.hook, cluster),
    marked: (same && before.marked) || isPending(cluster, markOf(call.hook)),
  };
}

/** A call that names another version than the remembered operation is decided as a first call. */
export function answering(
  operation: PendingOperation | undefined,
  call: HookCall,
  now: Date,
): OperationState {
  const version = operation && targetVersion(operation.call);
  const isAbout = version === undefined || version === targetVersion(call);
  return operation !== undefined && isAbout ? operation : { firstAsked: now, rules: new Map() };
}

/**
 * The Cluster as it will be when Cluster API calls about the operation: BeforeClusterDelete is called only once the Cluster
 * is being deleted (core/reconcilers/topology/cluster/cluster_controller.go, reconcileDelete), and hooks about the version
 * of the topology only once it has that version. Not for the operator's own decisions, which are about the Cluster as it is.
 */
export function asCalled(
  cluster: Cluster,
  { call, firstAsked }: Pick<PendingOperation, "call" | "firstAsked">,
): Cluster {
  const { metadata } = cluster;
  if (VERSIONED.has(call.hook)) return wanting(cluster, targetVersion(call));
  if (call.hook !== "BeforeClusterDelete" || metadata.deletionTimestamp !== undefined) return cluster;
  return { ...cluster, metadata: { ...metadata, deletionTimestamp: timestamp(firstAsked) } };
}

/** The Cluster once its owner has asked for the version. */
export function wanting(cluster: Cluster, version: string | undefined): Cluster {
  const { topology, progress } = cluster;
  if (version === undefined || topology === undefined || version === topology.version) return cluster;
  const { reconciled: _, ...shown } = progress ?? {};
  return {
    ...cluster,
    topology: { ...topology, version },
    ...(progress !== undefined && { progress: shown }),
  };
}

/**
 * The operation that is pending at this hook, as the Cluster itself shows it: every replica sees the same, also after a
 * restart, and calls change nothing.
 */
function shownOperation(
  hook: HookName,
  cluster: Cluster,
  { now, served }: { readonly now: Date; readonly served: ServedUpgrades },
): PendingOperation | undefined {
  return isAwaited(hook, cluster, served)
    ? newOperation(shownCall(hook, cluster), cluster, now, undefined)
    : undefined;
}

/** A Cluster that is being deleted has a pending operation even before Cluster API calls. */
export function pendingDeletion(cluster: Cluster, served: ServedUpgrades): PendingOperation | undefined {
  const begun = readTimestamp(cluster.metadata.deletionTimestamp);
  return begun && shownOperation("BeforeClusterDelete", cluster, { now: begun, served });
}

type Ending = Pick<PendingOperation, "clusterUID" | "call" | "step" | "marked">;

/**
 * Whether the Cluster shows that the operation proceeded, or is not wanted any more; a missing call is no evidence. For the
 * marks, see Cluster API's core:internal/hooks/tracking.go and the topology reconcilers that call the hooks.
 */
export function hasEnded(operation: Ending, cluster: Cluster, served: ServedUpgrades): boolean {
  const { hook } = operation.call;
  if (cluster.metadata.uid !== operation.clusterUID || stepOf(hook, cluster) !== operation.step) return true;
  const version = shownVersion(hook, cluster);
  // A condition about an error shows no version, which does not end the operation.
  if (version !== undefined && version !== targetVersion(operation.call)) return true;
  return showsEnd(operation, cluster, served);
}

/** The same where step and version are known to be the Cluster's: Cluster API does not call the hook for it any more. */
export function showsEnd(operation: Ending, cluster: Cluster, served: ServedUpgrades): boolean {
  const { hook } = operation.call;
  if (isBeingDeleted(cluster) && hook !== "BeforeClusterDelete") return true;
  return HOOK_LIVES[hook].ends(operation.marked, cluster, served);
}

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
