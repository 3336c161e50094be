/** Reads a fleet once from the API server. */

import { type ConnectionFlags, reading } from "./connection.ts";
import type { RawObject } from "./kinds.ts";
import { KubeClient } from "../../kube/kube-client.ts";
import { loadKubeConfig, serverText } from "../../kube/kubeconfig.ts";
import { NAMESPACES, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../../kube/resources.ts";
import { VERSION } from "../../version.ts";
import { clusterResource, listIfServed, listTyped } from "./live-objects.ts";

/** A kubeconfig that cannot be used is a usage error, unlike a failure of `work`. `server` names it for people. */
export async function withApiServer<T>(
  connection: ConnectionFlags,
  work: (client: KubeClient, server: string) => Promise<T>,
): Promise<T> {
  const config = await reading(() => loadKubeConfig(connection));
  const client = await reading(() => new KubeClient(config, { version: VERSION }));
  try {
    return await work(client, serverText(config));
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
