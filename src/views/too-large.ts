/** What stands in memory for objects whose namespace is beyond its share of memory (kube/memory-budget.ts). */

import {
  BEFORE_UPGRADE_ANNOTATION,
  type Cluster,
  DELETE_FOR_MOVE_ANNOTATION,
  type ObjectMeta,
  OK_TO_DELETE_ANNOTATION,
  PENDING_HOOKS_ANNOTATION,
  type StoredNamespace,
  type TooLargeNamespace,
  UPGRADE_STEP_ANNOTATION,
} from "../api/meta.ts";
import { sizeOf } from "../lib/json-size.ts";
import { viewMetadata } from "./cluster.ts";

/** The reason of a rule that holds whatever its failurePolicy: data must not be able to cause a release. */
export const TOO_LARGE = "TooLarge" as const;

export function describeTooLarge(namespace: string | undefined): string {
  const where =
    namespace === undefined ? "the objects in no namespace" : `the objects of namespace ${namespace}`;
  return `${where} take more than their share of the operator's memory: delete some or make them smaller, or give the operator more memory`;
}

/** In characters, of all names together or of one value. */
const MAX_KEPT = 1024;
/** Thousands of Clusters are listed at once. */
const MAX_LABELS_BYTES = 16 * 1024;
/** Written by Cluster API and clusterctl: which operations are pending depends on them. */
const MARKS = [
  OK_TO_DELETE_ANNOTATION,
  PENDING_HOOKS_ANNOTATION,
  UPGRADE_STEP_ANNOTATION,
  DELETE_FOR_MOVE_ANNOTATION,
];

/** Enough to recognise, confirm and finalize the object. */
export function stubMetadata({
  labels: _,
  annotations: _a,
  finalizers,
  ...metadata
}: ObjectMeta): ObjectMeta {
  if (finalizers === undefined) return metadata;
  const isShort = finalizers.join().length <= MAX_KEPT;
  return isShort ? { ...metadata, finalizers } : { ...metadata, finalizersOmitted: true };
}

/** Metadata of a Cluster as rollouts read it: without other annotations than marks, and without labels of an unusual size. */
export function viewMember(raw: unknown): ObjectMeta {
  const { labels, ...metadata } = viewMetadata(raw);
  if (labels === undefined) return withMarks(metadata);
  return { ...withMarks(metadata), ...(isUsual(labels) ? { labels } : { labelsOmitted: true }) };
}

function isUsual(labels: object): boolean {
  return sizeOf(labels) <= MAX_LABELS_BYTES;
}

function withMarks(metadata: ObjectMeta): ObjectMeta {
  const { annotations = {} } = metadata;
  const ownHold = Object.keys(annotations).find((key) => key.startsWith(BEFORE_UPGRADE_ANNOTATION));
  const marks = [...MARKS, ...(ownHold === undefined ? [] : [ownHold])].flatMap((key) =>
    Object.hasOwn(annotations, key) ? [[key, annotations[key]?.slice(0, MAX_KEPT) ?? ""]] : [],
  );
  const { annotations: _, ...rest } = metadata;
  return { ...rest, ...(marks.length > 0 && { annotations: Object.fromEntries(marks) }) };
}

/** Shows still which operations are pending; its labels, annotations and variables are unknown. */
export function stubCluster({ topology, ...cluster }: Cluster): Cluster {
  const { annotations } = withMarks(cluster.metadata);
  return {
    ...cluster,
    tooLarge: true,
    metadata: {
      ...stubMetadata(cluster.metadata),
      labelsOmitted: true,
      ...(annotations !== undefined && { annotations }),
    },
    ...(topology !== undefined && {
      topology: { className: topology.className, version: topology.version },
    }),
  };
}

/** Keeps its labels if they are of a usual size: other namespaces depend on whether a selector selects this one. */
export function stubNamespace(namespace: StoredNamespace): TooLargeNamespace {
  if (namespace.tooLarge === true) return namespace;
  const { metadata } = namespace;
  const { labels = {} } = metadata;
  return {
    metadata: stubMetadata(metadata),
    tooLarge: true,
    ...(isUsual(labels) && { knownLabels: labels }),
  };
}

export function stubObject({ metadata }: { readonly metadata: ObjectMeta }): {
  readonly metadata: ObjectMeta;
  readonly tooLarge: true;
} {
  return { metadata: stubMetadata(metadata), tooLarge: true };
}
