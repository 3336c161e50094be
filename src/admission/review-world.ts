/** The inputs of admission besides the review itself. */

import type { Cluster } from "../api/meta.ts";
import type { ObjectKind } from "../policy/watched-objects.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { UserInfo } from "./review-validators.ts";
import type { PolicyKind } from "../policy/policy-ref.ts";

/** The contents of memory, only for warnings. */
export interface AdmissionWorld {
  /** Whether loading has finished; before that, missing objects prove nothing. */
  loaded(): boolean;
  /** Whether some Cluster is selected now; also true if checking takes too long. */
  matchesCluster(selection: Selection): Promise<boolean>;
  cluster(namespace: string, name: string): Cluster | undefined;
  policy(kind: PolicyKind, namespace: string | undefined, name: string): CompiledPolicy | undefined;
  hasRollout(name: string): boolean;
}

/** The Clusters that a policy selects. */
export interface Selection extends Pick<CompiledPolicy, "ref" | "selectsCluster" | "selectsNamespace"> {
  /** The first selector that restricts the selection. */
  readonly field: "clusterSelector" | "namespaceSelector";
}

/** `problem`: why the operator cannot read objects of the kind, in words for users. */
export type KindLocation =
  | {
      readonly resource: { readonly group: string; readonly plural: string; readonly namespaced: boolean };
      readonly problem?: string;
    }
  /** The API server serves no watchable objects of the kind. */
  | { readonly resource?: undefined; readonly problem: string };

/** authorization.k8s.io/v1 ResourceAttributes. No namespace: all namespaces. */
export interface Access {
  readonly verb: "get" | "list" | "impersonate";
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Questions that only the API server can answer. Both methods reject if it does not answer. */
export interface AccessReviewer {
  locate(kind: ObjectKind, signal: AbortSignal): Promise<KindLocation>;
  may(user: UserInfo, access: Access, signal: AbortSignal): Promise<boolean>;
}
