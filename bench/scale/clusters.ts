/** Clusters of a realistic size, and what Cluster API sends about them. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HookName } from "../../src/api/runtimehooks.ts";
import type { Client, KubeObject } from "../../test/controlplane/client.ts";
import { CLUSTER_API } from "../../test/controlplane/labkinds.ts";

/** Cluster API's own: with it a deleted Cluster stays until the hook has let it go. */
const FINALIZER = "cluster.cluster.x-k8s.io";
const COLLECTION = `/apis/${CLUSTER_API}/namespaces`;

/** What their BeforeClusterDelete request is long. */
export type Size = "1k" | "26k";

/** Of the Clusters in requests that Cluster API 1.14 has sent. */
const SPECS: Readonly<Record<Size, KubeObject>> = { "1k": specOf("1k"), "26k": specOf("26k") };

function specOf(size: Size): KubeObject {
  const file = `before-cluster-delete-${size}.json`;
  const body: { cluster: KubeObject } = JSON.parse(
    readFileSync(join(import.meta.dirname, "../bodies", file), "utf8"),
  );
  return body.cluster["spec"];
}

export interface NewCluster {
  readonly namespace: string;
  readonly name: string;
  /** Default: 26k. */
  readonly size?: Size;
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether BeforeClusterCreate has been passed. */
  readonly created: boolean;
}

/** The values of the variables differ from Cluster to Cluster, as they do in life. */
function clusterObject({ namespace, name, size = "26k", labels = {}, created }: NewCluster): KubeObject {
  const { topology, controlPlaneRef, infrastructureRef, controlPlaneEndpoint } = SPECS[size];
  const variables = topology.variables?.map((variable: { name: string; value: { a: string } }) => ({
    ...variable,
    value: {
      ...variable.value,
      a: distinct(`${namespace}/${name}/${variable.name}`, variable.value.a.length),
    },
  }));
  return {
    apiVersion: CLUSTER_API,
    kind: "Cluster",
    metadata: { namespace, name, labels, finalizers: [FINALIZER] },
    spec: {
      topology: { ...topology, ...(variables !== undefined && { variables }) },
      ...(created && { controlPlaneRef, infrastructureRef, controlPlaneEndpoint }),
    },
  };
}

/** References that say: BeforeClusterCreate has been passed. */
export function createdPatch(): object {
  const { controlPlaneRef, infrastructureRef } = SPECS["1k"];
  return { spec: { controlPlaneRef, infrastructureRef } };
}

/** A part that cannot be compressed, and a part that can. */
function distinct(seed: string, length: number): string {
  const digest = createHash("sha256").update(seed).digest("hex");
  return (digest + seed.repeat(Math.ceil(length / seed.length))).slice(0, length);
}

function clusterPath({ namespace, name }: { namespace: string; name: string }): string {
  return `${COLLECTION}/${namespace}/clusters/${name}`;
}

/** By path, so that nothing is looked up; gives the Cluster as it is stored. */
export async function postCluster(api: Client, cluster: NewCluster): Promise<KubeObject> {
  const path = `${COLLECTION}/${cluster.namespace}/clusters`;
  return await api.request<KubeObject>("POST", path, JSON.stringify(clusterObject(cluster)));
}

export async function patchCluster(
  api: Client,
  at: { namespace: string; name: string },
  patch: object,
): Promise<KubeObject> {
  return await mergePatch(api, clusterPath(at), patch);
}

export async function patchClusterStatus(
  api: Client,
  at: { namespace: string; name: string },
  status: object,
): Promise<KubeObject> {
  return await mergePatch(api, `${clusterPath(at)}/status`, { status });
}

async function mergePatch(api: Client, path: string, patch: object): Promise<KubeObject> {
  return await api.request<KubeObject>("PATCH", path, JSON.stringify(patch), "application/merge-patch+json");
}

/** It stays, being deleted, until it has no finalizer. */
export async function deleteCluster(
  api: Client,
  at: { namespace: string; name: string },
): Promise<KubeObject> {
  return await api.request<KubeObject>("DELETE", clusterPath(at));
}

/** The bytes that Cluster API sends: without status and managedFields. */
export function requestBody(hook: HookName, { status: _, ...cluster }: KubeObject): Buffer {
  const { managedFields: _fields, ...metadata } = cluster.metadata as KubeObject["metadata"] & {
    managedFields?: unknown;
  };
  return Buffer.from(
    JSON.stringify({
      apiVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1",
      kind: `${hook}Request`,
      settings: {},
      cluster: { ...cluster, apiVersion: CLUSTER_API, kind: "Cluster", metadata },
    }),
  );
}
