/** Reconciles the status of one HookOverride with memory. Idempotent: no write if the status is unchanged. */

import { isDeepStrictEqual } from "node:util";
import type { HookOverride } from "../api/hook-policy.ts";
import { isNews } from "../policy/cluster.ts";
import type { OverrideEntry } from "../memory/override-set.ts";
import { computeOverrideStatus } from "./override-status.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { PolicyWriter } from "../memory/ports.ts";
import { stubOverride } from "../memory/stored-views.ts";

const MAX_CONFLICTS = 5;

export async function reconcileOverride(
  key: string,
  { store, writer, now }: { store: DecisionStore; writer: PolicyWriter; now: () => Date },
): Promise<{ readonly requeueAfterMs?: number }> {
  for (let conflicts = 0; ; conflicts += 1) {
    const entry = store.overrides.get(key);
    if (entry === undefined) return {};
    const at = now();
    const status = computeOverrideStatus(entry, at);
    const leftMs = +entry.compiled.expiresAt - +at;
    const result = leftMs > 0 ? { requeueAfterMs: leftMs } : {};
    if (isDeepStrictEqual(status, entry.object.status)) return result;
    try {
      learn(store, entry, await writer.replaceOverrideStatus(entry, status));
      return result;
    } catch (error) {
      if (!writer.isConflict(error) || conflicts >= MAX_CONFLICTS) throw error;
      learn(store, entry, await writer.getOverride(entry));
    }
  }
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
