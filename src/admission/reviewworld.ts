/** What admission looks at besides the review itself. */

import type { Cluster, LabelSelector } from "../api/meta.ts";
import type { ObjectKind } from "../policy/objects.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { UserInfo } from "./review.ts";
import type { PolicyKind } from "../policy/policyref.ts";

/** What is in memory: only for warnings. */
export interface AdmissionWorld {
  /** Before, nothing that is missing tells anything. */
  loaded(): boolean;
  /** Some Cluster is selected now, or that takes too long to tell. */
  matchesCluster(selection: Selection): Promise<boolean>;
  cluster(namespace: string, name: string): Cluster | undefined;
  policy(kind: PolicyKind, namespace: string | undefined, name: string): CompiledPolicy | undefined;
  /** Those that match the Cluster. */
  policiesOf(cluster: Cluster): readonly CompiledPolicy[];
}

/** The Clusters that a policy is about. */
export interface Selection {
  /** The first selector that says something. */
  readonly field: "clusterSelector" | "namespaceSelector";
  /** Absent: `namespaceSelector` says which. */
  readonly namespace?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly clusterSelector?: LabelSelector;
}

/** `problem`: why the operator cannot look at objects of the kind, in words for users. */
export type LocatedKind =
  | {
      readonly resource: { readonly group: string; readonly plural: string; readonly namespaced: boolean };
      readonly problem?: string;
    }
  /** The API server serves no objects of the kind that could be watched. */
  | { readonly resource?: undefined; readonly problem: string };

/** authorization.k8s.io/v1 ResourceAttributes. No namespace: all of them. */
export interface Access {
  readonly verb: "get" | "list";
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** What only the API server can say. Both reject when it does not answer. */
export interface AccessReviewer {
  locate(kind: ObjectKind, signal: AbortSignal): Promise<LocatedKind>;
  may(user: UserInfo, access: Access, signal: AbortSignal): Promise<boolean>;
}
