/** Draws the tasks of a rule, and says what to do about them. */

import type { RuleTrace } from "../../policy/decision.ts";
import { timestamp } from "../../lib/instant.ts";
import type { NextAttempt } from "../../policy/tasks/task-record.ts";
import type { TaskState, TaskTrace } from "../../policy/tasks/task-trace.ts";
import type { Colour } from "../terminal/colour.ts";
import { commandDetail, type CommandWords, taskCommand } from "../terminal/printed-command.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Branch, Detail } from "../../page/branch.ts";

export function taskBranch(task: TaskTrace, view: CommandWords & Pick<Terminal, "colour">): Branch {
  const { state, message, hindered, attempts, nextAttempt, changesAt } = task;
  const [, tone] = STATES[hindered === true ? "Failed" : state];
  return {
    text: `task ${task.task}: ${view.colour[tone](wordsOf(task))}`,
    verdict: DONE.has(state) ? "Allowed" : "Blocked",
    details: [
      (state === "NotEvaluable" || state === "Altered") && { label: "because", text: message },
      observedDetail(task),
      attempts !== undefined && attempts > 1 && { label: "attempts", text: String(attempts) },
      nextAttempt !== undefined && { label: "not before", text: timestamp(nextAttempt.at) },
      changesAt !== undefined &&
        nextAttempt === undefined && {
          label: "valid until",
          text: `${timestamp(changesAt)}: it runs again after that`,
        },
      ...commandsOf(task).map((command, index) =>
        commandDetail(index === 0 ? "see" : "try again", command, view),
      ),
    ],
  };
}

function observedDetail({ state, observed = "", hindered }: TaskTrace): Detail | false {
  const label = WAITS.has(state) && hindered !== true ? "waits for" : "because";
  return observed !== "" && state !== "Altered" && { label, text: observed };
}

const WAITS: ReadonlySet<TaskState> = new Set(["Pending", "Running"]);

/** One that waits says for what. */
function wordsOf({ task, state, message, nextAttempt, hindered }: TaskTrace): string {
  if (hindered === true) return state === "Running" ? "cannot be observed" : "cannot begin";
  const own = `task ${task} `;
  if (nextAttempt !== undefined) return attemptText(nextAttempt);
  return state === "Waiting" && message.startsWith(own) ? message.slice(own.length) : STATES[state][0];
}

function attemptText({ number, of }: Pick<NextAttempt, "number" | "of">): string {
  return `waits for attempt ${number} of ${of}, because the last one has failed`;
}

export function wantedOfTask(task: TaskTrace): string {
  const { state, message, observed = "" } = task;
  if (state === "NotEvaluable" || state === "Altered") return message;
  return `task ${task.task}, which ${wordsOf(task)}${observed === "" ? "" : `: ${observed}`}`;
}

const STATES: Readonly<Record<TaskState, readonly [words: string, colour: keyof Colour]>> = {
  NotNeeded: ["not needed", "green"],
  Waiting: ["waits", "yellow"],
  Due: ["begins next", "yellow"],
  Pending: ["begins", "cyan"],
  Running: ["runs", "cyan"],
  Retrying: ["waits for its next attempt", "cyan"],
  Succeeded: ["has succeeded", "green"],
  Failed: ["has failed", "red"],
  Proceeded: ["has failed, and onFailure is Proceed", "yellow"],
  Altered: ["cannot be trusted", "red"],
  NotEvaluable: ["cannot be evaluated", "red"],
};

/** Shows its HookTask; then, for one that has failed, tries it again. */
export function commandsOf({ hookTask, state }: TaskTrace): readonly string[] {
  if (hookTask === undefined) return [];
  const show = taskCommand("show", hookTask);
  return state === "Failed" ? [show, taskCommand("retry", hookTask)] : [show];
}

const DONE: ReadonlySet<TaskState> = new Set(["NotNeeded", "Succeeded", "Proceeded"]);

/** The task that the rule waits for; those after it wait for it. */
export function openTask({ tasks = [] }: Pick<RuleTrace, "tasks">): TaskTrace | undefined {
  return tasks.find(({ state }) => !DONE.has(state));
}
