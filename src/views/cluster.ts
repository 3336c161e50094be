/** Converts a raw Cluster or Namespace (API server, hook request, file) to the view that policies see. */

import { type Fields, isFields, fieldsOf, listOf, nonEmptyText, textOf } from "../lib/fields.ts";
import { namespacedName } from "../lib/keys.ts";
import {
  type Cluster,
  type ClusterCondition,
  type ClusterStatus,
  type ClusterTopology,
  type Namespace,
  type ObjectMeta,
  OK_TO_DELETE_ANNOTATION,
  type OwnedPart,
  PAUSED_ANNOTATION,
  type PinnedWorkers,
} from "../api/meta.ts";
import { viewProgress } from "./topology-progress.ts";
import { lookup } from "../api/selector.ts";

/** Cluster API leaves both out of hook requests (cleanupCluster), and they are by far the largest. */
const DROPPED_ANNOTATIONS = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "cluster.x-k8s.io/conversion-data",
]);

/**
 * Supports cluster.x-k8s.io v1beta1 and v1beta2; missing fields and fields of another type are left out. `known`: an
 * earlier version of the same Cluster, whose topology is reused if the spec is the same.
 */
export function viewCluster(raw: unknown, known?: Cluster): Cluster {
  const object = fieldsOf(raw);
  const spec = fieldsOf(object["spec"]);
  const metadata = viewMetadata(object["metadata"]);
  const topology = spec["topology"];
  const status = fieldsOf(object["status"]);
  const viewedTopology = isFields(topology)
    ? (knownTopology(metadata, known) ?? viewTopology(topology))
    : undefined;
  const progress = viewProgress(status, metadata.generation, {
    isPinned: viewedTopology?.pinnedWorkers !== undefined,
  });
  const mayBeHeld = progress?.heldAt !== undefined || isDeletionPending(metadata);
  const parts =
    viewedTopology !== undefined
      ? viewParts(spec, status).filter(({ isGone }) => mayBeHeld || isGone === true)
      : [];
  return {
    metadata,
    paused: spec["paused"] === true || lookup(metadata.annotations, PAUSED_ANNOTATION) !== undefined,
    created: isReference(spec["infrastructureRef"]) || isReference(spec["controlPlaneRef"]),
    ...(viewedTopology !== undefined && { topology: viewedTopology }),
    ...(parts.length > 0 && { parts }),
    status: viewStatus(status),
    ...(progress !== undefined && { progress }),
  };
}

/** Cluster API writes the mark before it deletes what the Cluster owns. */
export function isDeletionPending({ deletionTimestamp, annotations }: ObjectMeta): boolean {
  return deletionTimestamp !== undefined && lookup(annotations, OK_TO_DELETE_ANNOTATION) === undefined;
}

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
function viewParts(spec: Fields, status: Fields): OwnedPart[] {
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

/** `version` is absent where the workers follow the version of the topology. */
export type Workers = Omit<PinnedWorkers, "version"> & Partial<Pick<PinnedWorkers, "version">>;

const LISTS = [
  ["MachineDeployment", "machineDeployments"],
  ["MachinePool", "machinePools"],
] as const;

/** The workers of a topology: each entry is a MachineDeployment or a MachinePool, perhaps with a version of its own. */
export function viewWorkers(topology: Fields): readonly Workers[] {
  const workers = fieldsOf(topology["workers"]);
  return LISTS.flatMap(([kind, list]) =>
    listOf(workers[list]).map((raw) => {
      const entry = fieldsOf(raw);
      const version = nonEmptyText(entry["version"]);
      return { kind, name: textOf(entry["name"]), ...(version !== undefined && { version }) };
    }),
  );
}

export function viewNamespace(raw: unknown): Namespace {
  return { metadata: viewMetadata(fieldsOf(raw)["metadata"]) };
}

/** The API server increments the generation with each change of the spec. */
function knownTopology(
  { uid, generation }: ObjectMeta,
  known: Cluster | undefined,
): ClusterTopology | undefined {
  const same =
    known?.tooLarge !== true && known?.metadata.uid === uid && known.metadata.generation === generation;
  return same && generation !== undefined ? known.topology : undefined;
}

/** v1beta1 has `class`, v1beta2 `classRef.name` (Cluster API: api/core/v1beta2/cluster_types.go). */
function viewTopology(topology: Fields): ClusterTopology {
  const variables = viewVariables(topology["variables"]);
  const pinnedWorkers = viewWorkers(topology).flatMap(({ version, ...group }) =>
    version === undefined ? [] : { ...group, version },
  );
  return {
    className: nonEmptyText(fieldsOf(topology["classRef"])["name"]) ?? nonEmptyText(topology["class"]) ?? "",
    version: textOf(topology["version"]),
    ...(variables !== undefined && { variables }),
    ...(pinnedWorkers.length > 0 && { pinnedWorkers }),
  };
}

const PACKED = Symbol("packed");

/** Not enumerable: comparisons of two topologies use only their common fields. */
export function setPackedVariables(topology: ClusterTopology, packed: string): void {
  Object.defineProperty(topology, PACKED, { value: packed });
}

/** The same text for the same variables; `undefined` when the variables are not packed. */
export function packedVariables(topology: ClusterTopology): string | undefined {
  const packed: unknown = Reflect.get(topology, PACKED);
  return typeof packed === "string" ? packed : undefined;
}

/** In v1beta1 a name can occur twice (definitionFrom), and the first one counts. */
function viewVariables(raw: unknown): string | undefined {
  const entries = listOf(raw).flatMap((each): [string, unknown][] => {
    const { name, value } = fieldsOf(each);
    return typeof name === "string" && value !== undefined ? [[name, value]] : [];
  });
  return entries.length === 0 ? undefined : toJson(Object.fromEntries(entries.toReversed()));
}

/** Returns text that is not JSON, which no expression can read, for values that nest too deeply. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "";
  }
}

/** v1beta1 keeps the new conditions in status.v1beta2, and the initialization flags in two separate fields. */
function viewStatus(status: Fields): ClusterStatus {
  const phase = nonEmptyText(status["phase"]);
  const marks = fieldsOf(status["initialization"]);
  const infrastructureProvisioned = marks["infrastructureProvisioned"] ?? status["infrastructureReady"];
  const controlPlaneInitialized = marks["controlPlaneInitialized"] ?? status["controlPlaneReady"];
  const conditions = listOf(fieldsOf(status["v1beta2"])["conditions"] ?? status["conditions"]);
  return {
    ...(phase !== undefined && { phase }),
    conditions: conditions.flatMap(viewCondition),
    initialization: {
      ...(typeof infrastructureProvisioned === "boolean" && { infrastructureProvisioned }),
      ...(typeof controlPlaneInitialized === "boolean" && { controlPlaneInitialized }),
    },
  };
}

function viewCondition(raw: unknown): ClusterCondition[] {
  const { type, status, reason, lastTransitionTime } = fieldsOf(raw);
  if (typeof type !== "string" || typeof status !== "string") return [];
  return [{ type, status, reason: textOf(reason), lastTransitionTime: textOf(lastTransitionTime) }];
}

/** v1beta1 can contain an empty reference object; only a reference with a name shows that the object exists. */
function isReference(value: unknown): boolean {
  return nonEmptyText(fieldsOf(value)["name"]) !== undefined;
}

export function viewMetadata(raw: unknown): ObjectMeta {
  const metadata = fieldsOf(raw);
  const labels = viewStrings(metadata["labels"]);
  const annotations = viewStrings(metadata["annotations"], DROPPED_ANNOTATIONS);
  return {
    ...viewIdentity(raw),
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
  };
}

/** Metadata of objects without the labels and annotations, which nothing reads, and which can be most of an object. */
export function viewIdentity(raw: unknown): ObjectMeta {
  const metadata = fieldsOf(raw);
  const namespace = nonEmptyText(metadata["namespace"]);
  const creationTimestamp = nonEmptyText(metadata["creationTimestamp"]);
  const deletionTimestamp = nonEmptyText(metadata["deletionTimestamp"]);
  const generation = metadata["generation"];
  const finalizers = metadata["finalizers"];
  return {
    name: textOf(metadata["name"]),
    uid: textOf(metadata["uid"]),
    resourceVersion: textOf(metadata["resourceVersion"]),
    ...(namespace !== undefined && { namespace }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(typeof generation === "number" && { generation }),
    ...(Array.isArray(finalizers) && { finalizers: finalizers.filter((f) => typeof f === "string") }),
  };
}

/**
 * `undefined` when empty: ten thousand Clusters are kept in memory. Returns the object itself if nothing is dropped: a
 * Cluster can have 45,000 annotations, and each watch event carries them.
 */
function viewStrings(raw: unknown, dropped?: ReadonlySet<string>): Record<string, string> | undefined {
  const fields = fieldsOf(raw);
  if (isStrings(fields) && dropped?.values().some((key) => Object.hasOwn(fields, key)) !== true)
    return isEmpty(fields) ? undefined : fields;
  const strings: Record<string, string> = {};
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (typeof value !== "string" || dropped?.has(key) === true) continue;
    if (key === "__proto__") Object.defineProperty(strings, key, { value, ...ORDINARY });
    else strings[key] = value;
  }
  return isEmpty(strings) ? undefined : strings;
}

const ORDINARY = { enumerable: true, writable: true, configurable: true };

function isStrings(fields: Fields): fields is Record<string, string> {
  for (const key in fields) if (typeof fields[key] !== "string") return false;
  return true;
}

function isEmpty(fields: Fields): boolean {
  for (const _ in fields) return false;
  return true;
}

/** The name of a Cluster in informers and indexes. */
export function clusterKey({ metadata }: Cluster): string {
  return namespacedName(metadata);
}

/** A Cluster known only from a hook request, without a status: Cluster API never sends one. */
export function asRequested({ status: _, progress: _progress, parts: _parts, ...cluster }: Cluster): Cluster {
  return cluster;
}
