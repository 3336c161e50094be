/** Gauges of the Clusters that Cluster API calls about, and of those that it never calls about. */

import type { Cluster } from "../api/meta.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { Lister, Unavailable } from "../memory/ports.ts";
import type { Metrics, Sample } from "./metrics.ts";
import { clusterKey } from "../policy/cluster.ts";
import { BYPASSES, bypassesOf } from "../operations/marks.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { NOT_CALLED_REASONS } from "../hooks/registration.ts";

export interface Coverage {
  readonly store: DecisionStore;
  readonly clusters: Pick<Lister<Cluster>, "list">;
  readonly notCalled: (policy: CompiledPolicy) => Unavailable | "Unknown" | undefined;
}

/** Counts only: users who create Clusters and policies must not be able to create series. */
export function followCoverage(metrics: Metrics, coverage: Coverage): void {
  metrics.policiesNotCalled.follow(() => countNotCalled(coverage));
  metrics.clusters.follow(() => countClusters(coverage));
  metrics.bypasses.follow(() => countBypasses(coverage));
}

function countNotCalled({ store, notCalled }: Coverage): Sample<"reason">[] {
  const reasons = [...store.policies.entries()].map(({ compiled }) => notCalled(compiled));
  if (reasons.includes("Unknown")) return [];
  return NOT_CALLED_REASONS.map((reason) => ({
    labels: { reason },
    value: reasons.filter((each) => typeof each === "object" && each.reason === reason).length,
  }));
}

function countClusters({ store, clusters }: Coverage): Sample<"coverage">[] {
  if (!store.loaded) return [];
  const counts = { matched: 0, unmatched: 0, matched_without_topology: 0, unmatched_without_topology: 0 };
  const matched = new Set<string>();
  for (const entry of store.policies.entries()) for (const key of entry.matched) matched.add(key);
  for (const cluster of clusters.list()) {
    const is = matched.has(clusterKey(cluster)) ? "matched" : "unmatched";
    counts[cluster.topology === undefined ? (`${is}_without_topology` as const) : is] += 1;
  }
  return Object.entries(counts).map(([name, value]) => ({ labels: { coverage: name }, value }));
}

function countBypasses({ store, clusters }: Coverage): Sample<"annotation">[] {
  if (!store.loaded) return [];
  const counts = new Map(Object.keys(BYPASSES).map((annotation): [string, number] => [annotation, 0]));
  for (const cluster of clusters.list())
    for (const annotation of bypassesOf(cluster)) counts.set(annotation, (counts.get(annotation) ?? 0) + 1);
  return [...counts].map(([annotation, value]) => ({ labels: { annotation }, value }));
}
