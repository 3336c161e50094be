/** What a release needs to read before it: the adapter of the API server (adapters/api-server.ts) reads it. */

import type { Cluster, Namespace, ObjectMeta } from "../api/meta.ts";
import type { ServerTime } from "../lib/clock-skew.ts";
import type { FoundObjects } from "../policy/watched-objects.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import type { HolderRef, PolicyKind } from "../policy/policy-ref.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";

/** Metadata of all policies of a kind, as they were at `resourceVersion`. */
export interface PolicyList {
  readonly resourceVersion: string;
  readonly items: readonly ObjectMeta[];
}

/** Quorum reads (no resourceVersion) of the API server; each rejects when it cannot be answered. */
export interface LiveReader extends ServerTime {
  /**
   * The ClusterHookPolicies, or the HookPolicies of a namespace; `at`: as they were at this resourceVersion, which may come
   * from a list of another kind. A definition that is being deleted may have taken them with it: see `definition`.
   */
  policies(kind: PolicyKind, namespace: string | undefined, at?: string): Promise<PolicyList>;
  /** Metadata of all HookRollouts as they were at this resourceVersion, which may come from a list of another kind. */
  rollouts(at: string): Promise<readonly ObjectMeta[]>;
  /**
   * The uid of the kind's CustomResourceDefinition; rejects if it is being deleted. Objects of the kind that were listed
   * are all there were if the uid was the same before the list, and is the same in a read that begins after it.
   */
  definition(kind: HolderRef["kind"]): Promise<string>;
  cluster(namespace: string, name: string): Promise<Cluster>;
  namespace(name: string): Promise<Namespace>;
  /** Metadata of all Namespaces. */
  namespaces(): Promise<readonly Namespace[]>;
  /** Metadata of the HookOverrides. */
  overrides(): Promise<readonly ObjectMeta[]>;
  objects(query: ObjectQuery): Promise<FoundObjects>;
  /** The HookTasks of a Cluster in the namespace of a ServiceAccount. */
  tasks(namespace: string, clusterUID: string): Promise<readonly TaskRecord[]>;
  /** The reason label of a failed read in metrics, such as "Forbidden": one of few. */
  reasonOf(error: unknown): string;
}
