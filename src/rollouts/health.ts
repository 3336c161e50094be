/** How far a Cluster is, as its status in memory shows it. Memory may be behind, so this alone never begins an operation. */

import { parse, type SemVer } from "semver";
import type { Cluster } from "../api/meta.ts";
import { entryOf } from "../lib/entry-of.ts";
import { Kept } from "../lib/kept.ts";
import { isAtVersion, isPending } from "../operations/hook-lives.ts";
import { inOwnDecision } from "../policy/budget.ts";
import { orderOf } from "../policy/version-order.ts";
import type { CompiledRollout } from "./rollout.ts";

/** Unknown: an expression cannot be evaluated, or memory has only a stub, which is neither success nor failure. */
export type Health = "Healthy" | "Unhealthy" | "Unknown";

/** All checks together have the steps of one ClusterHookPolicy: a tenant chooses how many annotations a Cluster has. */
export function healthOf(rollout: CompiledRollout, cluster: Cluster, now: Date): Health {
  return cluster.tooLarge === true ? "Unknown" : inOwnDecision(() => judgeHealth(rollout, cluster, now));
}

function judgeHealth({ healthyWhen }: CompiledRollout, cluster: Cluster, now: Date): Health {
  let health: Health = "Healthy";
  for (const expression of healthyWhen) {
    const result = expression?.evaluate({ cluster, now });
    if (result?.ok !== true) health = "Unknown";
    else if (result.value !== true) return "Unhealthy";
  }
  return health;
}

/** Whether an upgrade to the target, or to a newer version, is complete; the version in the spec does not show that. */
export function isAtTarget(cluster: Cluster, target: string): boolean {
  return isAtVersion(cluster) && wants(cluster, target);
}

/** Whether the Cluster was asked for the target or a version that is known to be newer. */
export function wants({ topology }: Cluster, target: string): boolean {
  return isAsNew(topology?.version ?? "", target);
}

export function isAsNew(version: string, target: string): boolean {
  const [own, wanted] = [versionOf(version), versionOf(target)];
  return own !== null && wanted !== null && (orderOf(own, wanted) ?? -1) >= 0;
}

/**
 * The version that the Cluster has reached; `before`: the versions at which this replica has seen Clusters succeed, by uid.
 * `TopologyReconciled` has to be True only once for that: it is not True for a moment whenever a tenant scales a
 * MachineDeployment. It has to be True again for another version, during another upgrade, and after the Cluster was
 * unhealthy, because only then it may have been repaired.
 */
export function reachedVersion(
  cluster: Cluster,
  health: Health,
  before: ReadonlyMap<string, string>,
): string | undefined {
  const { metadata, topology } = cluster;
  if (health === "Unhealthy" || isPending(cluster, "AfterClusterUpgrade")) return undefined;
  const succeeds = health === "Healthy" && isAtVersion(cluster);
  return succeeds || before.get(metadata.uid) === topology?.version ? topology?.version : undefined;
}

/** Thousands of Clusters have the same few versions. */
const versions = new Kept<SemVer | null>();

function versionOf(text: string): SemVer | null {
  return entryOf(versions, text, () => parse(text));
}
