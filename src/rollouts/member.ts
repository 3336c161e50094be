/** Which Clusters belong to a rollout, in which stage, and what their metadata shows of the operation. */

import {
  type Cluster,
  NAMESPACE_NAME,
  type ObjectMeta,
  OK_TO_DELETE_ANNOTATION,
  type StoredNamespace,
} from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { isPending } from "../operations/hook-lives.ts";
import { labelsOfNamespace, lookup, selected, type Selected, SELECTS_ALL } from "../api/selector.ts";
import { isVersion } from "../api/target-version.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";
import type { Operation } from "../operations/beginnings.ts";

/** A Cluster that the rollout selects, as its metadata shows it. */
export interface Member {
  readonly metadata: ObjectMeta;
  /** Absent: no stage selects it, or it is unknown which. */
  readonly stage?: CompiledStage;
  /** The rollout may select it, in one of these stages, for lack of what is `unknown`. */
  readonly mayBeIn?: readonly CompiledStage[];
  readonly unknown?: UnknownPlace;
  /** Whether Cluster API has begun the operation, and not ended it. */
  readonly marked: boolean;
  /** The values of the labels that slots are spread over. */
  readonly values: SpreadValues;
}

/** Memory has only a stub of the Cluster or of its Namespace, or nothing of the Namespace, and the labels of that matter. */
export type UnknownPlace = "TooLarge" | "NamespaceUnknown";

/** In the order of `spread`; `undefined`: the label is missing, which is a value of its own. */
export type SpreadValues = readonly (string | undefined)[];

/** A Cluster of which perhaps only the metadata was read: `created` absent. */
export type ShownCluster = Pick<Cluster, "metadata"> & Partial<Pick<Cluster, "created">>;

/** `namespace` undefined: unknown. */
export function memberOf(
  rollout: CompiledRollout,
  cluster: ShownCluster,
  namespace: StoredNamespace | undefined,
): Member | undefined {
  const { metadata } = cluster;
  if (rollout.operation === "Upgrade" && metadata.deletionTimestamp !== undefined) return undefined;
  const isSelected = selection(rollout, metadata, namespace);
  if (isSelected === "no") return undefined;
  const stages = stagesFor(rollout, metadata, namespace);
  const marked = showsMark(rollout.operation, cluster);
  const values = valuesOf(rollout, metadata, namespace);
  const member = { metadata, marked, values };
  if (metadata.labelsOmitted === true || namespace?.tooLarge === true)
    return { ...member, mayBeIn: stages, unknown: "TooLarge" };
  const [stage] = stages;
  const isKnown = [isSelected, stage && selection(stage, metadata, namespace)].every(
    (is) => is !== "unknown",
  );
  if (!isKnown || (namespace === undefined && isSpreadByLabels(rollout)))
    return { ...member, mayBeIn: stages, unknown: "NamespaceUnknown" };
  return { ...member, ...(stage !== undefined && { stage }) };
}

type Selecting = Pick<CompiledStage, "selectsCluster" | "selectsNamespace">;

function selection(
  { selectsCluster, selectsNamespace }: Selecting,
  { labels, labelsOmitted }: ObjectMeta,
  namespace: StoredNamespace | undefined,
): Selected {
  const both = [
    selected(selectsCluster, labelsOmitted === true ? "unknown" : labels),
    selected(selectsNamespace, labelsOfNamespace(namespace)),
  ];
  return both.find((each) => each === "no") ?? both.find((each) => each === "unknown") ?? "yes";
}

/** Those that may select the Cluster, up to the first that does. */
function stagesFor(
  { stages }: CompiledRollout,
  metadata: ObjectMeta,
  namespace: StoredNamespace | undefined,
): readonly CompiledStage[] {
  const found: CompiledStage[] = [];
  for (const stage of stages) {
    const is = selection(stage, metadata, namespace);
    if (is !== "no") found.push(stage);
    if (is === "yes") break;
  }
  return found;
}

/** Whether the place of a Cluster depends on the labels of its Namespace, beside its name. */
export function readsNamespaceLabels(rollout: CompiledRollout): boolean {
  const selectors = [rollout, ...rollout.stages].map(({ selectsNamespace }) => selectsNamespace);
  return selectors.some((selects) => selects !== SELECTS_ALL) || isSpreadByLabels(rollout);
}

/** The API server sets the label with the name. */
function isSpreadByLabels({ spread }: CompiledRollout): boolean {
  return spread.some(({ from, labelKey }) => from === "Namespace" && labelKey !== NAMESPACE_NAME);
}

/** Whether an earlier stage than the known one, if any, may select the Cluster, whose Namespace is not known. */
export function lacksNamespace(
  { stages }: CompiledRollout,
  { stage, metadata: { labels } }: Pick<Member, "stage" | "metadata">,
  namespace: StoredNamespace | undefined,
): boolean {
  return namespace === undefined && stages.find(({ selectsCluster }) => selectsCluster(labels)) !== stage;
}

function valuesOf(
  { spread }: CompiledRollout,
  { namespace: name = "", labels }: ObjectMeta,
  namespace: StoredNamespace | undefined,
): SpreadValues {
  const known = labelsOfNamespace(namespace);
  const ofNamespace = known === "unknown" ? { [NAMESPACE_NAME]: name } : known;
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
