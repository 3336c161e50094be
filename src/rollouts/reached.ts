/** Which members had the version of their topology when they were last seen to succeed. */

import type { Cluster } from "../api/meta.ts";
import { isPending } from "../operations/marks.ts";
import { isAtVersion } from "../operations/shows.ts";
import type { Health } from "./health.ts";

/** By uid of the Cluster, the version at which this replica has seen it succeed. */
type Reached = ReadonlyMap<string, string>;

/**
 * The version that the Cluster has reached. `TopologyReconciled` is needed only to see that once: it is not True for a
 * moment whenever a tenant scales a MachineDeployment, and a version that was reached is not lost by that. Another version
 * or another upgrade needs it again; so does a Cluster that was unhealthy, because only then it may have been repaired.
 */
export function reachedVersion(cluster: Cluster, health: Health, before: Reached): string | undefined {
  const { metadata, topology } = cluster;
  if (health === "Unhealthy" || isPending(cluster, "AfterClusterUpgrade")) return undefined;
  const succeeds = health === "Healthy" && isAtVersion(cluster);
  return succeeds || before.get(metadata.uid) === topology?.version ? topology?.version : undefined;
}
