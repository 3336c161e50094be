/** Many Clusters, and a fleet of which every Cluster is being deleted and held. */

import type { GateSpec, RuleSpec } from "../../src/api/hookpolicy.ts";
import { inParallel } from "../../test/apiserver/operatorlab.ts";
import type { Client, KubeObject, Ref } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { clusterPolicyRef, policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import type { Progress } from "../part.ts";
import { newCluster, type NewCluster } from "./clusters.ts";

export interface FleetSize {
  readonly clusters: number;
  readonly policies: number;
}

export const NAMESPACES = 10;
/** As many requests at a time as fill the API server without a queue. */
export const AT_A_TIME = 16;
/** What releases a Cluster, whatever policy holds it. */
export const APPROVED = "bench.example.com/approved";
/** The one policy that holds every Cluster. */
export const EVERYTHING = clusterPolicyRef("everything");

/** Labels of Clusters, each of which a third of a namespace's policies select. */
const GROUPS = 3;

export function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** The namespace of the Cluster of that number. */
export function namespaceOf(index: number): string {
  return `team-${index % NAMESPACES}`;
}

export function refOf(index: number): Ref {
  return clusterRef(namespaceOf(index), `cluster-${index}`);
}

/** Which of so many kinds in each namespace the Cluster of that number is. */
export function kindOf(index: number, kinds: number): number {
  return Math.floor(index / NAMESPACES) % kinds;
}

export interface NewClusters extends Omit<NewCluster, "namespace" | "name" | "labels" | "created"> {
  readonly count: number;
  readonly labels?: (index: number) => Readonly<Record<string, string>>;
  /** What becomes of each next; gives it as it is stored then, unless it has not changed. */
  readonly finish?: (ref: Ref, index: number) => Promise<KubeObject | undefined>;
  readonly progress: Progress;
}

/** Gives their metadata, as it is stored. */
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
    const { apiVersion, kind, metadata } = (await finish?.(refOf(index), index)) ?? first;
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

/** So many policies more that match every Cluster. */
export async function createMatching(cp: ControlPlane, count: number): Promise<void> {
  for (const index of range(count)) {
    await storePolicy(cp, clusterPolicyRef(`all-${index}`), {
      namespaceSelector: {},
      rules: [ruleOf(index)],
    });
  }
}

/** A rule about every Cluster that reads the settings of a call, so that other settings are another decision. */
export async function createReader(cp: ControlPlane): Promise<void> {
  const rules = [rule({ name: "told", expression: "request.settings.foo != ''" })];
  await storePolicy(cp, clusterPolicyRef("told"), { namespaceSelector: {}, rules });
}

/** It stays, being deleted, until it has no finalizer. */
export async function deleteCluster(cp: Client, ref: Ref): Promise<KubeObject> {
  await cp.delete(ref);
  return await cp.get(ref);
}

/** For the notes: how many policies look at each Cluster. */
export function policiesPerCluster({ policies }: FleetSize): number {
  return 1 + (policies - 1) / NAMESPACES / GROUPS;
}

const GATES: readonly [GateSpec, ...GateSpec[]] = [
  { name: "approved", annotation: { key: APPROVED } },
  {
    name: "open", // always: what is approved is released
    window: { timeZone: "Europe/Berlin", allow: [{ schedule: "0 0 * * *", duration: "24h" }] },
  },
  { name: "computed", expression: `'${APPROVED}' in cluster.metadata.annotations` },
];

function rule(gate: GateSpec): RuleSpec {
  return { name: "confirmed-delete", hooks: ["BeforeClusterDelete"], until: [gate] };
}

function ruleOf(index: number): RuleSpec {
  return rule(GATES[index % GATES.length] ?? GATES[0]);
}
