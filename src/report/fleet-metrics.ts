/** The metrics of Clusters, HookRollouts and HookTasks, and what they read. Counts only: users must not be able to create series. */

import {
  CONDITION,
  type HookRolloutSpec,
  type HookRolloutStatus,
  type HookTask,
} from "../api/hook-policy.ts";
import { conditionOf } from "../api/meta.ts";
import { NOT_CALLED_REASONS } from "../registration/registration.ts";
import { BYPASSES, bypassesOf } from "../operations/bypasses.ts";
import { clusterKey } from "../views/cluster.ts";
import type { TaskMemory } from "../tasks/task-memory.ts";
import type { Makers, MetricsWorld, Sample } from "./metric-makers.ts";

/** From a check to the backup of a large fleet. */
const TASK_BUCKETS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 4 * 3600, 24 * 3600];

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- inferred: the names of the metrics are its type
export function fleetMetrics({ mirror, histogram }: Makers) {
  mirror("hookpolicy_tasks", ({ tasks }) => countTasks(tasks), {
    help: "HookTasks of operations that are not over, by phase.",
    labelNames: ["phase"],
  });
  const taskDuration = histogram("hookpolicy_task_duration_seconds", {
    help: "Time from the beginning of a task's first attempt to its end, by its phase then.",
    buckets: TASK_BUCKETS,
    labelNames: ["phase"],
  });
  for (const phase of ["Succeeded", "Failed"]) taskDuration.zero({ phase });
  mirror("hookpolicy_rollout_clusters", byRollout(countRolloutClusters), {
    help: "Clusters of HookRollouts by stage and state, for the target that is rolled out.",
    labelNames: ["rollout", "stage", "state"],
  });
  mirror("hookpolicy_rollout_halted", byRollout(countRolloutHalts), {
    help: "Whether failures have halted the HookRollout: 1 or 0.",
    labelNames: ["rollout"],
  });
  mirror("hookpolicy_policies", countPolicies, {
    help: "Policies and HookRollouts by kind, mode and the status of their Ready condition.",
    labelNames: ["kind", "mode", "ready"],
  });
  mirror("hookpolicy_policies_not_called", countNotCalled, {
    help: "Policies and HookRollouts that would hold something, but Cluster API does not ask, by the reason of their condition NotCalled.",
    labelNames: ["reason"],
  });
  mirror("hookpolicy_discovery_failed", ({ discoveryFailed }) => single(discoveryFailed()), {
    help: "Whether Cluster API's last attempt to discover the operator has failed: 1 or 0.",
  });
  mirror("hookpolicy_clusters", countClusters, {
    help: "Clusters, by whether a policy matches them; for those without topology Cluster API calls no hook.",
    labelNames: ["coverage"],
  });
  mirror("hookpolicy_cluster_bypasses", countBypasses, {
    help: "Clusters with an annotation that lets them past a hook or a check of Cluster API, by that annotation.",
    labelNames: ["annotation"],
  });
  return { taskDuration };
}

/** `undefined`: unknown. */
export function single(value: number | boolean | undefined): Sample<never>[] {
  return value === undefined ? [] : [{ labels: {}, value: Number(value) }];
}

function countPolicies({ store, rollouts }: MetricsWorld): Sample<"kind" | "mode" | "ready">[] {
  const counts = new Map<string, Sample<"kind" | "mode" | "ready">>();
  const all = [
    ...[...store.policies.entries()].map(({ object, compiled: { ref, mode } }) => ({ ...ref, mode, object })),
    ...rollouts.entries().map(({ object, rollout: { mode } }) => ({ kind: "HookRollout", mode, object })),
  ];
  for (const { kind, mode, object } of all) {
    const labels = { kind, mode, ready: conditionOf(object, CONDITION.Ready)?.status ?? "Unknown" };
    const key = Object.values(labels).join(" ");
    counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + 1 });
  }
  return [...counts.values()];
}

function countNotCalled({ store, rollouts, notCalled, hookNotCalled }: MetricsWorld): Sample<"reason">[] {
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

/** Of the Clusters that Cluster API calls about, and of those that it never calls about. */
function countClusters({ store, clusters }: MetricsWorld): Sample<"coverage">[] {
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

function countBypasses({ store, clusters }: MetricsWorld): Sample<"annotation">[] {
  if (!store.loaded) return [];
  const counts = new Map(Object.keys(BYPASSES).map((annotation): [string, number] => [annotation, 0]));
  for (const cluster of clusters.list())
    for (const annotation of bypassesOf(cluster)) counts.set(annotation, (counts.get(annotation) ?? 0) + 1);
  return [...counts].map(([annotation, value]) => ({ labels: { annotation }, value }));
}

type Mode = HookRolloutSpec["mode"];

const STATES = ["notAsked", "waiting", "running", "succeeded", "failed"] as const;

function byRollout<T>(read: (rollout: string, status: HookRolloutStatus, mode: Mode) => readonly T[]) {
  return ({ rollouts }: MetricsWorld): T[] =>
    rollouts.entries().flatMap(({ rollout, status }) => read(rollout.name, status ?? {}, rollout.mode));
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

/** A rollout of mode Audit, which holds nothing, would be. */
export function countRolloutHalts(
  rollout: string,
  { conditions = [] }: HookRolloutStatus,
  mode: Mode,
): Sample<"rollout">[] {
  const isHalted = conditions.some(({ type, status }) => type === CONDITION.Halted && status === "True");
  return [{ labels: { rollout }, value: Number(isHalted && mode !== "Audit") }];
}

const PHASES = ["Pending", "Running", "Succeeded", "Failed", "Cancelled", "Altered"] as const;

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
  metrics: ReturnType<typeof fleetMetrics>,
  before: HookTask,
  { status }: HookTask,
): void {
  const { phase, startedAt, endedAt } = status ?? {};
  const hasEnded = phase === "Succeeded" || phase === "Failed";
  if (!hasEnded || phase === before.status?.phase || startedAt === undefined || endedAt === undefined) return;
  metrics.taskDuration.observe({ phase }, (Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
}
