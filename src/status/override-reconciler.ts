/** Reconciles the status of one HookOverride with memory. Idempotent: no write if the status is unchanged. */

import { isDeepStrictEqual } from "node:util";
import {
  CONDITION,
  type HookOverride,
  type HookOverrideStatus,
  MAX_USED,
  type OverrideUse,
} from "../api/hook-policy.ts";
import type { Requeue } from "../lib/requeue.ts";
import { despite } from "../lib/thrown.ts";
import { isNews } from "../views/versions.ts";
import { firstNames } from "../lib/first-names.ts";
import { timestamp } from "../lib/instant.ts";
import { type OverrideEntry, useKey } from "../memory/override-set.ts";
import { type ConditionFinding, failing, withTransitions } from "./conditions.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { PolicyApi } from "./policy-api.ts";
import { stubOverride } from "../memory/stored-views.ts";

export async function reconcileOverride(
  key: string,
  { store, api, now }: { store: DecisionStore; api: PolicyApi; now: () => Date },
): Promise<Requeue> {
  const write = async (): Promise<Requeue> => {
    const entry = store.overrides.get(key);
    if (entry === undefined) return {};
    const at = now();
    const status = computeOverrideStatus(entry, at);
    if (!isDeepStrictEqual(status, entry.object.status))
      learn(store, entry, await api.replaceOverrideStatus(entry, status));
    const leftMs = +entry.compiled.expiresAt - +at;
    return leftMs > 0 ? { requeueAfterMs: leftMs } : {};
  };
  const read = async (): Promise<void> => {
    const entry = store.overrides.get(key);
    if (entry !== undefined) learn(store, entry, await api.getOverride(entry));
  };
  return await despite((error) => api.isConflict(error), write, read);
}

/** Unless the informer has meanwhile reported a newer copy, a deletion, or another override of its name. */
function learn(
  store: DecisionStore,
  { key, compiled }: OverrideEntry,
  object: HookOverride | undefined,
): void {
  const current = store.overrides.get(key);
  if (object === undefined || current === undefined) return;
  if (!isNews(object.metadata, current.object.metadata)) return;
  store.overrideChanged(compiled.name, current.object.tooLarge === true ? stubOverride(object) : object);
}

/** Pure: of what this replica knows, the stored status, and the time. */
export function computeOverrideStatus(entry: OverrideEntry, now: Date): HookOverrideStatus {
  const { object, compiled } = entry;
  const stored = object.status?.used ?? [];
  const news = entry.used.filter((use) => isNewUse(use, stored));
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
function isNewUse(use: OverrideUse, stored: readonly OverrideUse[]): boolean {
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
  const { policies, hooks } = compiled;
  const who =
    policies === undefined
      ? "no policy and no rollout holds"
      : `${firstNames([...policies])} ${policies.size === 1 ? "does" : "do"} not hold`;
  const message = `Until ${until} ${who} the Cluster at ${firstNames([...hooks], hooks.size)}`;
  return [{ type, status: "True", reason: "Active", message }];
}
