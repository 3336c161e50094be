/**
 * The state in memory, which informers fill, or the objects of files or a test suite. A change replaces a value as a whole,
 * so an identical value has not changed.
 */

import type { ServedHooks } from "../api/hook-catalog.ts";
import type { Logger } from "../lib/logger.ts";
import { LARGEST_FLEET } from "../lib/kept.ts";
import type { EventText } from "../api/event-text.ts";
import type { Cluster, OwnedPart, StoredNamespace } from "../api/meta.ts";
import type { HookCall, HookName } from "../api/runtime-hooks.ts";
import type { PendingOperations } from "../operations/operation.ts";
import type { ObjectReader } from "../policy/watched-objects.ts";
import type { NamespaceLister, OperationState, World } from "../policy/world.ts";
import type { TaskReader } from "../policy/tasks/task-record.ts";
import type { TimeAllowance } from "../turns/allowance.ts";
import type { OverrideSet } from "./override-set.ts";
import type { PolicySet } from "./policy-set.ts";

/** The read side of an informer. */
export interface Lister<T> {
  get(key: string): T | undefined;
  byNamespace(namespace: string): Iterable<T>;
  list(): Iterable<T>;
}

export interface Memory {
  readonly policies: PolicySet;
  readonly overrides: OverrideSet;
  readonly operations: PendingOperations;
  readonly clusters: Lister<Cluster>;
  readonly namespaces: Lister<StoredNamespace>;
  readonly objects: ObjectReader;
  /** Absent: unknown, and rules with tasks hold. */
  readonly tasks?: TaskReader;
}

/** What a store reads, how it works, and who listens to its changes. */
export interface StoreOptions extends Pick<Memory, "clusters" | "namespaces" | "objects" | "tasks"> {
  readonly served: ServedHooks;
  /** Longer HookOverrides have no effect. */
  readonly maxOverrideMs: number;
  /** The settings with which Cluster API calls about the Clusters of a namespace; `undefined`: unknown. */
  readonly settings?: (namespace: string) => HookCall["settings"];
  /** Whether a control plane or infrastructure has a deletionTimestamp, as far as the operator may see that. */
  readonly isBeingDeleted?: (namespace: string, part: OwnedPart) => boolean;
  /** The rollouts that would hold the Cluster at the hook. */
  readonly liftedRollouts?: (world: World, hook: HookName) => readonly Lifted[];
  readonly log: Logger;
  readonly now: () => Date;
  /** The status or finalizer of the policy, or the status of the override, may have to change: reconcile it. */
  readonly enqueue: (key: string) => void;
  /** Only the status has changed: reconciling is not urgent. */
  readonly onStatusWritten: (policyKey: string) => void;
  /** The kinds of objects that gates look at may have changed. */
  readonly onDemands: () => void;
  /** Something has happened that users learn of. */
  readonly onEvent: (event: EventText) => void;
  /** A decision in memory has changed, this long after its cause was seen or was due. */
  readonly onAnswerChanged?: (latencyMs: number) => void;
  /** How long evaluations may block the event loop at a time. Only tests set it, and the two that follow. */
  readonly turnMs?: number;
  /** The same for compiling policies; absent: as long as evaluations. */
  readonly compileMs?: number;
  /** How much time each namespace may use for work that is due. */
  readonly allowance?: TimeAllowance;
}

/** What would hold an operation but for an override. */
export interface Lifted {
  /** Such as "HookRollout upgrades". */
  readonly holder: string;
  readonly override: string;
}

/** Why the operator cannot know something. */
export interface Unavailable {
  readonly reason: string;
  readonly message: string;
}

/** Why Cluster API does not call; "Unknown": the operator does not know yet. */
export type NotCalled = Unavailable | "Unknown" | undefined;

/** The inputs of a decision about any Cluster. */
export interface WorldSources extends Pick<Memory, "policies" | "overrides" | "objects" | "tasks"> {
  /** Without `list`, only some are known. */
  readonly namespaces: Pick<NamespaceLister, "get"> & Partial<NamespaceLister>;
}

export function worldOf(
  { policies, overrides, namespaces, objects, tasks }: WorldSources,
  cluster: Cluster,
  state?: OperationState,
): World {
  return {
    cluster,
    namespace: namespaces.get(cluster.metadata.namespace ?? ""),
    ...(hasAll(namespaces) && { namespaces }),
    objects,
    overrides: overrides.ofCluster(cluster),
    ...(tasks !== undefined && { tasks }),
    readers: policies.readers,
    ...(state !== undefined && { state }),
  };
}

function hasAll(namespaces: WorldSources["namespaces"]): namespaces is NamespaceLister {
  return namespaces.list !== undefined;
}

/** The call as Cluster API would send it now: the settings of the ExtensionConfigs are not remembered. */
export function withSettings(
  call: HookCall,
  namespace: string,
  options: Pick<StoreOptions, "settings">,
): HookCall {
  const settings = options.settings?.(namespace);
  return settings === undefined ? call : { ...call, settings };
}

/** Tells whether anything has changed that a decision about a Cluster is made from, beside objects, tasks and the time. */
export class Revisions {
  #latest = 0;
  #ofAll = 0;
  /** By the name of a Namespace, or by clusterKey; objects can name some that do not exist. */
  readonly #named = new Map<string, number>();

  /** Unchanged as long as nothing about the Cluster has changed. */
  of(namespace: string, clusterKey: string): number {
    return Math.max(this.#ofAll, this.#named.get(namespace) ?? 0, this.#named.get(clusterKey) ?? 0);
  }

  /** `undefined`: in all Namespaces. Where there are too many names, everything counts as changed. */
  changed(name: string | undefined): void {
    this.#latest += 1;
    if (name !== undefined && this.#named.size < 2 * LARGEST_FLEET) {
      this.#named.set(name, this.#latest);
    } else {
      this.#named.clear();
      this.#ofAll = this.#latest;
    }
  }
}
