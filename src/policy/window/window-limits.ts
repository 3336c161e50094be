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
  const windows = rules.flatMap((rule) => gatesOf(rule, "")).flatMap(({ gate }) => gate.window ?? []);
  const different = new Map(windows.map((window) => [JSON.stringify(window), window]));
  const entries = [...different.values()].flatMap(({ allow = [], deny = [] }) => [...allow, ...deny]);
  const share = Math.floor(MAX_POLICY_ASKS / Math.max(1, different.size));
  return { tooMany: entries.length > MAX_WINDOW_ENTRIES, asks: Math.min(MAX_ASKS, share) };
}
