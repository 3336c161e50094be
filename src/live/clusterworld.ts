/** What a decision about one Cluster looks at, read from the API server: no more than whoever asks must be let read. */

import type { RawObject } from "../cli/kinds.ts";
import type { KubeClient } from "../kube/client.ts";
import { discoverResource } from "../kube/discovery.ts";
import { isForbidden, isNotFound } from "../kube/errors.ts";
import { type ObjectKey, type Resource, resourceName } from "../kube/resource.ts";
import { ClusterResource, NAMESPACES, OVERRIDES, POLICY_RESOURCES } from "../manager/apiserver.ts";
import { isSecret, refusalOf, SECRETS_REFUSED } from "../manager/objectrefusal.ts";
import { viewMetadata } from "../policy/cluster.ts";
import {
  type FoundObjects,
  objectKindKey,
  type ObjectKind,
  type ObjectReader,
  type WatchedObject,
} from "../policy/objects.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import { clusterNames } from "./names.ts";

const TIMEOUT_MS = 30_000;

/** What may not be read, and is not there therefore. */
export interface Unread {
  readonly what: "Namespace" | "ClusterHookPolicies" | "HookOverrides";
  /** "list clusterhookpolicies.hookpolicy.dev" */
  readonly verb: string;
}

export interface ClusterObjects {
  /** The Cluster first, its Namespace, and every policy and override that could be about it. */
  readonly objects: readonly RawObject[];
  readonly unread: readonly Unread[];
}

/** With what gates look at. */
export interface ClusterWorld extends ClusterObjects {
  readonly reader: ObjectReader;
}

/** There is no such Cluster. */
export interface NoCluster {
  /** The Clusters of the namespace, as far as they may be listed. */
  readonly others: readonly ObjectKey[];
}

/** `queriesIn`: what gates look at. Whatever fails is a KubeError. */
export async function readClusterWorld(
  client: KubeClient,
  key: Required<ObjectKey>,
  queriesIn: (objects: readonly RawObject[]) => Promise<readonly ObjectQuery[]>,
): Promise<ClusterWorld | NoCluster> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const found = await readCluster(client, key, signal);
  if (found === undefined)
    return { others: await clusterNames(client, { namespace: key.namespace, signal }) };
  return { ...found, reader: await readGateObjects(client, await queriesIn(found.objects)) };
}

async function readCluster(
  client: KubeClient,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<ClusterObjects | undefined> {
  const clusters = await new ClusterResource(client).resolve(signal);
  const cluster = await find(client, clusters, key);
  if (cluster === undefined) return undefined;
  const { namespace } = key;
  const [own, ...rest] = await Promise.all([
    listIfServed(client, POLICY_RESOURCES.HookPolicy, namespace),
    unlessForbidden("ClusterHookPolicies", "list", POLICY_RESOURCES.ClusterHookPolicy, async (resource) =>
      listIfServed(client, resource),
    ),
    unlessForbidden("HookOverrides", "list", OVERRIDES, async (resource) => listIfServed(client, resource)),
    unlessForbidden("Namespace", "get", NAMESPACES, async (resource) => {
      const found = await find(client, resource, { name: namespace });
      return found === undefined ? [] : [found];
    }),
  ]);
  return {
    objects: [cluster, ...own, ...rest.flatMap(({ objects }) => objects)],
    unread: rest.flatMap(({ unread }) => unread),
  };
}

async function find(client: KubeClient, resource: Resource, key: ObjectKey): Promise<RawObject | undefined> {
  try {
    return typed(resource, await client.get(resource, key));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Without the operator's CRDs there are no policies yet. */
async function listIfServed(
  client: KubeClient,
  resource: Resource,
  namespace?: string,
): Promise<readonly RawObject[]> {
  try {
    return await list(client, resource, namespace);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

async function list(
  client: KubeClient,
  resource: Resource,
  namespace?: string,
): Promise<readonly RawObject[]> {
  const { items } = await client.list(resource, {
    ...(namespace !== undefined && { namespace }),
    project: (raw) => typed(resource, raw),
  });
  return items;
}

/** The items of a list do not say their kind. */
function typed({ group, version, kind }: Resource, raw: object): RawObject {
  return { ...raw, apiVersion: group === "" ? version : `${group}/${version}`, kind };
}

async function unlessForbidden(
  what: Unread["what"],
  verb: "get" | "list",
  resource: Resource,
  read: (resource: Resource) => Promise<readonly RawObject[]>,
): Promise<{ readonly objects: readonly RawObject[]; readonly unread: readonly Unread[] }> {
  try {
    return { objects: await read(resource), unread: [] };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { objects: [], unread: [{ what, verb: `${verb} ${resourceName(resource)}` }] };
  }
}

/** What gates look at for one Cluster, in the namespaces where they look for it. */
async function readGateObjects(client: KubeClient, queries: readonly ObjectQuery[]): Promise<ObjectReader> {
  const places = new Map(queries.map((query) => [placeOf(query.kind, query.namespace), query]));
  const found = new Map(
    await Promise.all(
      [...places].map(
        async ([place, { kind, namespace }]) => [place, await readKind(client, kind, namespace)] as const,
      ),
    ),
  );
  return { find: (kind, namespace) => found.get(placeOf(kind, namespace)) ?? NOT_READ };
}

function placeOf(kind: ObjectKind, namespace: string): string {
  return `${objectKindKey(kind)} ${namespace}`;
}

const NOT_READ: FoundObjects = {
  ok: false,
  reason: "ObjectsNotRead",
  message: "the objects of this kind were not read",
};

/** All of them, also where a gate names one: which one can depend on the time. */
async function readKind(client: KubeClient, kind: ObjectKind, namespace: string): Promise<FoundObjects> {
  if (isSecret(kind)) return SECRETS_REFUSED;
  let resource: Resource | undefined;
  try {
    resource = await discoverResource(client, kind);
    const raws = await list(client, resource, resource.namespaced ? namespace : undefined);
    const objects = raws.map((raw): WatchedObject => ({ metadata: viewMetadata(raw["metadata"]), raw }));
    return { ok: true, namespaced: resource.namespaced, objects };
  } catch (error) {
    const refusal = refusalOf(kind, error);
    if (refusal === undefined) throw error;
    if (!isForbidden(error)) return refusal;
    // Not the operator is refused, but whoever runs the command.
    const where = resource?.namespaced === true ? ` in namespace ${namespace}` : "";
    const what =
      resource === undefined ? `discover kind ${kind.kind}` : `list ${resourceName(resource)}${where}`;
    return { ...refusal, message: `you may not ${what}` };
  }
}
