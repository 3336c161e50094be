/** What HookPolicy decides about: Clusters that are being deleted, and the policies that hold them. */

import type { RuleSpec } from "../../src/api/hookpolicy.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { deleteCluster, postCluster } from "../scale/clusters.ts";

const API = "hookpolicy.dev/v1alpha1";
const NAMESPACES = 10;
const GROUPS = 3;
const RINGS = 5;
/** In each namespace; every Cluster is matched by one of each kind of gate. */
const HOOK_POLICIES = 9;
/** Every Cluster is matched by two. */
const CLUSTER_HOOK_POLICIES = 10;
const AT_A_TIME = 16;
const DAY_MS = 24 * 60 * 60 * 1000;

/** For the notes of the results. */
export const POLICIES = {
  loaded: NAMESPACES * HOOK_POLICIES + CLUSTER_HOOK_POLICIES,
  inScope: HOOK_POLICIES + CLUSTER_HOOK_POLICIES,
  matching: HOOK_POLICIES / GROUPS + CLUSTER_HOOK_POLICIES / RINGS,
} as const;

/** The Clusters as the API server shows them, each held by some of the policies. */
export async function createFleet(cp: ControlPlane, clusters: number): Promise<KubeObject[]> {
  for (const index of range(NAMESPACES)) {
    const metadata = { name: namespaceName(index), labels: { ring: `r${index % RINGS}` } };
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata });
  }
  const objects = await inParallel(range(clusters), async (index) => await deletedCluster(cp, index));
  for (const namespace of range(NAMESPACES)) {
    for (const index of range(HOOK_POLICIES)) await cp.create(hookPolicy(namespace, index));
  }
  for (const index of range(CLUSTER_HOOK_POLICIES)) {
    const selector = { matchLabels: { ring: `r${index % RINGS}` } };
    await cp.create(clusterHookPolicy(`ring-${index}`, index, selector));
  }
  return objects;
}

/** `count` policies, each of which matches every Cluster, in place of all others. */
export async function matchAll(cp: ControlPlane, count: number): Promise<void> {
  for (const kind of ["HookPolicy", "ClusterHookPolicy"]) {
    const found = await cp.list({ apiVersion: API, kind });
    const old = found.filter(({ metadata }) => !metadata.name.startsWith("all-"));
    await inParallel(old, async ({ metadata: { name, namespace } }) => {
      await cp.delete({ apiVersion: API, kind, name, ...(namespace !== undefined && { namespace }) });
    });
  }
  const there = (await cp.list({ apiVersion: API, kind: "ClusterHookPolicy" })).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined && metadata.name.startsWith("all-"),
  );
  await inParallel(range(count).slice(there.length), async (index) => {
    await cp.create(clusterHookPolicy(`all-${index}`, index, {}));
  });
}

/** Every policy is in force, and the operator has nothing left to write. */
export async function settled(cp: ControlPlane, operator: Operator): Promise<void> {
  await cp.waitFor(
    "every policy to be in force",
    async () => {
      const lists = ["HookPolicy", "ClusterHookPolicy"].map(
        async (kind) => await cp.list({ apiVersion: API, kind }),
      );
      return (await Promise.all(lists)).flat().every(isReady);
    },
    120_000,
  );
  let before = -1;
  await cp.waitFor(
    "the operator to come to rest",
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      const writes = await operator.metric("hookpolicy_status_writes_total");
      const waiting = await operator.metric("hookpolicy_workqueue_depth");
      const rests = writes === before && waiting === 0;
      before = writes;
      return rests;
    },
    180_000,
  );
}

function isReady({ metadata, status }: KubeObject): boolean {
  const conditions: { type: string; status: string }[] = status?.conditions ?? [];
  return (
    metadata.deletionTimestamp === undefined &&
    status?.observedGeneration === metadata.generation &&
    conditions.some((condition) => condition.type === "Ready" && condition.status === "True")
  );
}

/** Cluster API's finalizer keeps it: HookPolicy remembers only what the API server says is going on. */
async function deletedCluster(cp: ControlPlane, index: number): Promise<KubeObject> {
  const at = { namespace: namespaceName(index % NAMESPACES), name: `cluster-${index}` };
  const group = Math.floor(index / NAMESPACES) % GROUPS;
  await postCluster(cp, { ...at, size: "26k", labels: { group: `g${group}` }, created: true });
  return await deleteCluster(cp, at);
}

function namespaceName(index: number): string {
  return `team-${index}`;
}

function hookPolicy(namespace: number, index: number): KubeObject {
  return {
    apiVersion: API,
    kind: "HookPolicy",
    metadata: { namespace: namespaceName(namespace), name: `policy-${index}` },
    spec: {
      clusterSelector: { matchLabels: { group: `g${index % GROUPS}` } },
      rules: [rule(Math.floor(index / GROUPS))],
    },
  };
}

function clusterHookPolicy(name: string, index: number, namespaceSelector: object): KubeObject {
  const spec = { namespaceSelector, rules: [rule(index)] };
  return { apiVersion: API, kind: "ClusterHookPolicy", metadata: { name }, spec };
}

/** A third of them have an annotation, a window or an expression for a gate; none of these holds. */
function rule(index: number): RuleSpec {
  const hooks = ["BeforeClusterDelete"] as const;
  switch (index % 3) {
    case 0:
      return {
        name: "confirmed-delete",
        hooks: [...hooks],
        until: [
          {
            name: "approved",
            annotation: { key: "hooks.example.com/delete-approved", valueFrom: "ClusterUID" },
          },
        ],
        message: "ask the platform team for approval",
      };
    case 1:
      return {
        name: "only-on-weekends",
        hooks: [...hooks],
        until: [
          {
            name: "weekend",
            window: {
              timeZone: "Europe/Berlin",
              allow: [{ schedule: "0 22 * * FRI", duration: "8h" }],
              deny: [{ from: daysFromNow(-1), to: daysFromNow(30) }],
            },
          },
        ],
      };
    default:
      return {
        name: "drained",
        hooks: [...hooks],
        matchConditions: [
          { name: "not-a-canary", expression: "!cluster.metadata.name.startsWith('canary-')" },
        ],
        until: [
          {
            name: "marked",
            expression:
              "'example.com/drained' in cluster.metadata.annotations && cluster.topology.className != ''",
          },
        ],
      };
  }
}

function daysFromNow(days: number): string {
  return `${new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 19)}Z`;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let begin = 0; begin < items.length; begin += AT_A_TIME) {
    results.push(...(await Promise.all(items.slice(begin, begin + AT_A_TIME).map(work))));
  }
  return results;
}
