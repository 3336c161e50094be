/** Whether an operation has ended, as the Cluster shows it. */

import { type Cluster, OK_TO_DELETE_ANNOTATION } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { lookup } from "../policy/selector.ts";
import { targetVersion } from "../policy/target-version.ts";
import { shownVersion } from "./call.ts";
import { isPending, markOf } from "./marks.ts";
import type { PendingOperation } from "./operation.ts";
import { hasBegun, isAtVersion, isDeleted, type ServedUpgrades } from "./shows.ts";
import { stepOf } from "./step.ts";

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
  if (isDeleted(cluster) && hook !== "BeforeClusterDelete") return true;
  return SHOWS_END[hook](operation, cluster, served);
}

type ShowsEnd = (operation: PendingOperation, cluster: Cluster, served: ServedUpgrades) => boolean;

const markIsGone: ShowsEnd = (operation, cluster) =>
  operation.marked && !isPending(cluster, markOf(operation.call.hook));

const SHOWS_END: Readonly<Record<HookName, ShowsEnd>> = {
  BeforeClusterCreate: (_, cluster) => cluster.created,
  AfterControlPlaneInitialized: markIsGone,
  BeforeClusterUpgrade: (_, cluster, served) => hasBegun(cluster, served) || isAtVersion(cluster),
  BeforeControlPlaneUpgrade: (operation, cluster, served) =>
    isPending(cluster, "AfterControlPlaneUpgrade") || markIsGone(operation, cluster, served),
  AfterControlPlaneUpgrade: markIsGone,
  BeforeWorkersUpgrade: markIsGone,
  AfterWorkersUpgrade: markIsGone,
  AfterClusterUpgrade: markIsGone,
  BeforeClusterDelete: (_, { metadata }) =>
    lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) !== undefined,
};
