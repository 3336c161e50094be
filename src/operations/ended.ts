/** Whether an operation has ended, as the Cluster shows it. */

import type { Cluster } from "../api/meta.ts";
import { targetVersion } from "../api/target-version.ts";
import { shownVersion, stepOf } from "./call.ts";
import type { PendingOperation } from "./operation.ts";
import { HOOK_LIVES, isBeingDeleted, type ServedUpgrades } from "./hook-lives.ts";

/**
 * Whether the Cluster shows that the operation proceeded, or is not wanted any more; a missing call is no evidence. For the
 * marks, see Cluster API's core:internal/hooks/tracking.go and the topology reconcilers that call the hooks.
 */
export function hasEnded(operation: PendingOperation, cluster: Cluster, served: ServedUpgrades): boolean {
  const { hook } = operation.call;
  if (cluster.metadata.uid !== operation.clusterUID || stepOf(hook, cluster) !== operation.step) return true;
  const version = shownVersion(hook, cluster);
  // A condition about an error shows no version, which does not end the operation.
  if (version !== undefined && version !== targetVersion(operation.call)) return true;
  return showsEnd(operation, cluster, served);
}

/** The same for an operation that the Cluster as it is may be about: Cluster API does not call the hook for it any more. */
export function showsEnd(operation: PendingOperation, cluster: Cluster, served: ServedUpgrades): boolean {
  const { hook } = operation.call;
  if (isBeingDeleted(cluster) && hook !== "BeforeClusterDelete") return true;
  return HOOK_LIVES[hook].ends(operation.marked, cluster, served);
}
