/** Cluster API's marks on a Cluster: the hooks that it still has to call. */

import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../api/meta.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { lookup } from "../policy/selector.ts";

export function isPending(cluster: Pick<Cluster, "metadata">, hook: HookName): boolean {
  const pending = lookup(cluster.metadata.annotations, PENDING_HOOKS_ANNOTATION);
  return pending?.split(",").includes(hook) ?? false;
}

/** The mark that a call of the hook requires: the hook's own or, for BeforeControlPlaneUpgrade, the upgrade's. */
export function markOf(hook: HookName): HookName {
  return hook === "BeforeControlPlaneUpgrade" ? "AfterClusterUpgrade" : hook;
}
