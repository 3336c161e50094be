/** A call of a hook that Cluster API has not made, as far as is known. */

import type { Cluster } from "../api/meta.ts";
import type { HookCall, HookName } from "../api/runtimehooks.ts";
import { CATALOG } from "../hooks/catalog.ts";

/**
 * As if Cluster API asked for the version that the Cluster's topology wants. Nothing tells which version an upgrade
 * comes from: an expression that looks at it is not evaluable.
 */
export function expectedCall(hook: HookName, cluster: Cluster, version?: string): HookCall {
  const wanted = version ?? cluster.topology?.version ?? "";
  if (wanted === "") return { hook };
  const fields = CATALOG[hook].versions.filter((field) => field !== "fromKubernetesVersion");
  return { hook, ...Object.fromEntries(fields.map((field) => [field, wanted])) };
}
