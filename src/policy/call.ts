/** What a hook call is about. */

import type { HookCall } from "../api/runtimehooks.ts";

/** The version that a call is about: to…, else kubernetesVersion. */
export function targetVersion(call: HookCall): string | undefined {
  return call.toKubernetesVersion ?? call.kubernetesVersion;
}
