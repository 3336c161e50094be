/** Kubernetes object metadata and the parts of Cluster and Namespace that a policy can look at. */

import type { HookName } from "./runtimehooks.ts";

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
}

/** metav1.LabelSelector. Absent and empty both select everything here; the CRDs say where absent is not allowed. */
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

/**
 * One fixed view of a Cluster, the same for v1beta1 and v1beta2 and for the copy in a hook request:
 * only what HookPolicy uses is kept in memory.
 */
export interface Cluster {
  readonly metadata: ObjectMeta;
  /** spec.paused or the annotation cluster.x-k8s.io/paused: Cluster API does not call hooks. */
  readonly paused: boolean;
  /** Absent: not managed by a ClusterClass, and Cluster API calls no hook for it. */
  readonly topology?: ClusterTopology;
  /** spec.infrastructureRef or spec.controlPlaneRef is set: BeforeClusterCreate has been passed. */
  readonly created: boolean;
  /** As of the informer. Absent: not known, as for a Cluster that only a hook request has told of. */
  readonly status?: ClusterStatus;
  /** As the status. Absent: it says nothing about it. */
  readonly progress?: TopologyProgress;
}

/** What Cluster API's status says of the hooks that it waits for, and of the steps of an upgrade. */
export interface TopologyProgress {
  /** The hook that holds the Cluster, as the condition TopologyReconciled names it for the present generation. */
  readonly heldAt?: HookName;
  /** TopologyReconciled is True for the present generation. */
  readonly reconciled?: boolean;
  /** TopologyReconciled names what comes after the control plane has taken the topology's version, up to Cluster API 1.11. */
  readonly begun?: boolean;
  /** The versions that the control plane has still to take; empty: at most the one that it is taking; absent: not shown. */
  readonly plan?: readonly string[];
  /** Of the kubelets of the whole control plane (Cluster API 1.14); absent: not shown, or several. */
  readonly version?: string;
  /** Of those of all workers. */
  readonly workersVersion?: string;
}

export interface ClusterTopology {
  readonly className: string;
  readonly version: string;
  /** From name to value, as JSON: thousands of Clusters are kept, and few policies look at a variable. */
  readonly variables?: string;
  /** Of `variables`, in letters, where these have to be unpacked to be counted. */
  readonly variablesLength?: number;
}

/** As v1beta2 has it, also for v1beta1. */
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
}

export const CLUSTER_API_GROUP = "cluster.x-k8s.io";

/** Marks that Cluster API writes on a Cluster (core:internal/hooks/tracking.go). */
export const OK_TO_DELETE_ANNOTATION = "runtime.cluster.x-k8s.io/ok-to-delete";
export const PENDING_HOOKS_ANNOTATION = "runtime.cluster.x-k8s.io/pending-hooks";
/**
 * The control plane's spec.version while an upgrade is under way, written by Cluster API since 1.12 before it writes its
 * condition (exp/topology/desiredstate/desired_state.go, computeCluster). 1.13 leaves it empty between upgrades.
 */
export const UPGRADE_STEP_ANNOTATION = "topology.internal.cluster.x-k8s.io/upgrade-step";
/** Prefix: Cluster API holds an upgrade by itself, without asking anybody. */
export const BEFORE_UPGRADE_ANNOTATION = "before-upgrade.hook.cluster.cluster.x-k8s.io";
export const PAUSED_ANNOTATION = "cluster.x-k8s.io/paused";
