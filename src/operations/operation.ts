/** A pending operation: what is remembered about it, and how it begins. */

import type { Cluster } from "../api/meta.ts";
import type { HookCall, HookName } from "../api/runtime-hooks.ts";
import { readTimestamp, timestamp } from "../lib/instant.ts";
import { targetVersion } from "../api/target-version.ts";
import type { OperationState } from "../policy/world.ts";
import { shownCall, stepOf } from "./call.ts";
import { isPending, markOf } from "./marks.ts";
import { isAwaited, type ServedUpgrades } from "./hook-lives.ts";

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
 * is being deleted (core/reconcilers/topology/cluster/cluster_controller.go, reconcileDelete). Not for the operator's own
 * decisions, which are about the Cluster as it is.
 */
export function asCalled(
  cluster: Cluster,
  { call, firstAsked }: Pick<PendingOperation, "call" | "firstAsked">,
): Cluster {
  const { metadata } = cluster;
  if (call.hook !== "BeforeClusterDelete" || metadata.deletionTimestamp !== undefined) return cluster;
  return { ...cluster, metadata: { ...metadata, deletionTimestamp: timestamp(firstAsked) } };
}

/**
 * The operation that is pending at this hook, as the Cluster itself shows it: every replica sees the same, also after a
 * restart, and calls change nothing.
 */
export function shownOperation(
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
