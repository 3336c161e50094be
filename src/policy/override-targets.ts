/** Finds what a HookOverride names and does not exist, so that the override has no effect on it. */

import type { HookOverride, PolicyRefSpec } from "../api/hook-policy.ts";
import { policyName } from "./policy-ref.ts";
import type { FieldError } from "./validation/schema.ts";

export interface Targets {
  readonly cluster: (
    namespace: string,
    name: string,
  ) => { readonly metadata: { readonly uid?: string } } | undefined;
  /** True where that is not known. */
  readonly has: (ref: PolicyRefSpec) => boolean;
}

/** The path of a Cluster that does not exist, and of a uid that another one has. */
const CLUSTER_REF = "spec.clusterRef";
export const UID = `${CLUSTER_REF}.uid`;

type TargetNames = Pick<HookOverride["spec"], "clusterRef" | "policyRefs">;

export function missingTargets({ clusterRef, policyRefs = [] }: TargetNames, targets: Targets): FieldError[] {
  const missing = policyRefs.flatMap((ref, index) =>
    targets.has(ref)
      ? []
      : [{ path: `spec.policyRefs[${index}]`, message: `there is no ${policyName(ref)}` }],
  );
  return [...missingCluster(clusterRef, targets), ...missing];
}

function missingCluster({ namespace, name, uid }: TargetNames["clusterRef"], targets: Targets): FieldError[] {
  const cluster = targets.cluster(namespace, name);
  if (cluster === undefined)
    return [{ path: CLUSTER_REF, message: `there is no Cluster ${namespace}/${name}` }];
  if (uid === undefined || uid === cluster.metadata.uid) return [];
  // Does not name the uid, because a user who may write overrides may not be allowed to read Clusters.
  const message = `Cluster ${namespace}/${name} has another uid: the override has no effect on it`;
  return [{ path: UID, message }];
}
