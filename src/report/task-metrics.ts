/** What the HookTasks in memory are, and how long they took. */

import type { HookTask } from "../api/hook-policy.ts";
import type { TaskMemory } from "../tasks/task-memory.ts";
import type { Metrics, Sample } from "./metrics.ts";

const PHASES = ["Pending", "Running", "Succeeded", "Failed", "Cancelled", "Altered"] as const;

export function followTasks(metrics: Pick<Metrics, "tasks">, memory: Pick<TaskMemory, "all">): void {
  metrics.tasks.follow(() => countTasks(memory));
}

/** Leaves out tasks that no longer count. A task that failed for an operation that is over needs no action. */
export function countTasks(memory: Pick<TaskMemory, "all">): Sample<"phase">[] {
  const counts = new Map<string, number>(PHASES.map((phase) => [phase, 0]));
  for (const { over, altered, phase } of memory.all()) {
    const shown = altered === undefined ? phase : "Altered";
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
