/** What a decision says about the tasks of all policies together. */

import type { Decision, PolicyTrace } from "../decision.ts";
import { isOpen, waitsForTasks } from "./rule-tasks.ts";
import type { TaskTrace } from "./task-trace.ts";

type OpenTasks = Pick<Decision, "waitsForTasks" | "tasksDue" | "begins">;

/**
 * A task that begins last may begin when nothing but tasks holds the operation and none of them has failed; any other one
 * at once. Policies that hold nothing (Audit, overridden) begin nothing.
 */
export function openTasks(trace: readonly PolicyTrace[], renders: boolean): OpenTasks {
  const rules = trace
    .filter(({ holds }) => holds)
    .flatMap((policy) => policy.rules.filter((rule) => rule.holds));
  const tasks = rules.flatMap(({ tasks: all = [] }) => all.filter(isOpen));
  if (tasks.length === 0) return {};
  const waits = rules.every(waitsForTasks) && tasks.some(({ begins }) => begins === "Last");
  const due = tasks.filter(({ state, begins }) => state === "Due" && (begins === "First" || waits));
  return {
    ...(waits && { waitsForTasks: true }),
    ...(due.length > 0 && { tasksDue: true }),
    ...(renders && due.length > 0 && { begins: intentsOf(due) }),
  };
}

function intentsOf(tasks: readonly TaskTrace[]): NonNullable<OpenTasks["begins"]> {
  return tasks.flatMap(({ intent }) => intent ?? []);
}
