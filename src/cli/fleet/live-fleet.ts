/** Reads a fleet, or what is about one Cluster, once from the API server. */

import { fieldsOf, isFields } from "../../lib/fields.ts";
import { type ConnectionFlags, noCluster, reading } from "./connection.ts";
import { isNamespace, policyKind, type RawObject } from "./kinds.ts";
import { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, unlessNotFound } from "../../kube/kube-error.ts";
import { loadKubeConfig, serverText } from "../../kube/kubeconfig.ts";
import { type KubeObject, type ObjectKey, type Resource, resourceName } from "../../kube/resource.ts";
import { HOOK_TASKS, NAMESPACES, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../../kube/resources.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import type { ObjectReader } from "../../policy/objects.ts";
import type { ObjectQuery } from "../../policy/policy.ts";
import { CLUSTER_UID } from "../../policy/tasks/template-metadata.ts";
import { VERSION } from "../../version.ts";
import { clusterResource, listIfServed, listTyped, namesOf, readAsOperator, typed } from "./live-objects.ts";
import { hasTasks, taskNamespaces } from "./task-reader.ts";

/** The namespace of the kubeconfig's context; "default" if it has none, as in kubectl. */
export function contextNamespace(connection: ConnectionFlags): string {
  const config = loadKubeConfig(connection);
  return config.getContextObject(config.getCurrentContext())?.namespace ?? "default";
}

/** A kubeconfig that cannot be used is a usage error, unlike a failure of `work`. `server` names it for people. */
export async function withApiServer<T>(
  connection: ConnectionFlags,
  work: (client: KubeClient, server: string) => Promise<T>,
): Promise<T> {
  const config = await reading(() => loadKubeConfig(connection));
  const { requestTimeout } = connection;
  const timeout = requestTimeout !== undefined && { timeoutMs: requestTimeout || Infinity };
  const client = await reading(() => new KubeClient(config, { version: VERSION, ...timeout }));
  try {
    return await work(client, serverText(config));
  } finally {
    await client.close();
  }
}

/** Policies, overrides, rollouts, HookTasks if a policy has tasks, Clusters and Namespaces. Without the operator's CRDs there are no policies yet. */
export async function readFleet(client: KubeClient): Promise<RawObject[]> {
  const own = [POLICY_RESOURCES.HookPolicy, POLICY_RESOURCES.ClusterHookPolicy, OVERRIDES, ROLLOUTS];
  const clusters = await clusterResource(client);
  const lists = await Promise.all([
    ...own.map(async (resource) => await listIfServed(client, resource)),
    ...[clusters, NAMESPACES].map(async (resource) => await listTyped(client, resource)),
  ]);
  const objects = lists.flat();
  return objects.some(hasTasks) ? [...objects, ...(await listIfServed(client, HOOK_TASKS))] : objects;
}

const TIMEOUT_MS = 30_000;

/** Something that the user may not read, and that is therefore missing. */
export interface UnreadKind {
  readonly what:
    | "Namespace"
    | "Namespaces"
    | "HookPolicies"
    | "ClusterHookPolicies"
    | "HookOverrides"
    | "HookRollouts"
    | "HookTasks";
  /** "list clusterhookpolicies.hookpolicy.dev" */
  readonly verb: string;
}

interface ClusterObjects {
  /** The Cluster first, then every policy, rollout and override that could apply to it, and Namespaces. */
  readonly objects: readonly RawObject[];
  /** All Namespaces are among them; otherwise only the Cluster's. */
  readonly allNamespaces: boolean;
  readonly unread: readonly UnreadKind[];
  /** Whether the HookTasks of its policies are among them. */
  readonly hasHookTasks: boolean;
  /** The objects that gates look at. */
  readonly reader: ObjectReader;
}

/**
 * Reads the inputs of a decision about one Cluster, with as few permissions as possible. `queriesIn`: the objects that gates look at. Every failure is a
 * KubeError, unless there is no such Cluster.
 */
export async function readClusterObjects(
  client: KubeClient,
  key: Required<ObjectKey>,
  queriesIn: (objects: readonly RawObject[]) => Promise<readonly ObjectQuery[]>,
): Promise<ClusterObjects> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const clusters = await clusterResource(client, signal);
  const cluster = await find(client, clusters, key);
  if (cluster === undefined) {
    const everywhere = await namesOf(client, clusters, { signal });
    if (everywhere.length > 0) throw noCluster(key, everywhere);
    throw noCluster(key, await namesOf(client, clusters, { namespace: key.namespace, signal }));
  }
  const found = await readAround(client, cluster, key.namespace);
  const { objects } = found;
  return { ...found, reader: await readAsOperator(client, await queriesIn(objects), objects) };
}

async function readAround(
  client: KubeClient,
  cluster: RawObject,
  namespace: string,
): Promise<Omit<ClusterObjects, "reader">> {
  const { HookPolicy, ClusterHookPolicy } = POLICY_RESOURCES;
  const read = await Promise.all([
    unlessForbidden("HookPolicies", ["list", HookPolicy], listIfServed(client, HookPolicy, namespace)),
    unlessForbidden(
      "ClusterHookPolicies",
      ["list", ClusterHookPolicy],
      listIfServed(client, ClusterHookPolicy),
    ),
    unlessForbidden("HookOverrides", ["list", OVERRIDES], listIfServed(client, OVERRIDES)),
    unlessForbidden("HookRollouts", ["list", ROLLOUTS], listIfServed(client, ROLLOUTS)),
    unlessForbidden("Namespace", ["get", NAMESPACES], find(client, NAMESPACES, { name: namespace })),
  ]);
  const around = [cluster, ...read.flatMap(({ objects: found }) => found)];
  const tasks = await readTasks(client, cluster, around);
  const objects = [...around, ...tasks.objects];
  const hasHookTasks = tasks.unread.length === 0;
  const unread = [...read.flatMap(({ unread: each }) => each), ...tasks.unread];
  if (!objects.some(looksIntoNamespaces)) return { objects, allNamespaces: false, unread, hasHookTasks };
  const all = await unlessForbidden("Namespaces", ["list", NAMESPACES], listTyped(client, NAMESPACES));
  if (all.unread.length > 0)
    return { objects, allNamespaces: false, unread: [...unread, ...all.unread], hasHookTasks };
  const others = objects.filter((object) => !isNamespace(object));
  return { objects: [...others, ...all.objects], allNamespaces: true, unread, hasHookTasks };
}

/** Of this Cluster, where its policies have them. */
async function readTasks(
  client: KubeClient,
  cluster: RawObject,
  policies: readonly RawObject[],
): Promise<Pick<ClusterObjects, "objects" | "unread">> {
  const { uid } = viewMetadata(cluster["metadata"]);
  const labelSelector = `${CLUSTER_UID}=${uid}`;
  const lists = taskNamespaces(policies).map(async (namespace) => {
    const found = unlessNotFound(client.list(HOOK_TASKS, { namespace, labelSelector, project: asHookTask }));
    return await unlessForbidden(
      "HookTasks",
      ["list", HOOK_TASKS],
      found.then((list) => list?.items ?? []),
    );
  });
  const read = await Promise.all(lists);
  return {
    objects: read.flatMap(({ objects }) => objects),
    unread: read.flatMap(({ unread }) => unread).slice(0, 1),
  };
}

function asHookTask(raw: KubeObject): RawObject {
  return typed(HOOK_TASKS, raw);
}

/** Whether an object gate of the policy selects namespaces; too often is better than too rarely. */
function looksIntoNamespaces(object: RawObject): boolean {
  return policyKind(object) === "ClusterHookPolicy" && hasSelector(fieldsOf(object["spec"])["rules"]);
}

function hasSelector(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasSelector);
  return (
    isFields(value) && (value["namespaceSelector"] !== undefined || Object.values(value).some(hasSelector))
  );
}

async function find(client: KubeClient, resource: Resource, key: ObjectKey): Promise<RawObject | undefined> {
  const found = await unlessNotFound(client.get(resource, key));
  return found && typed(resource, found);
}

async function unlessForbidden(
  what: UnreadKind["what"],
  [verb, resource]: readonly ["get" | "list", Resource],
  work: Promise<readonly RawObject[] | RawObject | undefined>,
): Promise<{ readonly objects: readonly RawObject[]; readonly unread: readonly UnreadKind[] }> {
  try {
    return { objects: [(await work) ?? []].flat(), unread: [] };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { objects: [], unread: [{ what, verb: `${verb} ${resourceName(resource)}` }] };
  }
}
