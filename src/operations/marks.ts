/** Cluster API's marks on a Cluster: the hooks that it has still to call. */

import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../api/meta.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { lookup } from "../policy/selector.ts";

export function isPending(cluster: Cluster, hook: HookName): boolean {
  const pending = lookup(cluster.metadata.annotations, PENDING_HOOKS_ANNOTATION);
  return pending?.split(",").includes(hook) ?? false;
}

/** The mark in whose presence a hook is asked: its own; for a step of the control plane, the whole upgrade's. */
export function markOf(hook: HookName): HookName {
  return hook === "BeforeControlPlaneUpgrade" ? "AfterClusterUpgrade" : hook;
}
