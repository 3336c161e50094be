/** Tells one set of members from another: slots that were taken under other selectors may be missing. */

import type { HookRolloutSpec } from "../api/hookpolicy.ts";

/** FNV-1a, 32 bits: no secret, and a collision means only that a change is not waited out. */
export function scopeOf({ mode, namespaceSelector, clusterSelector, stages = [] }: HookRolloutSpec): string {
  const selectors = stages.map((stage) => [stage.name, stage.namespaceSelector, stage.clusterSelector]);
  const text = JSON.stringify([mode, namespaceSelector, clusterSelector, selectors]);
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}
