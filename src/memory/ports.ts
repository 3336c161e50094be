/** The inputs of memory, its dependencies, and the listeners to its changes. */

import type { ServedHooks } from "../api/hook-catalog.ts";
import type { Logger } from "../lib/logger.ts";
import type { Cluster, Namespace, OwnedPart } from "../api/meta.ts";
import type { HookCall } from "../api/runtime-hooks.ts";
import type { ObjectReader } from "../policy/watched-objects.ts";
import type { TaskReader } from "../policy/tasks/task-record.ts";
import type { TimeAllowance } from "../turns/allowance.ts";
import type { Transition } from "./transitions.ts";
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
