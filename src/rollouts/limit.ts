/** Limits that are a number of Clusters or a percentage of them ("10%"). */

import { MAX_FAILED, MAX_RUNNING } from "../api/hook-policy.ts";

/** An integer, or digits and "%". */
export type Limit = number | string;

/** Slots: a percentage rounds down, but to one slot at least; "0%" is none. A status can name MAX_RUNNING Clusters. */
export function slotsOf(limit: Limit, members: number): number {
  const share = shareOf(limit, members);
  if (share === undefined) return clamp(Number(limit), MAX_RUNNING);
  return limit === "0%" ? 0 : clamp(Math.max(1, Math.floor(share)), MAX_RUNNING);
}

/** Successes that are needed: a percentage rounds up. */
export function neededOf(limit: Limit, members: number): number {
  return clamp(Math.ceil(shareOf(limit, members) ?? Number(limit)), members);
}

/** An empty stage passes only if its spec allows it: its Clusters may come later. */
export function needsNone(minSucceeded: Limit): boolean {
  return minSucceeded === 0 || minSucceeded === "0%" || minSucceeded === "0";
}

/** Failures that are tolerated: a percentage rounds down. A status can name MAX_FAILED Clusters. */
export function toleratedOf(limit: Limit, members: number): number {
  return clamp(shareOf(limit, members) ?? Number(limit), MAX_FAILED);
}

/** Divides last: 0.55 * 100 is more than 55. */
function shareOf(limit: Limit, members: number): number | undefined {
  if (typeof limit !== "string" || !limit.endsWith("%")) return undefined;
  return (Number(limit.slice(0, -1)) * members) / 100;
}

/** A limit that is not a number allows nothing. */
function clamp(value: number, most: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.min(Math.floor(value), most)) : 0;
}
