/** The metadata of a template beyond its name and namespace, and what the operator itself writes there. */

import { type Fields, isFields } from "../../lib/fields.ts";
import type { FieldError } from "../validation/schema.ts";

export const MANAGED_BY = "app.kubernetes.io/managed-by";
/** The name of the HookTask. */
export const TASK_LABEL = "hookpolicy.dev/task";
/** An annotation of what a task creates; a label of HookTasks, to select those of a Cluster: their spec says which it is. */
export const CLUSTER_UID = "hookpolicy.dev/cluster-uid";

const TEXTS = { labels: [MANAGED_BY, TASK_LABEL], annotations: [CLUSTER_UID] } as const;

/**
 * What would be missing on the object that is sent, or be another value there; paths begin below metadata. `isOpen`: values that
 * are not known yet, which may turn out to fit.
 */
export function metadataProblems(
  metadata: Fields,
  ownedByCluster: boolean,
  isOpen: (value: unknown) => boolean = () => false,
): readonly FieldError[] {
  const left = (value: unknown): boolean => value === undefined || value === null || isOpen(value);
  const owners =
    ownedByCluster && !left(metadata["ownerReferences"])
      ? [{ path: "ownerReferences", message: "ownedByCluster sets them. Use one of the two" }]
      : [];
  const texts = Object.entries(TEXTS).flatMap(([field, reserved]): FieldError[] => {
    const value = metadata[field];
    if (left(value)) return [];
    if (!isFields(value)) return [{ path: field, message: "expected an object of texts" }];
    return Object.entries(value).flatMap(([key, text]): FieldError[] => {
      const path = `${field}[${key}]`;
      if (reserved.some((own) => own === key)) return [{ path, message: "HookPolicy sets it. Remove it" }];
      return left(text) || typeof text === "string" ? [] : [{ path, message: "expected a text" }];
    });
  });
  return [...owners, ...texts];
}
