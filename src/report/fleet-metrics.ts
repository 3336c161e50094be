/** Gauges of Clusters, HookRollouts and HookTasks, and how long tasks took. Counts only: users must not be able to create series. */

import { CONDITION, type HookRolloutStatus, type HookTask } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { NOT_CALLED_REASONS } from "../registration/registration.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { Lister, NotCalled } from "../memory/memory.ts";
import { BYPASSES, bypassesOf } from "../operations/bypasses.ts";
import { clusterKey } from "../views/cluster.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import type { TaskMemory } from "../tasks/task-memory.ts";
import type { Metrics, Sample } from "./metrics.ts";

export interface CoverageInput {
  readonly store: DecisionStore;
  readonly clusters: Pick<Lister<Cluster>, "list">;
  readonly rollouts: Pick<Rollouts, "entries">;
  readonly notCalled: (policy: CompiledPolicy) => NotCalled;
  /** Why Cluster API does not call the hook in any namespace. */
  readonly hookNotCalled: (hook: HookName) => NotCalled;
  readonly discoveryFailed: () => boolean | undefined;
}

/** Of the Clusters that Cluster API calls about, and of those that it never calls about. */
export function followCoverage(metrics: Metrics, coverage: CoverageInput): void {
  metrics.policiesNotCalled.follow(() => countNotCalled(coverage));
  metrics.discoveryFailed.follow(() => {
    const failed = coverage.discoveryFailed();
    return failed === undefined ? [] : [{ labels: {}, value: Number(failed) }];
  });
  metrics.clusters.follow(() => countClusters(coverage));
  metrics.bypasses.follow(() => countBypasses(coverage));
}

function countNotCalled({ store, rollouts, notCalled, hookNotCalled }: CoverageInput): Sample<"reason">[] {
  const reasons = [
    ...[...store.policies.entries()].map(({ compiled }) => notCalled(compiled)),
    ...rollouts.entries().map(({ hook }) => hookNotCalled(hook)),
  ];
  if (reasons.includes("Unknown")) return [];
  return NOT_CALLED_REASONS.map((reason) => ({
    labels: { reason },
    value: reasons.filter((each) => typeof each === "object" && each.reason === reason).length,
  }));
}

function countClusters({ store, clusters }: CoverageInput): Sample<"coverage">[] {
  if (!store.loaded) return [];
  const counts = { matched: 0, unmatched: 0, matched_without_topology: 0, unmatched_without_topology: 0 };
  const matched = new Set<string>();
  for (const entry of store.policies.entries()) for (const key of entry.matched) matched.add(key);
  for (const cluster of clusters.list()) {
    const is = matched.has(clusterKey(cluster)) ? "matched" : "unmatched";
    counts[cluster.topology === undefined ? (`${is}_without_topology` as const) : is] += 1;
  }
  return Object.entries(counts).map(([name, value]) => ({ labels: { coverage: name }, value }));
}

function countBypasses({ store, clusters }: CoverageInput): Sample<"annotation">[] {
  if (!store.loaded) return [];
  const counts = new Map(Object.keys(BYPASSES).map((annotation): [string, number] => [annotation, 0]));
  for (const cluster of clusters.list())
    for (const annotation of bypassesOf(cluster)) counts.set(annotation, (counts.get(annotation) ?? 0) + 1);
  return [...counts].map(([annotation, value]) => ({ labels: { annotation }, value }));
}

const STATES = ["notAsked", "waiting", "running", "succeeded", "failed"] as const;

export function followRollouts(metrics: Metrics, rollouts: Pick<Rollouts, "entries">): void {
  const each = <T>(read: (name: string, status: HookRolloutStatus) => readonly T[]): T[] =>
    rollouts.entries().flatMap(({ rollout, status }) => read(rollout.name, status ?? {}));
  metrics.rolloutClusters.follow(() => each(countRolloutClusters));
  metrics.rolloutHalted.follow(() => each(countRolloutHalts));
}

/** Counts the stages of the current target; a rollout of creations or deletions has only one. */
export function countRolloutClusters(
  rollout: string,
  { target, targets = [] }: HookRolloutStatus,
): Sample<"rollout" | "stage" | "state">[] {
  const current = targets.find(({ version }) => version === target) ?? targets[0];
  return (current?.stages ?? []).flatMap((stage) =>
    STATES.map((state) => ({ labels: { rollout, stage: stage.name, state }, value: stage[state] })),
  );
}

export function countRolloutHalts(
  rollout: string,
  { conditions = [] }: HookRolloutStatus,
): Sample<"rollout">[] {
  const isHalted = conditions.some(({ type, status }) => type === CONDITION.Halted && status === "True");
  return [{ labels: { rollout }, value: Number(isHalted) }];
}

const PHASES = ["Pending", "Running", "Succeeded", "Failed", "Cancelled", "Altered"] as const;

export function followTasks(metrics: Pick<Metrics, "tasks">, memory: Pick<TaskMemory, "all">): void {
  metrics.tasks.follow(() => countTasks(memory));
}

/** Leaves out tasks that no longer count. A task that failed for an operation that is over needs no action. */
export function countTasks(memory: Pick<TaskMemory, "all">): Sample<"phase">[] {
  const counts = new Map<string, number>(PHASES.map((phase) => [phase, 0]));
  for (const { over, altered, phase } of memory.all()) {
    const shown = altered ? "Altered" : phase;
    if (!over) counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  return [...counts].map(([phase, value]) => ({ labels: { phase }, value }));
}

/** From the beginning of the first attempt to the end of the last. */
export function observeTask(
  metrics: Pick<Metrics, "taskDuration">,
  before: HookTask,
  { status }: HookTask,
): void {
  const { phase, startedAt, endedAt } = status ?? {};
  const hasEnded = phase === "Succeeded" || phase === "Failed";
  if (!hasEnded || phase === before.status?.phase || startedAt === undefined || endedAt === undefined) return;
  metrics.taskDuration.observe({ phase }, (Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
}
