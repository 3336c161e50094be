/** Kubernetes object metadata, and the parts of Cluster and Namespace that a policy can read. */

import type { HookName } from "./runtime-hooks.ts";

/** The fields of metav1.ObjectMeta that HookPolicy reads. Times are RFC 3339 strings, as the API server sends them. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  /** There are too many to keep, so they must not be written back. */
  readonly finalizersOmitted?: true;
  /** They are too large to keep, so any selector may select the object. */
  readonly labelsOmitted?: true;
}

/** The label of each Namespace with its name, which the API server sets whatever a file says. */
export const NAMESPACE_NAME = "kubernetes.io/metadata.name";

/**
 * Set on what stands in memory for an object of a namespace that is beyond its share (kube/memory-budget.ts): the object's
 * identity, without what decisions need. Nothing is evaluable with it.
 */
export interface TooLargeMark {
  readonly tooLarge?: true;
}

/** metav1.LabelSelector. Absent and empty both select everything; the CRDs say where absent is not allowed. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}

/** metav1.Condition. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

export function conditionOf(
  { status }: { readonly status?: { readonly conditions?: readonly Condition[] } | undefined },
  type: string,
): Condition | undefined {
  return status?.conditions?.find((each) => each.type === type);
}

/**
 * One view of a Cluster, the same for v1beta1, v1beta2 and the copy in a hook request: only the fields that HookPolicy
 * uses are kept in memory.
 */
export interface Cluster extends TooLargeMark {
  readonly metadata: ObjectMeta;
  /** It is of a file that does not say its uid, and the one of `metadata` is made up. */
  readonly uidUnknown?: true;
  /** spec.paused or the annotation cluster.x-k8s.io/paused: Cluster API does not call hooks. */
  readonly paused: boolean;
  /** Absent: not managed by a ClusterClass, so Cluster API calls no hook for it. */
  readonly topology?: ClusterTopology;
  /** spec.infrastructureRef or spec.controlPlaneRef is set: BeforeClusterCreate has passed. */
  readonly created: boolean;
  /**
   * Its references, while it is being deleted or its status names a hook that holds it; otherwise only those that are
   * gone, because Cluster API's condition then shows that error and no hook.
   */
  readonly parts?: readonly OwnedPart[];
  /** From the informer. Absent: unknown, as for a Cluster that is known only from a hook request. */
  readonly status?: ClusterStatus;
  /** From the same source as the status. Absent: the status does not show it. */
  readonly progress?: TopologyProgress;
}

/** The control plane or the infrastructure of a Cluster. */
export interface OwnedPart {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  /** Cluster API's status says that it was deleted. */
  readonly isGone?: true;
}

/** The part of Cluster API's status that shows the hooks that it waits for and the steps of an upgrade. */
export interface TopologyProgress {
  /** The hook that holds the Cluster, as named by the condition TopologyReconciled of the present generation. */
  readonly heldAt?: HookName;
  /** The condition is True for the present generation. */
  readonly reconciled?: boolean;
  /** The condition names a step after the control plane took the topology's version (up to Cluster API 1.11). */
  readonly begun?: boolean;
  /** The versions that the control plane still has to take; empty: at most the one in progress; absent: not shown. */
  readonly plan?: readonly string[];
  /** Kubelet version of the whole control plane (Cluster API 1.14); absent: not shown, or several. */
  readonly version?: string;
  /** Kubelet version of all workers. */
  readonly workersVersion?: string;
  /** Kubelet versions of the workers, if there are several and some workers are pinned. */
  readonly workersVersions?: readonly string[];
}

export interface ClusterTopology {
  readonly className: string;
  readonly version: string;
  /** A JSON object of values by name, because memory keeps thousands of Clusters, and few policies read a variable. */
  readonly variables?: string;
  /** Length of the unpacked `variables`, if they have to be unpacked to be counted. */
  readonly variablesLength?: number;
  /** Absent: all workers follow `version`. */
  readonly pinnedWorkers?: readonly PinnedWorkers[];
}

/**
 * Workers with a version of their own (`version` of an entry in spec.topology.workers, Cluster API 1.15). A version that is set
 * counts whether the feature gate is on or not (internal/topology/pinning).
 */
export interface PinnedWorkers {
  readonly kind: "MachineDeployment" | "MachinePool";
  /** In the topology. */
  readonly name: string;
  readonly version: string;
}

/** In the form of v1beta2, also for v1beta1. */
export interface ClusterStatus {
  readonly phase?: string;
  readonly conditions: readonly ClusterCondition[];
  readonly initialization: {
    readonly infrastructureProvisioned?: boolean;
    readonly controlPlaneInitialized?: boolean;
  };
}

/** Without the message, which is long and changes often. */
export interface ClusterCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly lastTransitionTime: string;
}

export interface Namespace {
  readonly metadata: ObjectMeta;
  readonly tooLarge?: never;
}

/** That a Namespace exists; its annotations are unknown. */
export interface TooLargeNamespace extends Required<TooLargeMark> {
  readonly metadata: Omit<ObjectMeta, "labels" | "labelsOmitted" | "annotations">;
  /** Absent: unknown. */
  readonly knownLabels?: Readonly<Record<string, string>>;
}

/** As memory has it. Where it is `undefined`, nothing is known of the Namespace; a list alone proves that there is none. */
export type StoredNamespace = Namespace | TooLargeNamespace;

export const CLUSTER_API_GROUP = "cluster.x-k8s.io";

/** Marks that Cluster API writes on a Cluster (core:internal/hooks/tracking.go). */
export const OK_TO_DELETE_ANNOTATION = "runtime.cluster.x-k8s.io/ok-to-delete";
export const PENDING_HOOKS_ANNOTATION = "runtime.cluster.x-k8s.io/pending-hooks";
/**
 * The control plane's spec.version during an upgrade, written by Cluster API since 1.12 before it writes its condition
 * (exp/topology/desiredstate/desired_state.go, computeCluster). 1.13 leaves it empty between upgrades.
 */
export const UPGRADE_STEP_ANNOTATION = "topology.internal.cluster.x-k8s.io/upgrade-step";
/** They disable checks of Cluster API's webhook (api/core/v1beta2/common_types.go; core/webhooks/admission/cluster.go). */
export const UNSAFE_VERSION_ANNOTATION = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
export const UNSAFE_CLASS_ANNOTATION = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check";
/** Prefix: Cluster API holds an upgrade itself, without calling an extension. */
export const BEFORE_UPGRADE_ANNOTATION = "before-upgrade.hook.cluster.cluster.x-k8s.io";
export const PAUSED_ANNOTATION = "cluster.x-k8s.io/paused";
/** clusterctl move sets it on the objects that it deletes from the source (Cluster API: clusterctl/v1alpha3). */
export const DELETE_FOR_MOVE_ANNOTATION = "clusterctl.cluster.x-k8s.io/delete-for-move";
