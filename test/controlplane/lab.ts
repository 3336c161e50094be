/** The life of a Cluster without machines: each function does what a user or a provider would do next. */
import { readFile } from "node:fs/promises";
import type { KubeObject, Ref } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";
import {
  CLUSTER_API,
  LAB_CLASS,
  LAB_CONTROL_PLANE,
  LAB_INFRASTRUCTURE,
  LAB_NAMESPACE,
  LAB_VARIABLE,
  LAB_WORKER_CLASS,
  labClass,
  labDefinitions,
} from "./lab-kinds.ts";
import { DEFINITION_GONE_MS } from "./waits.ts";

export const FIRST_VERSION = "v1.34.0";
export const NEXT_VERSION = "v1.35.0";

export interface LabCluster {
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Default: KEPT */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Default: FIRST_VERSION */
  readonly version?: string;
  /** The value of the class's variable; absent: not set. */
  readonly tier?: string;
  /** A MachineDeployment: Cluster API writes twice as much for it. Hooks: BeforeWorkersUpgrade, AfterWorkersUpgrade. */
  readonly workers?: boolean;
}

const WORKERS = { machineDeployments: [{ class: LAB_WORKER_CLASS, name: "md", replicas: 0 }] };

/** The provider kinds and the ClusterClass; after installClusterApi, whose webhook judges the class. */
export async function installLab(cp: ControlPlane): Promise<void> {
  if (cp.seeded?.name !== "clusterApi") await cp.apply(labDefinitions());
  await cp.apply(labClass());
  const ref = { apiVersion: CLUSTER_API, kind: "ClusterClass", namespace: LAB_NAMESPACE, name: LAB_CLASS };
  await cp.waitFor("the ClusterClass to be reconciled", async () => {
    const { status, metadata } = await cp.get(ref);
    return status?.observedGeneration === metadata.generation;
  });
}

export function clusterRef(namespace: string, name: string): Ref {
  return { apiVersion: CLUSTER_API, kind: "Cluster", namespace, name };
}

/** A Cluster without one loses others: Cluster API removes its last mark by removing all annotations, also those of the last second. */
export const KEPT = { "hooks.example.com/kept": "true" };

/** Creates the Namespace, too, where it is missing. Hook: BeforeClusterCreate. */
export async function createCluster(cp: ControlPlane, cluster: LabCluster): Promise<KubeObject> {
  const {
    namespace,
    name,
    labels = {},
    annotations = KEPT,
    version = FIRST_VERSION,
    tier,
    workers,
  } = cluster;
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  // What an earlier Cluster of that name has left to the garbage collector: Cluster API would make it the owner of the new
  // Cluster's parts (topology/cluster/reconcile_state.go, reconcileClusterShim), and they would be collected with it.
  await cp.delete({ apiVersion: "v1", kind: "Secret", namespace, name: `${name}-shim` });
  return await cp.create({
    apiVersion: CLUSTER_API,
    kind: "Cluster",
    metadata: { namespace, name, labels, annotations },
    spec: {
      topology: {
        classRef: { name: LAB_CLASS, namespace: LAB_NAMESPACE },
        version,
        ...(tier !== undefined && { variables: [{ name: LAB_VARIABLE, value: tier }] }),
        ...(workers === true && { workers: WORKERS }),
      },
    },
  });
}

/**
 * The Cluster's kubeconfig leads to this API server, so that Cluster API reaches it and the Cluster becomes Available.
 * Before provision(): Cluster API tries again after 30 seconds.
 */
export async function makeReachable(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const kubeconfig = await readFile(cp.adminKubeconfig, "utf8");
  await cp.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace,
      name: `${name}-kubeconfig`,
      labels: { "cluster.x-k8s.io/cluster-name": name },
    },
    type: "cluster.x-k8s.io/secret",
    stringData: { value: kubeconfig },
  });
}

export async function isAvailable(cp: ControlPlane, namespace: string, name: string): Promise<boolean> {
  const { status } = await cp.get(clusterRef(namespace, name));
  const conditions: { type: string; status: string }[] = status?.conditions ?? [];
  return conditions.some((each) => each.type === "Available" && each.status === "True");
}

/** What the providers do once BeforeClusterCreate has let them. Hook: AfterControlPlaneInitialized. */
export async function provision(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  await provisionParts(cp, await partsOf(cp, namespace, name));
  // Until Cluster API has read that, its webhook refuses another version.
  await cp.waitFor(`Cluster API to see the control plane of ${namespace}/${name}`, async () => {
    const { status } = await cp.get(clusterRef(namespace, name));
    return status?.initialization?.controlPlaneInitialized === true;
  });
}

export async function provisionParts(cp: ControlPlane, parts: LabParts): Promise<void> {
  const { version, infrastructure, controlPlane } = parts;
  await cp.patch(infrastructure, { spec: { controlPlaneEndpoint: { host: "127.0.0.1", port: 1 } } });
  await cp.patchStatus(infrastructure, {
    initialization: { provisioned: true },
    conditions: [labCondition("Ready", true)],
  });
  await cp.patchStatus(controlPlane, {
    initialization: { controlPlaneInitialized: true },
    version,
    conditions: [labCondition("Available", true)],
  });
}

/** Asks for a version. Hooks: BeforeClusterUpgrade, then BeforeControlPlaneUpgrade. */
export async function upgrade(
  cp: ControlPlane,
  namespace: string,
  name: string,
  version = NEXT_VERSION,
): Promise<void> {
  await cp.patch(clusterRef(namespace, name), { spec: { topology: { version } } });
}

/**
 * What the control plane's provider does once the version has reached it. Hooks: AfterControlPlaneUpgrade, those of
 * workers, AfterClusterUpgrade.
 */
export async function finishControlPlaneUpgrade(
  cp: ControlPlane,
  namespace: string,
  name: string,
  timeoutMs?: number,
): Promise<void> {
  const { version, controlPlane } = await partsOf(cp, namespace, name);
  const released = async (): Promise<boolean> => (await cp.get(controlPlane))["spec"]?.version === version;
  await cp.waitFor(`the control plane of ${namespace}/${name} to be told ${version}`, released, timeoutMs);
  await cp.patchStatus(controlPlane, { version });
}

/** What the control plane's provider says of it. */
export async function setControlPlaneAvailable(
  cp: ControlPlane,
  namespace: string,
  name: string,
  available: boolean,
): Promise<void> {
  const { controlPlane } = await partsOf(cp, namespace, name);
  await cp.patchStatus(controlPlane, { conditions: [labCondition("Available", available)] });
}

/** Asks for deletion. Hook: BeforeClusterDelete, until it is allowed. */
export async function deleteCluster(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  await cp.waitFor(`Cluster API to guard ${namespace}/${name}`, async () =>
    isGuarded(await cp.get(clusterRef(namespace, name))),
  );
  await cp.delete(clusterRef(namespace, name));
}

/** The end of a definition, or of a Namespace, can take minutes on a busy machine. */
export async function isGone(cp: ControlPlane, ref: Ref): Promise<void> {
  const gone = async (): Promise<boolean> => (await cp.find(ref)) === undefined;
  await cp.waitFor(`${ref.kind} ${ref.name} to be gone`, gone, DEFINITION_GONE_MS);
}

export async function waitUntilGone(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const gone = async (): Promise<boolean> => (await cp.find(clusterRef(namespace, name))) === undefined;
  await cp.waitFor(`Cluster ${namespace}/${name} to be gone`, gone);
}

/** Where Cluster API tells users which hooks hold a Cluster; empty before its first reconciliation. */
export async function topologyMessage(cp: ControlPlane, namespace: string, name: string): Promise<string> {
  const { status } = await cp.get(clusterRef(namespace, name));
  const conditions: { type: string; message?: string }[] = status?.conditions ?? [];
  return conditions.find(({ type }) => type === "TopologyReconciled")?.message ?? "";
}

export interface LabParts {
  /** What the Cluster's topology asks for. */
  readonly version: string;
  readonly infrastructure: Ref;
  readonly controlPlane: Ref;
}

async function partsOf(cp: ControlPlane, namespace: string, name: string): Promise<LabParts> {
  return await cp.waitFor(`Cluster ${namespace}/${name} to have its parts`, async () =>
    labParts(await cp.get(clusterRef(namespace, name))),
  );
}

/** Cluster API creates both, under names of its own, after BeforeClusterCreate was allowed; `undefined` before. */
export function labParts(cluster: KubeObject): LabParts | undefined {
  const { infrastructureRef, controlPlaneRef, topology } = cluster["spec"];
  const { namespace = "" } = cluster.metadata;
  if (!isGuarded(cluster) || infrastructureRef?.name === undefined || controlPlaneRef?.name === undefined)
    return undefined;
  return {
    version: topology.version,
    infrastructure: {
      apiVersion: LAB_INFRASTRUCTURE,
      kind: "LabCluster",
      namespace,
      name: infrastructureRef.name,
    },
    controlPlane: {
      apiVersion: LAB_CONTROL_PLANE,
      kind: "LabControlPlane",
      namespace,
      name: controlPlaneRef.name,
    },
  };
}

/** Before Cluster API's finalizer is there, a deleted Cluster is gone at once, and no hook is called. */
function isGuarded({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes("cluster.cluster.x-k8s.io") ?? false;
}

export function labCondition(type: string, holds: boolean): unknown {
  const lastTransitionTime = new Date().toISOString();
  return { type, status: holds ? "True" : "False", reason: "Lab", message: "", lastTransitionTime };
}
