/** Clusters in the words in which Cluster API's topology controller writes them, from 1.11 to 1.14. */

import { type Cluster, PENDING_HOOKS_ANNOTATION, UPGRADE_STEP_ANNOTATION } from "../../src/api/meta.ts";
import { viewCluster } from "../../src/views/cluster.ts";

export interface ClusterState {
  /** Of the topology. */
  readonly version: string;
  readonly marks?: string;
  readonly step?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of the condition TopologyReconciled; absent: it is True. */
  readonly message?: string;
  readonly reason?: string;
  /** What 1.14 adds to the status. */
  readonly controlPlane?: unknown;
  readonly workers?: unknown;
  readonly deletionTimestamp?: string;
}

export function shown(is: ClusterState): Cluster {
  const { version, marks, step, message, deletionTimestamp } = is;
  const condition = {
    type: "TopologyReconciled",
    status: message === undefined ? "True" : "False",
    reason: is.reason ?? "ClusterUpgrading",
    message: message ?? "",
    observedGeneration: 3,
  };
  return viewCluster({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: {
      name: "prod-1",
      namespace: "team-a",
      uid: "uid-prod-1",
      resourceVersion: "100",
      generation: 3,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      annotations: {
        ...(marks !== undefined && { [PENDING_HOOKS_ANNOTATION]: marks }),
        ...(step !== undefined && { [UPGRADE_STEP_ANNOTATION]: step }),
        ...is.annotations,
      },
    },
    spec: {
      topology: { classRef: { name: "lab" }, version },
      infrastructureRef: { name: "prod-1" },
      controlPlaneRef: { name: "prod-1" },
    },
    status: { conditions: [condition], controlPlane: is.controlPlane, workers: is.workers },
  });
}

/** core/reconcilers/topology/cluster/status.go, since 1.12; `plan`: of the control plane. */
export function blocking(hook: string, version: string, ...plan: readonly string[]): string {
  const lines = [
    `Cluster is upgrading to ${version}`,
    `Following hooks are blocking upgrade: ${hook}: HookPolicy team-a/protect, rule r: no`,
    ...(plan.length > 0 ? [`KubeadmControlPlane pending upgrade to version ${plan.join(", ")}`] : []),
  ];
  return lines.join("\n  * ");
}

/** What every version writes when a call or a patch of that reconcile has failed. */
export const FAILED = {
  reason: "ReconcileFailed",
  message: "error reconciling the Cluster topology: failed to patch MachineDeployment: it has been modified",
};

export const versions = (...list: readonly string[]): readonly { version: string }[] =>
  list.map((version) => ({ version }));
