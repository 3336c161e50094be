/** Limits the cost of all windows of one policy together, because all of them are searched at once every hour. */

import type { RuleSpec } from "../../api/hook-policy.ts";
import { gatesOf } from "../validation/sound-parts.ts";
import { MAX_ASKS } from "./window.ts";

/** Entries of all different windows of a policy. */
export const MAX_WINDOW_ENTRIES = 256;
/** Asks of all searches of a policy together. */
const MAX_POLICY_ASKS = 16_000;

/** For rules that fit the schema. `asks`: how often each search may ask an entry. */
export function countWindows(rules: readonly RuleSpec[]): {
  readonly tooMany: boolean;
  readonly asks: number;
} {
  const different = new Set<string>();
  let entries = 0;
  for (const rule of rules) {
    for (const { gate } of gatesOf(rule, "")) {
      const { window } = gate;
      if (window === undefined) continue;
      const key = JSON.stringify(window);
      if (different.has(key)) continue;
      different.add(key);
      entries += (window.allow?.length ?? 0) + (window.deny?.length ?? 0);
      if (entries > MAX_WINDOW_ENTRIES) return { tooMany: true, asks: 0 };
    }
  }
  const share = Math.floor(MAX_POLICY_ASKS / Math.max(1, different.size));
  return { tooMany: false, asks: Math.min(MAX_ASKS, share) };
}
