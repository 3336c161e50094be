/** Many Clusters, and a fleet whose every Cluster is being deleted and held. */

import type { GateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import { inParallel } from "../../test/apiserver/operator-lab.ts";
import type { Client, KubeObject, Ref } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { clusterPolicyRef, policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import type { Progress } from "../part.ts";
import { newCluster, type NewCluster } from "./clusters.ts";

export interface FleetSize {
  readonly clusters: number;
  readonly policies: number;
}

export const NAMESPACES = 10;
/** This many requests at a time keep the API server busy without a queue. */
export const AT_A_TIME = 16;
/** The annotation that releases a Cluster, whatever policy holds it. */
export const APPROVED = "bench.example.com/approved";
export const EVERYTHING = clusterPolicyRef("everything");

/** The number of different labels of Clusters. Each label is selected by as large a part of a namespace's policies. */
const GROUPS = 3;

/** The item of that number; numbers go round. */
export function inTurn<T>(items: readonly T[], number: number): T {
  const item = items[number % items.length];
  if (item === undefined) throw new Error("there is nothing to take in turn");
  return item;
}

export function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

export function namespaceOf(index: number): string {
  return `team-${index % NAMESPACES}`;
}

export function refOf(index: number): Ref {
  return clusterRef(namespaceOf(index), `cluster-${index}`);
}

/** The kind of that Cluster, from 0, where each namespace has as many Clusters of each kind. */
export function kindOf(index: number, kinds: number): number {
  return Math.floor(index / NAMESPACES) % kinds;
}

interface NewClusters extends Pick<NewCluster, "size"> {
  readonly count: number;
  readonly labels?: (index: number) => Readonly<Record<string, string>>;
  /** Changes the created Cluster, and returns it as it is stored then, or undefined where it has not changed. */
  readonly finish: (ref: Ref, index: number) => Promise<KubeObject | undefined>;
  readonly progress: Progress;
}

/** Returns the stored metadata of the Clusters. */
export async function createClusters(
  cp: ControlPlane,
  { count, size, labels, finish, progress }: NewClusters,
): Promise<KubeObject[]> {
  for (const index of range(NAMESPACES)) {
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespaceOf(index) } });
  }
  const created: KubeObject[] = [];
  await inParallel(range(count), AT_A_TIME, async (index) => {
    const { namespace = "", name } = refOf(index);
    const cluster = newCluster({ namespace, name, size, labels: labels?.(index) ?? {}, created: true });
    const first = await cp.create(cluster);
    const { apiVersion, kind, metadata } = (await finish(refOf(index), index)) ?? first;
    created[index] = { apiVersion, kind, metadata };
    if ((index + 1) % 1000 === 0) progress(`${index + 1} Clusters created`);
  });
  return created;
}

export async function createFleet(
  cp: ControlPlane,
  { clusters, policies }: FleetSize,
  progress: Progress,
): Promise<KubeObject[]> {
  const created = await createClusters(cp, {
    count: clusters,
    size: "26k",
    labels: (index) => ({ group: `g${kindOf(index, GROUPS)}` }),
    finish: async (ref) => await deleteCluster(cp, ref),
    progress,
  });
  const approved = rule({ name: "approved", annotation: { key: APPROVED } });
  await storePolicy(cp, EVERYTHING, { namespaceSelector: {}, rules: [approved] });
  for (const index of range(policies).slice(1)) {
    await storePolicy(cp, policyRef(namespaceOf(index), `policy-${index}`), {
      clusterSelector: { matchLabels: { group: `g${kindOf(index, GROUPS)}` } },
      rules: [ruleOf(index)],
    });
  }
  return created;
}

export async function createMatching(cp: ControlPlane, count: number): Promise<void> {
  for (const index of range(count)) {
    await storePolicy(cp, clusterPolicyRef(`all-${index}`), {
      namespaceSelector: {},
      rules: [ruleOf(index)],
    });
  }
}

/** Adds a rule about every Cluster that reads the settings of a call: each call with other settings is evaluated. */
export async function createReader(cp: ControlPlane): Promise<void> {
  const rules = [rule({ name: "told", expression: "request.settings.foo != ''" })];
  await storePolicy(cp, clusterPolicyRef("told"), { namespaceSelector: {}, rules });
}

/** The Cluster stays, being deleted, until it has no finalizer. */
export async function deleteCluster(cp: Client, ref: Ref): Promise<KubeObject> {
  await cp.delete(ref);
  return await cp.get(ref);
}

export function policiesPerCluster({ policies }: FleetSize): number {
  return 1 + (policies - 1) / NAMESPACES / GROUPS;
}

const GATES: readonly GateSpec[] = [
  { name: "approved", annotation: { key: APPROVED } },
  {
    name: "open", // always open: an approved Cluster is released
    window: { timeZone: "Europe/Berlin", allow: [{ schedule: "0 0 * * *", duration: "24h" }] },
  },
  { name: "computed", expression: `'${APPROVED}' in cluster.metadata.annotations` },
];

function rule(gate: GateSpec): RuleSpec {
  return { name: "confirmed-delete", hooks: ["BeforeClusterDelete"], until: [gate] };
}

function ruleOf(index: number): RuleSpec {
  return rule(inTurn(GATES, index));
}
