/** A call of a hook that Cluster API has not made, as far as is known. */

import type { Cluster } from "../api/meta.ts";
import { type HookCall, type HookName, VERSION_FIELDS } from "../api/runtimehooks.ts";

/**
 * As if Cluster API asked for the version that the Cluster's topology wants. Nothing tells which version an upgrade
 * comes from, nor the settings of the ExtensionConfig: an expression that looks at them is not evaluable.
 */
export function expectedCall(hook: HookName, cluster: Cluster, version?: string): HookCall {
  const wanted = version ?? cluster.topology?.version ?? "";
  if (wanted === "") return { hook };
  const fields = VERSION_FIELDS[hook].filter((field) => field !== "fromKubernetesVersion");
  return { hook, ...Object.fromEntries(fields.map((field) => [field, wanted])) };
}
