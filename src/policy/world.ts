/** The inputs of decide() besides the policies: plain data, gathered by the caller. */

import type { Cluster, StoredNamespace } from "../api/meta.ts";
import type { HookCall, HookName } from "../api/runtime-hooks.ts";
import type { ObjectReader } from "./watched-objects.ts";
import { type HolderRef, policyName } from "./policy-ref.ts";
import type { MarkReaders } from "./mark.ts";
import type { TaskReader } from "./tasks/task-record.ts";

export interface ClusterCall {
  readonly call: HookCall;
  readonly cluster: Cluster;
}

/**
 * A deletion in which the garbage collector waits for no hook: it deletes first what the Cluster owns, or takes the owner
 * references from it.
 */
export type Cascade = "Foreground" | "Orphan";

/** The content of a hook request, or of a review. */
export interface DecisionRequest extends ClusterCall {
  /**
   * Set for a review, which asks whether a request may begin the operation. `cluster` is the object of the review: the API
   * server stores it only if nothing else has changed the Cluster, so no read could be newer.
   */
  readonly admission?: true;
  /** With `admission`: whether the hook would hold such a deletion, because a hold would be worthless. */
  readonly cascade?: Cascade;
  /** No other client can have sent the review, so its names are not invented. */
  readonly fromApiServer?: true;
}

export interface Situation {
  readonly world: World;
  readonly call: HookCall;
  readonly now: Date;
}

export interface NamespaceLister {
  get(name: string): StoredNamespace | undefined;
  list(): Iterable<StoredNamespace>;
}

export interface World {
  readonly cluster: Cluster;
  /** `undefined`: unknown; rules that depend on it are not evaluable. */
  readonly namespace: StoredNamespace | undefined;
  readonly objects: ObjectReader;
  /** All Namespaces, for gates that look into others than the Cluster's own. Absent: unknown, and such gates are not evaluable. */
  readonly namespaces?: NamespaceLister;
  /** All overrides of this Cluster, including expired ones. */
  readonly overrides: readonly Override[];
  /** The HookTasks of the Cluster. Absent: unknown, and rules with tasks hold. */
  readonly tasks?: TaskReader;
  /** Keep what may begin, and store it: `begins` and `toStore` of the decision. */
  readonly rendersTasks?: true;
  /** What else reads marks: for the commands in messages only. */
  readonly readers?: MarkReaders;
  /** The stored state of this operation; absent: this is its first call. */
  readonly state?: OperationState;
}

/** The state of an operation between calls. */
export interface OperationState {
  readonly firstAsked: Date;
  /** Earlier first calls by the uid of the policy whose status records them; each counts for that policy alone. */
  readonly reportedBy?: ReadonlyMap<string, Date>;
  /** Whether only those policies know of the operation: the Cluster does not show yet that it is requested. */
  readonly fromStatusOnly?: boolean;
  /** By timerKey(); only rules with a deadline or a wait have an entry. */
  readonly rules: ReadonlyMap<string, RuleTimers>;
}

/** The first call as it counts for one policy; `undefined`: this is the first call. */
export function firstAskedBy(
  { firstAsked, reportedBy, fromStatusOnly }: OperationState,
  policyUID: string,
): Date | undefined {
  return reportedBy?.get(policyUID) ?? (fromStatusOnly === true ? undefined : firstAsked);
}

export interface RuleTimers {
  /** When the rule first held the operation: its deadline counts from here. */
  readonly blockedSince?: Date;
  /** Since when all gates except the waits are met without interruption: waits count from here. */
  readonly gatesMetSince?: Date;
}

export function timerKey(policyUID: string, rule: string): string {
  return `${policyUID}/${rule}`;
}

/** The parts of the world that were just read from the API server. */
export type LiveWorld = Pick<
  World,
  "cluster" | "namespace" | "namespaces" | "objects" | "overrides" | "tasks"
>;

/** Break-glass: while a HookOverride is active, the policies that it names do not hold its Cluster. */
export interface Override {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly clusterRef: { readonly namespace: string; readonly name: string; readonly uid?: string };
  readonly hooks: ReadonlySet<HookName>;
  /** policyName() of each policy; absent: all policies. */
  readonly policies?: ReadonlySet<string>;
  readonly expiresAt: Date;
  /** Why the override never has an effect. */
  readonly problem?: OverrideProblem;
}

export interface OverrideProblem {
  readonly reason: "InvalidSpec" | "TooLong" | "TooLarge";
  readonly message: string;
}

export function isActive(override: Override, cluster: Cluster, hook: HookName, now: Date): boolean {
  const { clusterRef, problem, expiresAt, hooks } = override;
  const { namespace, name, uid } = cluster.metadata;
  return (
    problem === undefined &&
    clusterRef.namespace === namespace &&
    clusterRef.name === name &&
    (clusterRef.uid === undefined || clusterRef.uid === uid) &&
    hooks.has(hook) &&
    now < expiresAt
  );
}

export function covers({ policies }: Override, holder: HolderRef): boolean {
  return policies === undefined || policies.has(policyName(holder));
}
