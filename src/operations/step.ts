/** The steps of an upgrade, as the Cluster shows them: the same hooks are called for each. */

import { STEP_HOOKS } from "../api/hookcatalog.ts";
import { type Cluster, UPGRADE_STEP_ANNOTATION } from "../api/meta.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { lookup } from "../policy/selector.ts";
import { isVersion } from "../policy/targetversion.ts";

/** The hooks that are called once for the version that the topology wants. */
export const VERSIONED: ReadonlySet<HookName> = new Set(["BeforeClusterUpgrade", "AfterClusterUpgrade"]);

/** The control plane's version in this step of an upgrade: its target, or its origin if the next step has not begun. */
export function stepVersion({ metadata }: Cluster): string | undefined {
  const version = lookup(metadata.annotations, UPGRADE_STEP_ANNOTATION);
  return version !== undefined && isVersion(version) ? version : undefined;
}

/** Tells one operation of a hook from the next. */
export function stepOf(hook: HookName, cluster: Cluster): string {
  const target = cluster.topology?.version ?? "";
  if (STEP_HOOKS.has(hook)) return `${target} ${stepVersion(cluster) ?? ""}`;
  return VERSIONED.has(hook) ? target : "";
}

/** The annotation of a step is written before the status: a plan that still has the step's version is from before it. */
export function isOfEarlierStep(cluster: Cluster): boolean {
  const version = stepVersion(cluster);
  return version !== undefined && cluster.progress?.plan?.includes(version) === true;
}
