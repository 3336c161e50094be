/** Annotations on a Cluster that let it past hooks and checks. */

import {
  type Cluster,
  OK_TO_DELETE_ANNOTATION,
  UNSAFE_CLASS_ANNOTATION,
  UNSAFE_VERSION_ANNOTATION,
} from "../api/meta.ts";
import { type Labels, lookup } from "../api/selector.ts";

/** They count before anyone has asked for the operation. */
export const BYPASSES = {
  "ok-to-delete": OK_TO_DELETE_ANNOTATION,
  "disable-update-version-check": UNSAFE_VERSION_ANNOTATION,
  "disable-update-class-name-check": UNSAFE_CLASS_ANNOTATION,
} as const;

export type Bypass = keyof typeof BYPASSES;

/** Without those that Cluster API has written itself, while it deletes the Cluster. */
export function bypassesOf({ metadata, topology }: Pick<Cluster, "metadata" | "topology">): Bypass[] {
  const { annotations, deletionTimestamp } = metadata;
  const found: Bypass[] = [];
  // Cluster API looks at the mark only for Clusters with a topology (core/reconcilers/cluster/cluster_controller.go).
  if (topology !== undefined && deletionTimestamp === undefined && has(annotations, "ok-to-delete"))
    found.push("ok-to-delete");
  for (const unsafe of ["disable-update-version-check", "disable-update-class-name-check"] as const)
    if (has(annotations, unsafe)) found.push(unsafe);
  return found;
}

function has(annotations: Labels, bypass: Bypass): boolean {
  return lookup(annotations, BYPASSES[bypass]) !== undefined;
}
