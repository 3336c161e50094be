/** Reads a fleet once from the API server. */

import { type ConnectionFlags, reading } from "./connection.ts";
import type { RawObject } from "./kinds.ts";
import { KubeClient } from "../../kube/kubeclient.ts";
import { loadKubeConfig } from "../../kube/kubeconfig.ts";
import { NAMESPACES, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../../kube/resources.ts";
import { objectKindKey, type ObjectReader } from "../../policy/objects.ts";
import type { ObjectDemand } from "../../policy/policy.ts";
import { VERSION } from "../../version.ts";
import { clusterResource, listIfServed, listTyped, NOT_READ, readKind } from "./liveobjects.ts";

/** A kubeconfig that cannot be used is a usage error, unlike a failure of `work`. */
export async function withApiServer<T>(
  connection: ConnectionFlags,
  work: (client: KubeClient) => Promise<T>,
): Promise<T> {
  const client = await reading(
    Promise.try(() => new KubeClient(loadKubeConfig(connection), { version: VERSION })),
  );
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Policies, overrides, rollouts, Clusters and Namespaces. Without the operator's CRDs there are no policies yet. */
export async function readFleet(client: KubeClient): Promise<RawObject[]> {
  const own = [POLICY_RESOURCES.HookPolicy, POLICY_RESOURCES.ClusterHookPolicy, OVERRIDES, ROLLOUTS];
  const clusters = await clusterResource(client);
  const lists = await Promise.all([
    ...own.map(async (resource) => await listIfServed(client, resource)),
    ...[clusters, NAMESPACES].map(async (resource) => await listTyped(client, resource)),
  ]);
  return lists.flat();
}

/** The objects of the kinds that gates look at, in all namespaces. */
export async function readObjects(
  client: KubeClient,
  demands: readonly ObjectDemand[],
): Promise<ObjectReader> {
  const kinds = new Map(demands.map(({ kind }) => [objectKindKey(kind), kind]));
  const found = new Map(
    await Promise.all([...kinds].map(async ([key, kind]) => [key, await readKind(client, kind)] as const)),
  );
  return {
    find: (kind, namespace) => {
      const all = found.get(objectKindKey(kind)) ?? NOT_READ;
      if (!all.ok || !all.namespaced) return all;
      return { ...all, objects: all.objects.filter(({ metadata }) => metadata.namespace === namespace) };
    },
  };
}
