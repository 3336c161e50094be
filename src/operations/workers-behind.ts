/** Whether the workers of a Cluster are at a version: those that are pinned may stay behind the topology for ever. */

import { parse } from "semver";
import type { Cluster } from "../api/meta.ts";
import { firstNames } from "../lib/first-names.ts";
import { orderOf } from "../policy/version-order.ts";

/**
 * Whether workers of the Cluster are older than the version, so that it is not upgraded as a whole. Cluster API counts it as
 * upgraded: pinned workers are neither pending nor upgrading, so `TopologyReconciled` is True and `AfterClusterUpgrade` is called
 * (exp/topology/desiredstate/desired_state.go, computeMachineDeploymentVersion). Once a pin was raised, the status tells how far
 * the machines are; without versions, there are none. Without pins, Cluster API itself waits for all workers.
 */
export function hasWorkersBehind(cluster: Cluster, version: string): boolean {
  const { topology, progress = {} } = cluster;
  if (topology?.pinnedWorkers === undefined) return false;
  const { workersVersion, workersVersions = [] } = progress;
  const shown = workersVersion === undefined ? workersVersions : [workersVersion];
  return pinnedBehind(cluster, version) !== undefined || shown.some((own) => isOlder(own, version));
}

/** The workers that stay behind the version until a user raises their pin, in words; `undefined`: none does. */
export function pinnedBehind({ topology }: Cluster, version: string): string | undefined {
  const behind = topology?.pinnedWorkers?.filter((workers) => isOlder(workers.version, version)) ?? [];
  const pins = behind.map((workers) => `${workers.name} to ${workers.version}`);
  return pins.length === 0 ? undefined : `workers are pinned: ${firstNames(pins)}`;
}

/** True as well if the versions cannot be compared. */
function isOlder(own: string, version: string): boolean {
  const [a, b] = [parse(own), parse(version)];
  return a === null || b === null || (orderOf(a, b) ?? -1) < 0;
}
