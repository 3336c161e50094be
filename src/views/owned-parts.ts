import { type Fields, fieldsOf, listOf, nonEmptyText, textOf } from "../lib/fields.ts";
import type { OwnedPart } from "../api/meta.ts";

/** Cluster API itself may read no other groups (its ClusterRole, core/reconcilers/cluster/cluster_controller.go). */
export const PART_GROUPS: readonly string[] = [
  "controlplane.cluster.x-k8s.io",
  "infrastructure.cluster.x-k8s.io",
];

const REFERENCES = [
  { field: "controlPlaneRef", condition: "ControlPlaneAvailable" },
  { field: "infrastructureRef", condition: "InfrastructureReady" },
] as const;

/**
 * The objects that the Cluster refers to. Cluster API watches them, and its conditions (1.10 to 1.14) have the reason
 * ObjectDeleted once one that was provisioned is gone (core/reconcilers/cluster/cluster_controller_status.go). v1beta1
 * has these conditions in status.v1beta2, and an apiVersion in place of the apiGroup.
 */
export function viewParts(spec: Fields, status: Fields): OwnedPart[] {
  const conditions = listOf(fieldsOf(status["v1beta2"])["conditions"] ?? status["conditions"]).map(fieldsOf);
  return REFERENCES.flatMap(({ field, condition }) => {
    const reference = fieldsOf(spec[field]);
    const name = nonEmptyText(reference["name"]);
    if (name === undefined) return [];
    const group = nonEmptyText(reference["apiGroup"]) ?? textOf(reference["apiVersion"]).split("/")[0] ?? "";
    const isGone = conditions.some(({ type, reason }) => type === condition && reason === "ObjectDeleted");
    return [{ group, kind: textOf(reference["kind"]), name, ...(isGone && { isGone }) }];
  });
}
