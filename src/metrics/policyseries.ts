/** The series of one policy: what it holds, since when, its windows and its deadlines. */

import type { HookName } from "../api/runtimehooks.ts";
import type { OverrideSet } from "../controller/overrideset.ts";
import type { PolicyEntry } from "../controller/policyentry.ts";
import type { HeldRow } from "../operations/rows.ts";
import type { Sample } from "./metrics.ts";

export type PolicyLabel = "kind" | "namespace" | "policy";

function labelsOf({ compiled }: PolicyEntry): Record<PolicyLabel, string> {
  const { kind, namespace = "", name: policy } = compiled.ref;
  return { kind, namespace, policy };
}

/** An operation that a deadline has released is reported until it ends, but is not held any more. */
export function countDecisions(entry: PolicyEntry): Sample<PolicyLabel | "hook" | "verdict">[] {
  const counts = new Map<HookName, Map<HeldRow["verdict"], number>>();
  for (const { hook, verdict } of entry.held.values()) {
    if (verdict === "Allowed") continue;
    const ofHook = counts.get(hook) ?? new Map<HeldRow["verdict"], number>();
    counts.set(hook, ofHook.set(verdict, (ofHook.get(verdict) ?? 0) + 1));
  }
  return [...counts].flatMap(([hook, verdicts]) =>
    [...verdicts].map(([verdict, value]) => ({ labels: { ...labelsOf(entry), hook, verdict }, value })),
  );
}

export function oldestHolds(entry: PolicyEntry): Sample<PolicyLabel | "hook">[] {
  const oldest = new Map<HookName, string>();
  for (const { hook, holds, firstAsked } of entry.held.values()) {
    // Both have the same format, so the smaller text is the earlier time; parsing ten thousand would delay calls.
    if (holds && firstAsked < (oldest.get(hook) ?? "~")) oldest.set(hook, firstAsked);
  }
  return [...oldest].map(([hook, asked]) => ({
    labels: { ...labelsOf(entry), hook },
    value: Date.parse(asked) / 1000,
  }));
}

export function openWindows(entry: PolicyEntry): Sample<PolicyLabel | "rule" | "gate">[] {
  return [...entry.windows.values()].map(({ rule, gate, open }) => ({
    labels: { ...labelsOf(entry), rule, gate },
    value: Number(open),
  }));
}

/** Counts the operations that have passed each step of their deadline. */
export function countDeadlines(entry: PolicyEntry): Sample<PolicyLabel | "passed">[] {
  const steps = [...entry.deadlines.values()].flatMap((rules) => [...rules.values()]);
  if (steps.length === 0) return [];
  return [0, 50, 80, 100].map((passed) => ({
    labels: { ...labelsOf(entry), passed: String(passed) },
    value: steps.filter((step) => step === passed).length,
  }));
}

export function countOverrides(overrides: OverrideSet, now: Date): Sample<"state">[] {
  const counts = { active: 0, expired: 0, ineffective: 0 };
  for (const { compiled } of overrides.entries()) {
    if (compiled.problem !== undefined) counts.ineffective += 1;
    else if (now < compiled.expiresAt) counts.active += 1;
    else counts.expired += 1;
  }
  return Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }));
}

/** The Clusters that at least one of the policies holds, each once. */
export class HeldClusters {
  /** By uid. */
  readonly #held = new Map<HookName, Set<string>>();

  add(entry: PolicyEntry): void {
    for (const { hook, holds, clusterUID } of entry.held.values()) {
      if (!holds) continue;
      const uids = this.#held.get(hook) ?? new Set();
      this.#held.set(hook, uids.add(clusterUID));
    }
  }

  samples(): Sample<"hook">[] {
    return [...this.#held].map(([hook, { size }]) => ({ labels: { hook }, value: size }));
  }
}
