/** Draws the tasks of a rule, and says what to do about them. */

import type { RuleTrace } from "../../policy/decision.ts";
import { timestamp } from "../../policy/instant.ts";
import { shellQuote } from "../../policy/message.ts";
import type { TaskState, TaskTrace } from "../../policy/tasks/task-trace.ts";
import type { Colour } from "../terminal/colour.ts";
import type { Branch, Detail } from "../terminal/tree.ts";

interface TaskTreeOptions {
  readonly colour: Colour;
  /** "hookpolicy … --context prod": how commands end. */
  readonly connection: string;
}

export function taskBranch(task: TaskTrace, { colour, connection }: TaskTreeOptions): Branch {
  const { state, message, observed, attempts, changesAt } = task;
  const command = (label: string, words: string): Detail => ({
    label,
    text: colour.cyan(`${words}${connection}`),
    whole: true,
  });
  return {
    text: `task ${task.task}: ${painted(state, colour)(WORDS[state])}`,
    details: [
      ...(message === "" ? [] : [{ label: state === "Failed" ? "because" : "waits for", text: message }]),
      ...(observed === undefined || observed === message ? [] : [{ label: "observed", text: observed }]),
      ...(attempts === undefined || attempts < 2 ? [] : [{ label: "attempts", text: String(attempts) }]),
      ...(changesAt === undefined
        ? []
        : [{ label: "valid until", text: `${timestamp(changesAt)}: it runs again after that` }]),
      ...commandsOf(task).map((words, index) => command(index === 0 ? "see" : "try again", words)),
    ],
  };
}

const WORDS: Readonly<Record<TaskState, string>> = {
  NotNeeded: "not needed",
  Waiting: "waits",
  Due: "begins next",
  Pending: "begins",
  Running: "runs",
  Succeeded: "has succeeded",
  Failed: "has failed",
  Proceeded: "has failed, and onFailure is Proceed",
  NotEvaluable: "cannot be evaluated",
};

function painted(state: TaskState, colour: Colour): (text: string) => string {
  if (state === "Succeeded" || state === "NotNeeded") return colour.green;
  if (state === "Failed" || state === "NotEvaluable") return colour.red;
  return state === "Running" || state === "Pending" ? colour.cyan : colour.yellow;
}

/** Shows its HookTask; then, for one that has failed, tries it again. */
export function commandsOf({ hookTask, state }: TaskTrace): readonly string[] {
  if (hookTask === undefined) return [];
  const words = `-n ${shellQuote(hookTask.namespace)} ${shellQuote(hookTask.name)}`;
  const show = `hookpolicy task show ${words}`;
  return state === "Failed" ? [show, `hookpolicy task retry ${words}`] : [show];
}

const OPEN: ReadonlySet<TaskState> = new Set([
  "Waiting",
  "Due",
  "Pending",
  "Running",
  "Failed",
  "NotEvaluable",
]);

/** The task that the rule waits for; those after it wait for it. */
export function openTask({ tasks = [] }: Pick<RuleTrace, "tasks">): TaskTrace | undefined {
  return tasks.find(({ state }) => OPEN.has(state));
}
