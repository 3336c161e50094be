/** Adopts operations from the rows of a policy's status, written by another replica or before a restart. */

import { STEP_HOOKS, type ServedHooks } from "../api/hook-catalog.ts";
import type { DecisionRow, HookPolicyStatus } from "../api/hook-policy.ts";
import type { Cluster, StoredNamespace } from "../api/meta.ts";
import { matches } from "../policy/decide.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { readTimestamp } from "../lib/instant.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { isVersion, targetVersion } from "../api/target-version.ts";
import { firstAskedBy } from "../policy/world.ts";
import { about, shownCall } from "./call.ts";
import { hasEnded, newOperation, operationKey, type PendingOperation } from "./operation.ts";
import { isPossible, type ServedUpgrades } from "./hook-lives.ts";
import { adoptTimers, storedTimers } from "./timers.ts";

export interface RowContext {
  readonly cluster: Cluster;
  readonly namespace: StoredNamespace | undefined;
  readonly policy: CompiledPolicy;
  readonly status: HookPolicyStatus | undefined;
  readonly known: PendingOperation | undefined;
  readonly now: Date;
  readonly served: ServedHooks;
}

/** The operator writes one row per operation, so other rows about the same operation are ignored. */
export function oncePerOperation(rows: readonly DecisionRow[]): DecisionRow[] {
  const keys = new Set<string>();
  return rows.filter(({ clusterUID, hook }) => keys.size !== keys.add(operationKey(clusterUID, hook)).size);
}

/**
 * The operation of a row, with what this replica knows about it; `undefined`: the Cluster does not show that the operation
 * is pending. What the row says counts for its own policy only.
 */
export function adoptRow(row: DecisionRow, context: RowContext): PendingOperation | undefined {
  const { cluster, policy, status, known, now, served } = context;
  const firstAsked = readTimestamp(row.firstAsked);
  if (firstAsked === undefined || !canHold(policy, row.hook, context)) return undefined;
  const operation = known ?? operationFromStatus(row, cluster, firstAsked, served);
  if (operation === undefined || !isSameStep(operation, row) || hasEnded(operation, cluster, served))
    return undefined;
  const own = firstAskedBy(operation, policy.uid);
  // A Cluster shows since when it is being deleted, so a row cannot say anything else.
  const since = row.hook === "BeforeClusterDelete" ? operation.firstAsked : firstAsked;
  const isNews = own === undefined || since < own;
  const reportedBy = isNews ? new Map(operation.reportedBy).set(policy.uid, since) : operation.reportedBy;
  const adopted = reportedBy === undefined ? operation : { ...operation, reportedBy };
  return adoptTimers(adopted, policy.uid, storedTimers(policy, status, row, now), now);
}

/** Other writers can change a status, so a row counts only if the policy can hold the Cluster at the row's hook. */
function canHold(
  policy: CompiledPolicy,
  hook: HookName,
  { cluster, namespace, served }: RowContext,
): boolean {
  const isAsked = served.blocking.has(hook) && policy.rules.some(({ hooks }) => hooks.has(hook));
  return isAsked && matches(policy, { cluster, namespace }) !== "no";
}

/** In a row, only the version distinguishes one step from another. */
function isSameStep({ call }: PendingOperation, { hook, targetVersion: version }: DecisionRow): boolean {
  if (version === undefined && STEP_HOOKS.has(hook)) return false;
  return targetVersion(call) === version;
}

/** The Cluster may wait without showing it at the moment, for example because Cluster API's last call failed. */
function operationFromStatus(
  { hook, targetVersion: version = "" }: DecisionRow,
  cluster: Cluster,
  firstAsked: Date,
  served: ServedUpgrades,
): PendingOperation | undefined {
  if (!isPossible(hook, cluster, served)) return undefined;
  const shown = shownCall(hook, cluster);
  const isShown = !STEP_HOOKS.has(hook) || targetVersion(shown) !== undefined;
  // The version of the row counts until the Cluster shows another one. A row about the previous step is over.
  if (!isShown && (!isVersion(version) || version === shown.fromKubernetesVersion)) return undefined;
  const call = isShown ? shown : about(shown, version);
  return { ...newOperation(call, cluster, firstAsked, undefined), fromStatusOnly: true };
}
