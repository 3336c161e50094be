/** Whether others than Cluster API delete what a Cluster owns, before BeforeClusterDelete has released it. */

import type { TornDown } from "../api/hook-policy.ts";
import { type Cluster, OK_TO_DELETE_ANNOTATION, type OwnedPart } from "../api/meta.ts";
import { lookup } from "../api/selector.ts";

/** metav1.FinalizerDeleteDependents: once the Cluster is being deleted, the garbage collector deletes what it owns. */
export const FOREGROUND_FINALIZER = "foregroundDeletion";

/** The worst first. */
export const TORN_DOWN_REASONS = [
  "ForegroundDeletion",
  "OwnedObjectsDeleted",
] as const satisfies readonly TornDown["reason"][];

/**
 * No hook is called about these deletions. `isBeingDeleted`: about a part that Cluster API still finds. `undefined` also
 * where the deletion was released: Cluster API then deletes what the Cluster owns.
 */
export function tornDown(
  cluster: Cluster,
  isBeingDeleted: (part: OwnedPart) => boolean = () => false,
): TornDown | undefined {
  const { metadata, topology, parts = [] } = cluster;
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const isReleased = isDeleted && lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) !== undefined;
  if (topology === undefined || isReleased) return undefined;
  const lost = parts.flatMap((part) => {
    if (part.isGone === true) return [`${part.kind} ${part.name} is gone`];
    return isBeingDeleted(part) ? [`${part.kind} ${part.name} is being deleted`] : [];
  });
  const foreground = isDeleted
    ? "the garbage collector deletes what the Cluster owns, whatever holds it: its deletion is a foreground deletion"
    : "a deletion without a propagation policy will delete what the Cluster owns, whatever holds it: it has the finalizer foregroundDeletion";
  if (metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true)
    return { reason: "ForegroundDeletion", message: [foreground, ...lost].join("; ") };
  if (lost.length === 0) return undefined;
  return { reason: "OwnedObjectsDeleted", message: `${lost.join("; ")}: Cluster API has not deleted that` };
}
