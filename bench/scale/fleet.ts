/** A fleet of which every Cluster is being deleted and held, and its policies. */

import type { GateSpec, RuleSpec } from "../../src/api/hookpolicy.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { deleteCluster, postCluster } from "./clusters.ts";
import { inParallel } from "./parallel.ts";

export interface FleetSize {
  readonly clusters: number;
  readonly policies: number;
}

/** What lets a Cluster go, whatever policy holds it. */
export const APPROVED = "bench.example.com/approved";
/** The one policy that holds every Cluster. */
export const EVERYTHING = {
  apiVersion: "hookpolicy.dev/v1alpha1",
  kind: "ClusterHookPolicy",
  name: "everything",
} as const;

const NAMESPACES = 10;
/** Labels of Clusters, each of which a third of a namespace's policies select. */
const GROUPS = 3;

/** For the notes: how many policies look at each Cluster. */
export function policiesPerCluster({ policies }: FleetSize): number {
  return 1 + (policies - 1) / NAMESPACES / GROUPS;
}

/** Gives the metadata of the Clusters, as it is stored. */
export async function createFleet(
  cp: ControlPlane,
  { clusters, policies }: FleetSize,
  progress: (line: string) => void,
): Promise<KubeObject[]> {
  for (let index = 0; index < NAMESPACES; index++) {
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespaceName(index) } });
  }
  await cp.create(everything());
  for (let index = 1; index < policies; index++) await cp.create(hookPolicy(index));
  const created: KubeObject[] = [];
  await inParallel(clusters, async (index) => {
    const at = { namespace: namespaceName(index), name: `cluster-${index}` };
    const group = `g${Math.floor(index / NAMESPACES) % GROUPS}`;
    await postCluster(cp, { ...at, size: "26k", labels: { group }, created: true });
    const { apiVersion, kind, metadata } = await deleteCluster(cp, at);
    created[index] = { apiVersion, kind, metadata };
    if ((index + 1) % 1000 === 0) progress(`${index + 1} Clusters created`);
  });
  return created;
}

function namespaceName(index: number): string {
  return `team-${index % NAMESPACES}`;
}

function everything(): KubeObject {
  const { apiVersion, kind, name } = EVERYTHING;
  return {
    apiVersion,
    kind,
    metadata: { name },
    spec: { namespaceSelector: {}, rules: [rule({ name: "approved", annotation: { key: APPROVED } })] },
  };
}

function hookPolicy(index: number): KubeObject {
  const group = `g${Math.floor(index / NAMESPACES) % GROUPS}`;
  const gate = GATES[index % GATES.length] ?? GATES[0];
  return {
    apiVersion: EVERYTHING.apiVersion,
    kind: "HookPolicy",
    metadata: { namespace: namespaceName(index), name: `policy-${index}` },
    spec: { clusterSelector: { matchLabels: { group } }, rules: [rule(gate)] },
  };
}

const GATES: readonly [GateSpec, ...GateSpec[]] = [
  { name: "approved", annotation: { key: APPROVED } },
  {
    name: "open", // always: what is approved goes
    window: { timeZone: "Europe/Berlin", allow: [{ schedule: "0 0 * * *", duration: "24h" }] },
  },
  { name: "computed", expression: `'${APPROVED}' in cluster.metadata.annotations` },
];

function rule(gate: GateSpec): RuleSpec {
  return { name: "confirmed-delete", hooks: ["BeforeClusterDelete"], until: [gate] };
}
