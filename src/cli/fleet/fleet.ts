/** The world of decide(), built from objects of files or of an API server. */

import { byText } from "../../lib/compare-text.ts";
import { fieldsOf, isFields, listOf } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import {
  CONDITION,
  type DecisionRow,
  type HookOverride,
  type HookPolicyStatus,
  type HookRollout,
  type HookRolloutStatus,
} from "../../api/hook-policy.ts";
import type { Cluster, Namespace } from "../../api/meta.ts";
import type { HookCall, HookName } from "../../api/runtime-hooks.ts";
import { adoptRow, oncePerOperation } from "../../operations/adopt-row.ts";
import { clusterOfRow } from "../../operations/rows.ts";
import { pendingDeletion, type PendingOperation, PendingOperations } from "../../operations/operation.ts";
import { clusterKey, viewCluster, viewMetadata, viewNamespace } from "../../views/cluster.ts";
import { compilePolicy } from "../../policy/compile.ts";
import { matches, objectQueries } from "../../policy/decide.ts";
import type { ServedHooks } from "../../api/hook-catalog.ts";
import type { ObjectReader } from "../../policy/watched-objects.ts";
import { compileOverride } from "../../policy/compile-override.ts";
import type { Override, World } from "../../policy/world.ts";
import { type CompiledPolicy, demandsOf, type ObjectDemand, type ObjectQuery } from "../../policy/policy.ts";
import { stageDemands } from "../../rollouts/promotion.ts";
import type { TaskReader } from "../../policy/tasks/task-record.ts";
import type { Lister, Memory, WorldSources } from "../../memory/memory.ts";
import { OverrideSet } from "../../memory/override-set.ts";
import type { PolicyEntry } from "../../memory/policy-entry.ts";
import { policyKey, type PolicyObject, PolicySet } from "../../memory/policy-set.ts";
import { isSameSpec } from "../../memory/same-object.ts";
import {
  identityOf,
  isCluster,
  isNamespace,
  type OwnKind,
  ownKind,
  PAUSE_REASON,
  platformIn,
  policyKind,
  type RawObject,
  viewOverride,
  viewPolicy,
  viewRollout,
} from "./kinds.ts";
import { worldOfCall } from "./call-world.ts";
import { objectReader, stored } from "./given-objects.ts";
import type { Reader } from "../../policy/mark-readers.ts";
import { rolloutOperations } from "./rollout-operations.ts";
import { taskReader } from "./task-reader.ts";
import { lookup } from "../../api/selector.ts";
import { memberOf } from "../../rollouts/member.ts";
import { type CompiledRollout, compileRollout } from "../../rollouts/rollout.ts";
import { policyName } from "../../policy/policy-ref.ts";

export interface FleetOptions {
  readonly served: ServedHooks;
  /** Longer HookOverrides have no effect. */
  readonly maxOverrideMs: number;
  /** Timers that begin later in a status do not count. */
  readonly now: Date;
  /** The creation time of overrides that are not created yet; default: `now`. */
  readonly created?: Date;
  /** Whether the override of this name can mean a Cluster whose uid is not known, although it names a uid; default: each can. */
  readonly canMeanUnknown?: (override: string) => boolean;
  /**
   * Whether the objects are complete, as in a test suite: a kind without objects has none. Otherwise such a kind is
   * unknown, and gates that look for it are not evaluable.
   */
  readonly complete?: boolean;
  /** Whether the Namespaces are all there are; by default, if there are some and `objects` is absent. */
  readonly allNamespaces?: boolean;
  /** Replaces the search among the objects, for example when they were read from an API server. */
  readonly objects?: ObjectReader;
  /** Replaces the HookTasks among the objects. "Unread": they are unknown, and rules with tasks hold. */
  readonly tasks?: TaskReader | "Unread" | undefined;
  /** Filled with the policies, overrides and rollouts; absent: a new one. */
  readonly memory?: FilledMemory;
}

/** What depends on how the objects were read. */
export type ReadOptions = Pick<FleetOptions, "objects" | "allNamespaces" | "tasks">;

/** The parts of the operator's memory that outlive one state of the fleet. */
export type FilledMemory = Pick<Memory, "policies" | "overrides" | "operations">;

export function emptyMemory(maxOverrideMs: number): FilledMemory {
  return {
    policies: new PolicySet(),
    overrides: new OverrideSet(maxOverrideMs),
    operations: new PendingOperations(),
  };
}

export interface FleetPolicy {
  readonly compiled: CompiledPolicy;
  readonly object: PolicyObject;
  readonly status: Partial<HookPolicyStatus>;
  readonly raw: RawObject;
}

export interface FleetRollout {
  readonly compiled: CompiledRollout;
  readonly spec: HookRollout["spec"];
  readonly status: HookRolloutStatus;
  readonly pauseReason: string | undefined;
}

export class Fleet {
  /** The operator's memory, as these objects fill it. */
  readonly memory: WorldSources & Pick<Memory, "clusters">;
  /** Sorted by name, as on the server. */
  readonly policies: readonly FleetPolicy[];
  readonly overrides: readonly Override[];
  /** Sorted by name, the order in which the operator evaluates them. */
  readonly rollouts: readonly FleetRollout[];
  readonly served: ServedHooks;
  /** ClusterHookPolicies and HookRollouts, as readers of marks. */
  readonly platform: readonly Reader[];
  readonly #now: Date;
  readonly #clusters: ReadonlyMap<string, Cluster>;
  readonly #namespaces: ReadonlyMap<string, Namespace>;
  readonly #rows: ReadonlyMap<string, readonly RecordedRow[]>;

  constructor(given: readonly RawObject[], options: FleetOptions) {
    const { served, now, complete = false, memory = emptyMemory(options.maxOverrideMs) } = options;
    const unique = distinct(given.map(stored));
    const ofKind = (kind: OwnKind): readonly RawObject[] => unique.filter((raw) => ownKind(raw) === kind);
    this.served = served;
    this.#now = now;
    this.policies = fillPolicies(memory, unique, served).toSorted(byText(nameOf));
    this.#rows = Map.groupBy(this.policies.flatMap(rowsOf), ({ row }) => clusterOfRow(row));
    this.#clusters = new Map(
      unique
        .filter(isCluster)
        .map((raw) => withUID(viewCluster(raw), complete))
        .map((cluster): [string, Cluster] => [clusterKey(cluster), cluster])
        .toSorted(byText(([key]) => key)),
    );
    const hasNoUID = (key: string): boolean => this.#clusters.get(key)?.metadata.uid === madeUpUID(key);
    this.overrides = fillOverrides(memory, ofKind("HookOverride"), options, hasNoUID).toSorted(
      byText(({ name }) => name),
    );
    const rollouts = ofKind("HookRollout").map(viewRollout);
    memory.policies.setRollouts(rollouts);
    this.rollouts = rollouts.map(fleetRollout).toSorted(byText(({ compiled }) => compiled.name));
    this.#namespaces = new Map(
      unique.filter(isNamespace).map((raw) => [viewMetadata(raw["metadata"]).name, viewNamespace(raw)]),
    );
    this.platform = platformIn(unique);
    const { objects, allNamespaces = complete || (objects === undefined && this.#namespaces.size > 0) } =
      options;
    const clusters: Lister<Cluster> = {
      get: (key) => this.#clusters.get(key),
      byNamespace: (name) => this.clusters().filter(({ metadata }) => metadata.namespace === name),
      list: () => this.clusters(),
    };
    const namespaces = {
      get: (name: string) => this.namespace(name),
      ...(allNamespaces && { list: () => this.#namespaces.values() }),
    };
    const { tasks = taskReader(unique) } = options;
    this.memory = {
      ...memory,
      clusters,
      namespaces,
      objects: objects ?? objectReader(unique, namespaces.get, complete),
      ...(tasks !== "Unread" && { tasks }),
    };
  }

  clusters(): readonly Cluster[] {
    return [...this.#clusters.values()];
  }

  cluster(namespace: string, name: string): Cluster | undefined {
    return this.#clusters.get(namespacedName({ namespace, name }));
  }

  /** The Clusters that the rollout selects, with or without a topology. */
  selectedBy({ compiled }: FleetRollout): readonly Cluster[] {
    return this.clusters().filter(
      (cluster) => memberOf(compiled, cluster, this.namespaceOf(cluster)) !== undefined,
    );
  }

  namespace(name: string): Namespace | undefined {
    return this.#namespaces.get(name);
  }

  namespaces(): Iterable<Namespace> {
    return this.#namespaces.values();
  }

  namespaceOf({ metadata }: Cluster): Namespace | undefined {
    return this.namespace(metadata.namespace ?? "");
  }

  /** All policies that could match a Cluster of its namespace, in the order of decide(). */
  policiesFor({ metadata }: Cluster): readonly CompiledPolicy[] {
    return this.memory.policies.candidates(metadata.namespace ?? "").compiled;
  }

  /** The inputs of a decision about this operation; without one, about the Cluster as it is. */
  world(cluster: Cluster, operation?: PendingOperation): World {
    return worldOfCall(this.memory, cluster, operation);
  }

  /** What gates of policies, and of stages of rollouts, look at. */
  demands(): readonly ObjectDemand[] {
    return [
      ...this.policies.flatMap(({ compiled }) => demandsOf(compiled)),
      ...this.rollouts.flatMap(({ compiled }) => stageDemands(compiled)),
    ];
  }

  /** The objects that gates look at for this call. */
  queries(world: World, call: HookCall, at: Date): readonly ObjectQuery[] {
    const policies = this.policiesFor(world.cluster);
    return (
      objectQueries(
        policies.filter((policy) => matches(policy, world) !== "no"),
        world,
        call,
        at,
      ) ?? []
    );
  }

  /**
   * The waiting operations, from the statuses of policies and rollouts and from a deletion in progress: what the operator
   * would know after a restart.
   */
  pendingOperations(cluster: Cluster): readonly PendingOperation[] {
    const { uid } = cluster.metadata;
    const context = { cluster, namespace: this.namespaceOf(cluster), now: this.#now, served: this.served };
    const operations = new Map<HookName, PendingOperation>();
    const deletion = pendingDeletion(cluster, this.served);
    if (deletion !== undefined) operations.set("BeforeClusterDelete", deletion);
    for (const { row, policy, status } of this.#rows.get(clusterKey(cluster)) ?? []) {
      if (row.clusterUID !== uid) continue;
      const operation = adoptRow(row, { ...context, policy, status, known: operations.get(row.hook) });
      if (operation !== undefined) operations.set(row.hook, operation);
    }
    const { rollouts, served } = this;
    const ofRollouts = rolloutOperations(cluster, { rollouts, served, now: this.#now });
    return [
      ...[...operations.values()].map(firstOfAll),
      ...ofRollouts.filter(({ call }) => !operations.has(call.hook)),
    ];
  }
}

/** Shows the earliest time that any policy has recorded; in decisions, each record counts for its own policy only. */
function firstOfAll(operation: PendingOperation): PendingOperation {
  const said = [...(operation.reportedBy?.values() ?? [])].map((time) => time.getTime());
  return said.length === 0 ? operation : { ...operation, firstAsked: new Date(Math.min(...said)) };
}

/** The last object of a name counts, as if they were applied one after the other. */
function distinct(objects: readonly RawObject[]): readonly RawObject[] {
  const byIdentity = new Map<string, RawObject>();
  for (const raw of objects) {
    const hasName = viewMetadata(raw["metadata"]).name !== "";
    byIdentity.set(hasName ? identityOf(raw) : `${identityOf(raw)}${byIdentity.size}`, raw);
  }
  return [...byIdentity.values()];
}

function fillPolicies(
  memory: FilledMemory,
  objects: readonly RawObject[],
  served: ServedHooks,
): FleetPolicy[] {
  const found = objects.flatMap((raw) => {
    const kind = policyKind(raw);
    if (kind === undefined) return [];
    const object = viewPolicy(kind, raw);
    const entry = putPolicy(memory, object, served);
    const status = isFields(raw["status"]) ? (object.status ?? {}) : {};
    return [{ entry, policy: { compiled: entry.compiled, object, status, raw } }];
  });
  const kept = new Set(found.map(({ entry }) => entry));
  for (const entry of memory.policies.entries()) {
    if (kept.has(entry)) continue;
    memory.operations.forgetPolicy(entry.compiled.uid);
    memory.policies.delete(entry.key);
  }
  return found.map(({ policy }) => policy);
}

/** With the same spec, a policy keeps its compilation; pending operations forget what an edit makes void. */
function putPolicy(
  { policies, operations }: FilledMemory,
  object: PolicyObject,
  served: ServedHooks,
): PolicyEntry {
  const { kind, metadata } = object;
  const key = policyKey(kind, kind === "HookPolicy" ? metadata.namespace : undefined, metadata.name);
  const before = policies.get(key);
  if (before !== undefined && isSameSpec(before.object, object))
    return policies.set(key, object, before.compiled);
  const compiled = compilePolicy(kind, object, served);
  if (before !== undefined && before.compiled.uid !== compiled.uid)
    operations.forgetPolicy(before.compiled.uid);
  if (before !== undefined) operations.policyEdited(compiled.uid, before.object.spec, object.spec);
  return policies.set(key, object, compiled);
}

function fillOverrides(
  { overrides }: FilledMemory,
  found: readonly RawObject[],
  options: FleetOptions,
  hasNoUID: (cluster: string) => boolean,
): Override[] {
  const objects = found.map((raw) => viewOverride(raw, options.created ?? options.now));
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  for (const { object } of overrides.entries())
    if (!names.has(object.metadata.name)) overrides.set(object.metadata.name, undefined);
  return objects.map((object) => {
    const given = compiledOverride(object, options.maxOverrideMs);
    const cluster = namespacedName(given.clusterRef);
    const canBeMeant = options.canMeanUnknown?.(given.name) ?? true;
    const isMeant = given.clusterRef.uid !== undefined && canBeMeant && hasNoUID(cluster);
    const clusterRef = { ...given.clusterRef, uid: madeUpUID(cluster) };
    const compiled = isMeant ? { ...given, clusterRef } : given;
    overrides.set(compiled.name, object, compiled);
    return compiled;
  });
}

function fleetRollout(object: HookRollout): FleetRollout {
  return {
    compiled: compileRollout(object),
    spec: object.spec,
    status: isFields(object.status) ? object.status : {},
    pauseReason: lookup(object.metadata.annotations, PAUSE_REASON),
  };
}

/** An operator with a shorter --max-override-duration than the one known here has recorded that in the status. */
function compiledOverride(object: HookOverride, maxOverrideMs: number): Override {
  const compiled = compileOverride(object, maxOverrideMs);
  const conditions = listOf(fieldsOf(object.status)["conditions"]).map(fieldsOf);
  const refused = conditions.find(({ type }) => type === CONDITION.Active);
  if (refused?.["reason"] !== "TooLong" || refused["observedGeneration"] !== compiled.generation)
    return compiled;
  return { ...compiled, problem: { reason: "TooLong", message: String(refused["message"]) } };
}

/** ClusterUID in a gate must not resolve to the empty text, which an annotation can be. `complete`: the uid is as good as given. */
function withUID(cluster: Cluster, complete: boolean): Cluster {
  if (cluster.metadata.uid !== "") return cluster;
  const metadata = { ...cluster.metadata, uid: madeUpUID(clusterKey(cluster)) };
  return { ...cluster, metadata, ...(!complete && { uidUnknown: true }) };
}

/** The docs of suites name it. An override that names another uid means the same Cluster. */
function madeUpUID(cluster: string): string {
  return `uid-of-${cluster}`;
}

interface RecordedRow {
  readonly row: DecisionRow;
  readonly policy: CompiledPolicy;
  readonly status: Partial<HookPolicyStatus>;
}

function rowsOf({ compiled: policy, status }: FleetPolicy): readonly RecordedRow[] {
  const rows = Array.isArray(status.decisions) ? status.decisions : [];
  return oncePerOperation(rows).map((row) => ({ row, policy, status }));
}

export const nameOf = ({ compiled }: FleetPolicy): string => policyName(compiled.ref);
