/** The steps of an upgrade, as the Cluster shows them: Cluster API calls the same hooks for each step. */

import { STEP_HOOKS } from "../api/hook-catalog.ts";
import { type Cluster, UPGRADE_STEP_ANNOTATION } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { lookup } from "../policy/selector.ts";
import { isVersion } from "../policy/target-version.ts";

/** The hooks that are called once per upgrade, about the version of the topology. */
export const VERSIONED: ReadonlySet<HookName> = new Set(["BeforeClusterUpgrade", "AfterClusterUpgrade"]);

/** The version in the control plane's spec: the step's target or, until the step begins, its origin. */
export function stepVersion({ metadata }: Cluster): string | undefined {
  const version = lookup(metadata.annotations, UPGRADE_STEP_ANNOTATION);
  return version !== undefined && isVersion(version) ? version : undefined;
}

/** Distinguishes one operation of a hook from the next. */
export function stepOf(hook: HookName, cluster: Cluster): string {
  const target = cluster.topology?.version ?? "";
  if (STEP_HOOKS.has(hook)) return `${target} ${stepVersion(cluster) ?? ""}`;
  return VERSIONED.has(hook) ? target : "";
}

/** Cluster API writes the step's annotation before the status: a plan that still has the step's version is old. */
export function isOfEarlierStep(cluster: Cluster): boolean {
  const version = stepVersion(cluster);
  return version !== undefined && cluster.progress?.plan?.includes(version) === true;
}
