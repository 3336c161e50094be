/** Which Clusters belong to a rollout, in which stage, and what their metadata shows of the operation. */

import {
  type Cluster,
  type Namespace,
  NAMESPACE_NAME,
  type ObjectMeta,
  OK_TO_DELETE_ANNOTATION,
} from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { isPending } from "../operations/hook-lives.ts";
import { type LabelMatcher, lookup } from "../api/selector.ts";
import { isVersion } from "../api/target-version.ts";
import type { CompiledRollout, CompiledStage, Operation } from "./rollout.ts";

/** The hook whose answer releases the operation. */
export const BEGINS: Readonly<Record<Operation, HookName>> = {
  Create: "BeforeClusterCreate",
  Upgrade: "BeforeClusterUpgrade",
  Delete: "BeforeClusterDelete",
};

export function operationOf(hook: HookName): Operation | undefined {
  return (["Create", "Upgrade", "Delete"] as const).find((operation) => BEGINS[operation] === hook);
}

/** A Cluster that the rollout selects, as its metadata shows it. */
export interface Member {
  readonly metadata: ObjectMeta;
  /** Absent: no stage selects it, or it is unknown which. */
  readonly stage?: CompiledStage;
  /** The rollout may select it, in one of these stages: its labels, or those of its namespace, are not in memory. */
  readonly mayBeIn?: readonly CompiledStage[];
  /** Whether Cluster API has begun the operation, and not ended it. */
  readonly marked: boolean;
  /** The values of the labels that slots are spread over. */
  readonly values: SpreadValues;
}

/** In the order of `spread`; `undefined`: the label is missing, which is a value of its own. */
export type SpreadValues = readonly (string | undefined)[];

/** A Cluster of which perhaps only the metadata was read: `created` absent. */
export type ShownCluster = Pick<Cluster, "metadata"> & Partial<Pick<Cluster, "created">>;

/** `namespace` undefined: unknown. Then the Cluster counts as selected by its namespace. */
export function memberOf(
  rollout: CompiledRollout,
  cluster: ShownCluster,
  namespace: Namespace | undefined,
): Member | undefined {
  const { metadata } = cluster;
  if (rollout.operation === "Upgrade" && metadata.deletionTimestamp !== undefined) return undefined;
  if (!maySelect(rollout.selectsCluster, metadata)) return undefined;
  if (namespace !== undefined && !maySelect(rollout.selectsNamespace, namespace.metadata)) return undefined;
  const stages = rollout.stages.filter(
    ({ selectsCluster, selectsNamespace }) =>
      maySelect(selectsCluster, metadata) && maySelect(selectsNamespace, namespace?.metadata),
  );
  const marked = showsMark(rollout.operation, cluster);
  const values = valuesOf(rollout, metadata, namespace);
  const member = { metadata, marked, values };
  if (metadata.labelsOmitted === true || namespace?.metadata.labelsOmitted === true)
    return { ...member, mayBeIn: stages };
  const [stage] = stages;
  return { ...member, ...(stage !== undefined && { stage }) };
}

/** Whether an earlier stage than the known one, if any, may select the Cluster, whose Namespace is not known. */
export function lacksNamespace(
  { stages }: CompiledRollout,
  { stage, metadata: { labels } }: Pick<Member, "stage" | "metadata">,
  namespace: Namespace | undefined,
): boolean {
  return namespace === undefined && stages.find(({ selectsCluster }) => selectsCluster(labels)) !== stage;
}

function maySelect(selects: LabelMatcher, metadata: ObjectMeta | undefined): boolean {
  return metadata?.labelsOmitted === true || selects(metadata?.labels);
}

function valuesOf(
  { spread }: CompiledRollout,
  { namespace: name = "", labels }: ObjectMeta,
  namespace: Namespace | undefined,
): SpreadValues {
  const ofNamespace = namespace?.metadata.labels ?? { [NAMESPACE_NAME]: name };
  return spread.map(({ labelKey, from }) => lookup(from === "Namespace" ? ofNamespace : labels, labelKey));
}

/**
 * Cluster API writes the mark in the reconcile in which it was released (core:internal/hooks/tracking.go). A tenant can create
 * a Cluster with the mark of a creation: until it has a reference, Cluster API asks before it begins
 * (core/reconcilers/topology/cluster, callBeforeClusterCreateHook). Where only the metadata was read, the mark counts.
 */
export function showsMark(operation: Operation, { metadata, created }: ShownCluster): boolean {
  const { annotations, deletionTimestamp } = metadata;
  if (operation === "Delete")
    return deletionTimestamp !== undefined && lookup(annotations, OK_TO_DELETE_ANNOTATION) !== undefined;
  if (operation === "Create" && created === false) return false;
  return deletionTimestamp === undefined && isPending({ metadata }, markOfOperation(operation));
}

/** The hook that Cluster API still has to call while the operation runs. */
export function markOfOperation(operation: "Create" | "Upgrade"): HookName {
  return operation === "Upgrade" ? "AfterClusterUpgrade" : "AfterControlPlaneInitialized";
}

/** The target of the operation: for an upgrade a version, or "" if a status cannot name it; such an upgrade never begins. */
export function targetOf(operation: Operation, { topology }: Cluster): string {
  const { version = "" } = topology ?? {};
  return operation === "Upgrade" && isVersion(version) ? version : "";
}
