/** What memory needs from others: objects, the API server, and listeners to its changes. */

import type { ServedHooks } from "../api/hook-catalog.ts";
import type {
  HookOverride,
  HookOverrideStatus,
  HookPolicyStatus,
  HookRollout,
  HookRolloutStatus,
} from "../api/hook-policy.ts";
import type { Logger } from "../lib/logger.ts";
import type { Cluster, Namespace, ObjectMeta, OwnedPart } from "../api/meta.ts";
import type { HookCall } from "../api/runtime-hooks.ts";
import type { FoundObjects, ObjectReader } from "../policy/objects.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import type { TaskReader, TaskRecord } from "../policy/tasks/task-record.ts";
import type { TimeAllowance } from "../turns/allowance.ts";
import type { ServerTime } from "../lib/clock-skew.ts";
import type { OverrideEntry } from "./override-set.ts";
import type { PolicyEntry } from "./policy-entry.ts";
import type { Transition } from "./transitions.ts";
import type { HolderRef, PolicyKind } from "../policy/policy-ref.ts";
import type { PolicyObject } from "./policy-set.ts";
import type { ClusterCall } from "../policy/world.ts";

/** The content of a hook request, or of a review. */
export interface DecisionRequest extends ClusterCall {
  /**
   * Set for a review, which asks whether a request may begin the operation. `cluster` is the object of the review: the API
   * server stores it only if nothing else has changed the Cluster, so no read could be newer.
   */
  readonly admission?: true;
  /** With `admission`: whether the hook would hold the deletion, because a hold would be worthless. */
  readonly foreground?: true;
  /** No other client can have sent the review, so its names are not invented. */
  readonly fromApiServer?: true;
}

/** The read side of an informer. */
export interface Lister<T> {
  get(key: string): T | undefined;
  byNamespace(namespace: string): Iterable<T>;
  list(): Iterable<T>;
}

export interface StoreOptions {
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<Namespace>;
  readonly objects: ObjectReader;
  /** Absent: unknown, and rules with tasks hold. */
  readonly tasks?: TaskReader;
  readonly served: ServedHooks;
  /** Longer HookOverrides have no effect. */
  readonly maxOverrideMs: number;
  /** The settings with which Cluster API calls about the Clusters of a namespace; `undefined`: unknown. */
  readonly settings?: (namespace: string) => HookCall["settings"];
  /** Whether a control plane or infrastructure has a deletionTimestamp, as far as the operator may see that. */
  readonly isBeingDeleted?: (namespace: string, part: OwnedPart) => boolean;
  readonly log: Logger;
  readonly now: () => Date;
  /** The status or finalizer of the policy, or the status of the override, may have to change: reconcile it. */
  readonly enqueue: (key: string) => void;
  /** Only the status has changed: reconciling is not urgent. */
  readonly onStatusWritten: (policyKey: string) => void;
  /** The kinds of objects that gates look at may have changed. */
  readonly onDemands: () => void;
  /** Reports a transition to users: once, when it happens. */
  readonly onTransition: (transition: Transition) => void;
  /** A decision in memory has changed, this long after its cause was seen or was due. */
  readonly onAnswerChanged?: (latencyMs: number) => void;
  /** How long evaluations may block the event loop at a time. */
  readonly turnMs?: number;
  /** The same for compiling policies; absent: as long as evaluations. */
  readonly compileMs?: number;
  /** The same for work that is due. */
  readonly alarmMs?: number;
  /** How much time each namespace may use for work that is due. */
  readonly allowance?: TimeAllowance;
}

/** Why the operator cannot know something. */
export interface Unavailable {
  readonly reason: string;
  readonly message: string;
}

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

/** The part of the API server that policies and overrides need. `undefined`: the object does not exist (any more). */
export interface PolicyWriter {
  /** Quorum read. */
  findNamespace(name: string): Promise<Namespace | undefined>;
  /**
   * Quorum read: whether the namespace has a Cluster that `selector` matches, in the syntax of `kubectl get -l`.
   * `undefined`: the API server does not serve Clusters.
   */
  hasCluster(namespace: string, selector: string): Promise<boolean | undefined>;
  getOverride(entry: OverrideEntry): Promise<HookOverride | undefined>;
  replaceOverrideStatus(entry: OverrideEntry, status: HookOverrideStatus): Promise<HookOverride | undefined>;
  isConflict(error: unknown): boolean;
  get(entry: PolicyEntry): Promise<PolicyObject | undefined>;
  replaceStatus(entry: PolicyEntry, status: HookPolicyStatus): Promise<PolicyObject | undefined>;
  setFinalizers(entry: PolicyEntry, finalizers: readonly string[]): Promise<PolicyObject | undefined>;
}

/** The part of the API server that rollouts need. Quorum reads; each rejects when it cannot be answered. */
export interface RolloutApi extends ServerTime {
  /** `undefined`: there is none of this name. */
  getRollout(name: string): Promise<HookRollout | undefined>;
  /** Metadata of all Clusters. */
  members(): Promise<readonly ObjectMeta[]>;
  /** `undefined`: there is none of this name. */
  findCluster(namespace: string, name: string): Promise<Cluster | undefined>;
  /** Stores the status if the rollout is unchanged since `object` was read; rejects otherwise. */
  replaceRolloutStatus(object: HookRollout, status: HookRolloutStatus): Promise<HookRollout | undefined>;
  isConflict(error: unknown): boolean;
}
