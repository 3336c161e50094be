/** Reads a fleet, or what is about one Cluster, once from the API server. */

import { fieldsOf, listOf } from "../../lib/fields.ts";
import { type ConnectionFlags, noCluster, reading } from "./connection.ts";
import type { Cluster } from "../../api/meta.ts";
import { HOOK_NAMES } from "../../api/runtime-hooks.ts";
import { expectedCall } from "../../operations/call.ts";
import { operatorOptions } from "./operator-options.ts";
import type { Options } from "../../operator/options.ts";
import { stderr } from "../terminal/output.ts";
import type { Fleet, ReadOptions } from "./fleet.ts";
import {
  clusterIn,
  type ClusterName,
  type ClusterReading,
  fleetOf,
  type FleetSettings,
  type LiveCluster,
} from "./live-cluster.ts";
import { isNamespace, ownKind, policyKind, type RawObject } from "./kinds.ts";
import { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, unlessNotFound } from "../../kube/kube-error.ts";
import { loadKubeConfig, serverText } from "../../kube/kubeconfig.ts";
import { type ObjectKey, type Resource, resourceName } from "../../kube/resource.ts";
import { HOOK_TASKS, NAMESPACES, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../../kube/resources.ts";
import { viewMetadata } from "../../views/cluster.ts";
import type { ObjectQuery } from "../../policy/policy.ts";
import { CLUSTER_UID } from "../../policy/tasks/template-metadata.ts";
import { VERSION } from "../../version.ts";
import {
  clusterResource,
  listIfServed,
  listTyped,
  namesOf,
  readAsOperator,
  withType,
} from "./live-objects.ts";
import { gateQueries } from "./rollout-hold.ts";
import { gatesIn } from "../../policy/gates/gates.ts";
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

/** Exits with code 2 if reading fails; a failed write in `work` is a failure. */
export async function withLiveCluster(
  connection: ConnectionFlags,
  name: ClusterName,
  work: (live: LiveCluster) => Promise<void>,
): Promise<void> {
  const told = new Set<string>();
  await withApiServer(connection, async (client, server) => {
    const { options, assumed } = await reading(() => operatorOptions(client));
    const { maxOverrideMs } = options;
    const read = async (): Promise<ClusterReading> => await reading(() => look(client, name, options, told));
    await work({ client, server, maxOverrideMs, assumed, look: read });
  });
}

async function look(
  client: KubeClient,
  name: ClusterName,
  options: Options,
  told: Set<string>,
): Promise<ClusterReading> {
  const now = new Date();
  const { fleet, cluster, unread } = await readCluster(client, name, {
    options,
    now,
    queries: (seen, found) =>
      HOOK_NAMES.flatMap((hook) =>
        gateQueries(seen, { world: seen.world(found), call: expectedCall(hook, found), now }),
      ),
  });
  for (const { what, verb } of unread.filter(({ verb: each }) => !told.has(each))) {
    told.add(verb);
    stderr.line(`warning: you may not ${verb}: what ${what} would say is not known here`);
  }
  const isRead = (kind: UnreadKind["what"]): boolean => unread.every(({ what }) => what !== kind);
  const isPlatformWhole = isRead("ClusterHookPolicies") && isRead("HookRollouts");
  return { fleet, cluster, now, isWhole: isPlatformWhole && isRead("HookPolicies"), isPlatformWhole };
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

interface FoundCluster {
  readonly fleet: Fleet;
  readonly cluster: Cluster;
  /** With its whole status. */
  readonly raw: RawObject;
  readonly unread: readonly UnreadKind[];
}

interface ReadPart {
  readonly objects: readonly RawObject[];
  readonly unread: readonly UnreadKind[];
}

/**
 * Reads the inputs of a decision about one Cluster, with as few permissions as possible: every policy, rollout and override that
 * could apply to it, HookTasks of its policies, and Namespaces. `queries`: the objects that gates look at. Every failure is a
 * KubeError, unless there is no such Cluster.
 */
export async function readCluster(
  client: KubeClient,
  key: Required<ObjectKey>,
  settings: FleetSettings & {
    readonly queries: (fleet: Fleet, cluster: Cluster) => readonly ObjectQuery[];
  },
): Promise<FoundCluster> {
  const raw = await rawCluster(client, key);
  const { objects, unread, read } = await readAround(client, raw, key.namespace);
  const seen = await fleetOf(objects, settings);
  const queries = settings.queries(seen, clusterIn(seen, key));
  const found = await readAsOperator(client, queries, objects);
  const fleet = await fleetOf(objects, settings, { ...read, objects: found });
  return { fleet, cluster: clusterIn(fleet, key), raw, unread };
}

/** Rejects if there is no such Cluster. */
export async function rawCluster(client: KubeClient, key: Required<ObjectKey>): Promise<RawObject> {
  const clusters = await clusterResource(client);
  const raw = await find(client, clusters, key);
  if (raw !== undefined) return raw;
  const everywhere = await namesOf(client, clusters);
  if (everywhere.length > 0) throw noCluster(key, everywhere);
  throw noCluster(key, await namesOf(client, clusters, { namespace: key.namespace }));
}

async function readAround(
  client: KubeClient,
  cluster: RawObject,
  namespace: string,
): Promise<ReadPart & { readonly read: ReadOptions }> {
  const { HookPolicy, ClusterHookPolicy } = POLICY_RESOURCES;
  const listed = async (what: UnreadKind["what"], resource: Resource, place?: string): Promise<ReadPart> =>
    await unlessForbidden(what, ["list", resource], listIfServed(client, resource, place));
  const parts = await Promise.all([
    listed("HookPolicies", HookPolicy, namespace),
    listed("ClusterHookPolicies", ClusterHookPolicy),
    listed("HookOverrides", OVERRIDES),
    listed("HookRollouts", ROLLOUTS),
    unlessForbidden("Namespace", ["get", NAMESPACES], find(client, NAMESPACES, { name: namespace })),
  ]);
  const around = [cluster, ...parts.flatMap((each) => each.objects)];
  const tasks = await readTasks(client, cluster, around);
  const objects = [...around, ...tasks.objects];
  const unread = [...parts.flatMap((each) => each.unread), ...tasks.unread];
  const read = { allNamespaces: false, tasks: tasks.unread.length === 0 ? undefined : ("Unread" as const) };
  if (!objects.some(looksIntoNamespaces)) return { objects, unread, read };
  const all = await unlessForbidden("Namespaces", ["list", NAMESPACES], listTyped(client, NAMESPACES));
  if (all.unread.length > 0) return { objects, unread: [...unread, ...all.unread], read };
  const others = objects.filter((object) => !isNamespace(object));
  return { objects: [...others, ...all.objects], unread, read: { ...read, allNamespaces: true } };
}

/** Of this Cluster, where its policies have them; of all where one has lost the label by which the Cluster's are found. */
async function readTasks(
  client: KubeClient,
  cluster: RawObject,
  policies: readonly RawObject[],
): Promise<ReadPart> {
  const { uid } = viewMetadata(cluster["metadata"]);
  const rows = policies.flatMap(({ status }) => listOf(fieldsOf(status)["decisions"]).map(fieldsOf));
  const isAltered = rows.some((row) => row["clusterUID"] === uid && row["reason"] === "TaskAltered");
  const selected = isAltered ? {} : { labelSelector: `${CLUSTER_UID}=${uid}` };
  const lists = taskNamespaces(policies).map(async (namespace) => {
    const found = unlessNotFound(
      client.list(HOOK_TASKS, { namespace, ...selected, project: (raw) => withType(HOOK_TASKS, raw) }),
    );
    const items = found.then((list) => list?.items ?? []);
    return await unlessForbidden("HookTasks", ["list", HOOK_TASKS], items);
  });
  const read = await Promise.all(lists);
  return {
    objects: read.flatMap(({ objects }) => objects),
    unread: read.flatMap(({ unread }) => unread).slice(0, 1),
  };
}

/** Whether other Namespaces than its own may matter to an object gate of a Cluster; too often is better than too rarely. */
function looksIntoNamespaces(object: RawObject): boolean {
  if (policyKind(object) !== "ClusterHookPolicy" && ownKind(object) !== "HookRollout") return false;
  return gatesIn(object["spec"]).some(({ value }) => {
    const { namespaceSelector, namespace, absent, maxCount } = fieldsOf(fieldsOf(value)["object"]);
    const provesByMissing = absent === true || maxCount !== undefined;
    return namespaceSelector !== undefined || (namespace !== undefined && provesByMissing);
  });
}

async function find(client: KubeClient, resource: Resource, key: ObjectKey): Promise<RawObject | undefined> {
  const found = await unlessNotFound(client.get(resource, key));
  return found && withType(resource, found);
}

async function unlessForbidden(
  what: UnreadKind["what"],
  [verb, resource]: readonly ["get" | "list", Resource],
  work: Promise<readonly RawObject[] | RawObject | undefined>,
): Promise<ReadPart> {
  try {
    return { objects: [(await work) ?? []].flat(), unread: [] };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { objects: [], unread: [{ what, verb: `${verb} ${resourceName(resource)}` }] };
  }
}
