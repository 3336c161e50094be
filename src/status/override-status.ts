/** The status of a HookOverride as a pure function of what this replica knows, the stored status, and the time. */

import { CONDITION, type HookOverrideStatus, type OverrideUse } from "../api/hook-policy.ts";
import { timestamp } from "../policy/instant.ts";
import { failing, type ConditionFinding, withTransitions } from "./conditions.ts";
import { MAX_USED, type OverrideEntry, useKey } from "../memory/override-set.ts";

export function computeOverrideStatus(entry: OverrideEntry, now: Date): HookOverrideStatus {
  const { object, compiled } = entry;
  const stored = object.status?.used ?? [];
  const news = entry.used.filter((use) => isNews(use, stored));
  const used = [...stored, ...news].toSorted(newestFirst).slice(0, MAX_USED);
  const usedCount = (object.status?.usedCount ?? 0) + news.length;
  return {
    observedGeneration: compiled.generation,
    conditions: withTransitions(findings(entry, now), object.status?.conditions, compiled.generation, now),
    ...(used.length > 0 && { used }),
    ...(usedCount > 0 && { usedCount }),
  };
}

/** A use that is older than all of a full list was counted before the list dropped it. */
function isNews(use: OverrideUse, stored: readonly OverrideUse[]): boolean {
  if (stored.some((other) => useKey(other) === useKey(use))) return false;
  return stored.length < MAX_USED || stored.some((other) => newestFirst(use, other) < 0);
}

function newestFirst(a: OverrideUse, b: OverrideUse): number {
  if (a.time !== b.time) return a.time > b.time ? -1 : 1;
  return useKey(a) < useKey(b) ? -1 : 1;
}

function findings({ compiled }: OverrideEntry, now: Date): ConditionFinding[] {
  const { expiresAt, problem } = compiled;
  const type = CONDITION.Active;
  if (problem !== undefined) return failing(type, CONDITION.Stalled, problem);
  const until = timestamp(expiresAt);
  if (now >= expiresAt) {
    return [{ type, status: "False", reason: "Expired", message: `Without effect since ${until}` }];
  }
  const message = `Until ${until} the policies do not hold the Cluster`;
  return [{ type, status: "True", reason: "Active", message }];
}
