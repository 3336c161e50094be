/** A fleet as the API server has it now, for the command line. Read once; whatever fails is a KubeError of one line. */

import { objectKindKey, type FoundObjects, type ObjectKind, type ObjectReader } from "../policy/objects.ts";
import type { ObjectDemand } from "../policy/policy.ts";
import { viewMetadata } from "../policy/cluster.ts";
import type { RawObject } from "../cli/kinds.ts";
import { KubeClient } from "../kube/client.ts";
import { loadKubeConfig } from "../kube/config.ts";
import { discoverResource } from "../kube/discovery.ts";
import { isForbidden, isNotFound } from "../kube/errors.ts";
import { type KubeObject, type Resource, resourceName } from "../kube/resource.ts";
import { ClusterResource, NAMESPACES, OVERRIDES, POLICY_RESOURCES } from "../manager/apiserver.ts";
import { isSecret, refusalOf, SECRETS_REFUSED } from "../manager/objectrefusal.ts";

export interface Connection {
  /** A file; absent: as kubectl finds it. */
  readonly kubeconfig?: string;
  /** Of the kubeconfig; absent: the current one. */
  readonly context?: string;
  /** Of this program, for the User-Agent. */
  readonly version: string;
}

export async function withApiServer<T>(
  { version, ...source }: Connection,
  work: (client: KubeClient) => Promise<T>,
): Promise<T> {
  const client = new KubeClient(loadKubeConfig(source), { version });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Policies, overrides, Clusters and Namespaces. Without the operator's CRDs there are no policies yet. */
export async function readFleet(client: KubeClient): Promise<RawObject[]> {
  const own = [POLICY_RESOURCES.HookPolicy, POLICY_RESOURCES.ClusterHookPolicy, OVERRIDES];
  const clusters = await new ClusterResource(client).resolve(AbortSignal.timeout(TIMEOUT_MS));
  const lists = await Promise.all([
    ...own.map(async (resource) => await listIfServed(client, resource)),
    ...[clusters, NAMESPACES].map(async (resource) => await list(client, resource)),
  ]);
  return lists.flat();
}

const TIMEOUT_MS = 30_000;

async function listIfServed(client: KubeClient, resource: Resource): Promise<RawObject[]> {
  try {
    return await list(client, resource);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** The items of a list do not say their kind. */
async function list(client: KubeClient, resource: Resource): Promise<RawObject[]> {
  const { group, version, kind } = resource;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const project = (raw: KubeObject): RawObject => ({ ...raw, apiVersion, kind });
  const { items } = await client.list(resource, { project });
  return items;
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

const NOT_READ: FoundObjects = {
  ok: false,
  reason: "ObjectsNotRead",
  message: "the objects of this kind were not read",
};

async function readKind(client: KubeClient, kind: ObjectKind): Promise<FoundObjects> {
  if (isSecret(kind)) return SECRETS_REFUSED;
  let resource: Resource | undefined;
  try {
    resource = await discoverResource(client, kind);
    const raws = await list(client, resource);
    const objects = raws.map((raw) => ({ metadata: viewMetadata(raw["metadata"]), raw }));
    return { ok: true, namespaced: resource.namespaced, objects };
  } catch (error) {
    const refusal = refusalOf(kind, error);
    if (refusal === undefined) throw error;
    if (!isForbidden(error)) return refusal;
    // Not the operator is refused, but whoever runs the command.
    const what = resource === undefined ? `discover kind ${kind.kind}` : `list ${resourceName(resource)}`;
    return { ...refusal, message: `you may not ${what}` };
  }
}
