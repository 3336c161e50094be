/**
 * The order in which the kinds that gates look at are watched, if there are too many. Namespaces take turns, so that no
 * tenant can take all places.
 */

import { mergeDemands, type ObjectDemand } from "../policy/policy.ts";
import type { PolicyEntry } from "./policy-entry.ts";
import type { PolicyObject } from "./policy-set.ts";

/** How many of the 50 places are reserved for ClusterHookPolicies. */
const CLUSTER_KINDS = 25;

/**
 * The kinds of ClusterHookPolicies come first, up to their share. Then each namespace gets one kind in turn, beginning
 * with the namespace of the oldest policy; ClusterHookPolicies take part with what their share leaves out. Within a
 * namespace the oldest policy comes first. Every replica computes the same order.
 */
export function demandsInTurns(policies: Iterable<PolicyEntry>): ObjectDemand[] {
  const byAge = [...policies]
    .filter(({ demands }) => demands.size > 0)
    .map((entry) => ({ entry, rank: `${entry.object.metadata.creationTimestamp ?? ""} ${entry.key}` }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ entry }) => entry);
  const byOwner = Map.groupBy(byAge, ({ object }) => ownerOf(object));
  const demands = new Map([...byOwner].map(([owner, entries]) => [owner, kindsOf(entries)]));
  const platform = demands.get("") ?? [];
  demands.delete("");
  const ordered = platform.slice(0, CLUSTER_KINDS);
  const owners = [...demands.values(), platform.slice(CLUSTER_KINDS)];
  const rounds = Math.max(0, ...owners.map(({ length }) => length));
  for (let round = 0; round < rounds; round += 1)
    ordered.push(...owners.flatMap((kinds) => kinds[round] ?? []));
  return ordered;
}

/** The owner of ClusterHookPolicies is "". */
function ownerOf({ kind, metadata }: PolicyObject): string {
  return kind === "ClusterHookPolicy" ? "" : (metadata.namespace ?? "");
}

function kindsOf(entries: readonly PolicyEntry[]): ObjectDemand[] {
  const demands = entries.flatMap((entry) => [...entry.demands.values()]);
  return [...mergeDemands(demands).values()];
}
