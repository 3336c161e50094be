/** Identifies the set of members by the selectors: claims that were made under other selectors may be incomplete. */

import type { HookRolloutSpec } from "../api/hook-policy.ts";

/** FNV-1a, 32 bits. After a collision, the operator does not wait for claims that may be missing. */
export function scopeOf({ mode, namespaceSelector, clusterSelector, stages = [] }: HookRolloutSpec): string {
  const selectors = stages.map((stage) => [stage.name, stage.namespaceSelector, stage.clusterSelector]);
  const text = JSON.stringify([mode, namespaceSelector, clusterSelector, selectors]);
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}
