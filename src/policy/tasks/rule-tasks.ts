/** Combines the results of a rule's tasks with the result of its gates. */

import {
  type Decision,
  heldRules,
  type PolicyTrace,
  type RuleFinding,
  changesAtEarliest,
} from "../decision.ts";
import { type CompiledPolicy, type CompiledRule, RETRY_SECONDS } from "../policy.ts";
import { holdsAnyway, strictestOf } from "../strict-reasons.ts";
import type { Situation } from "../world.ts";
import { isDone, judgeTasks } from "./judge-tasks.ts";
import type { TaskState, TaskTrace } from "./task-trace.ts";

const UNFINISHED: ReadonlySet<TaskState> = new Set(["Due", "Pending", "Running", "Retrying"]);
const HOLDING: ReadonlySet<TaskState> = new Set([...UNFINISHED, "Failed", "Altered"]);

function isUnfinished({ state }: Pick<TaskTrace, "state">): boolean {
  return UNFINISHED.has(state);
}

/** `finding`: what the rule says without its tasks. Only what it allows waits for them. */
export function withTasks(
  policy: CompiledPolicy,
  rule: CompiledRule,
  situation: Situation,
  finding: RuleFinding,
): RuleFinding {
  if (rule.tasks.length === 0) return finding;
  const gatesMet = finding.verdict === "Allowed";
  const tasks = judgeTasks(policy, rule, situation, gatesMet);
  const judged = asked(finding, tasks);
  const left = tasks.filter((task) => !isDone(task));
  return gatesMet && left.length > 0 ? { ...judged, ...describeLeft(rule, left) } : judged;
}

/** `finding`: not evaluable, which its policy ignores. No failurePolicy releases it past what has begun, or may have. */
export function heldByBegun(
  policy: CompiledPolicy,
  rule: CompiledRule,
  situation: Situation,
  finding: RuleFinding,
): RuleFinding {
  const { tasks = judgeTasks(policy, rule, situation, false) } = finding;
  const begun = tasks.filter(mayHaveBegun);
  if (begun.length === 0) return finding;
  const shown = tasks.filter(({ state }) => state !== "Due");
  return { ...asked(finding, shown), ...describeLeft(rule, begun) };
}

function mayHaveBegun({ state, reason }: TaskTrace): boolean {
  return state === "NotEvaluable" ? holdsAnyway(reason) : state !== "Due" && HOLDING.has(state);
}

/** Nothing tells Cluster API that a task has ended. */
function asked(finding: RuleFinding, tasks: readonly TaskTrace[]): RuleFinding {
  const retryAfterSeconds = tasks.some(isUnfinished)
    ? Math.min(finding.retryAfterSeconds, RETRY_SECONDS)
    : finding.retryAfterSeconds;
  const changes = changesAtEarliest([finding.changesAt, ...tasks.map(({ changesAt }) => changesAt)]);
  return { ...finding, tasks, retryAfterSeconds, ...changes };
}

function describeLeft(
  { message }: CompiledRule,
  left: readonly TaskTrace[],
): Pick<RuleFinding, "verdict" | "reason" | "said" | "message"> {
  const holding = left.filter(({ state }) => HOLDING.has(state));
  const failed = left.filter(({ state }) => state === "NotEvaluable");
  const [first = strictestOf(failed)] = holding.toSorted(byReason);
  return {
    // What has begun decides, whatever the failurePolicy says about the rest.
    verdict: holding.length > 0 ? "Blocked" : "NotEvaluable",
    reason: first?.reason ?? "",
    ...(message !== undefined && { said: message }),
    message: left
      .filter(({ state }) => state !== "Waiting")
      .map((task) => task.message)
      .join(", "),
  };
}

const REASONS: readonly string[] = ["TaskAltered", "TaskFailed", "TaskRunning", "TaskPending"];

function byReason(a: TaskTrace, b: TaskTrace): number {
  return REASONS.indexOf(a.reason) - REASONS.indexOf(b.reason);
}

/** The rule is met but for its tasks, and none of these has failed. */
export function waitsForTasks({ verdict, reason }: RuleFinding): boolean {
  return verdict === "Blocked" && (reason === "TaskPending" || reason === "TaskRunning");
}

type TaskFields = Pick<Decision, "waitsForTasks" | "tasksDue" | "begins">;

/**
 * A task that begins last may begin when nothing but tasks holds the operation and none of them has failed; any other one
 * at once. Policies that hold nothing (Audit, overridden) begin nothing.
 */
export function taskFields(trace: readonly PolicyTrace[], renders: boolean): TaskFields {
  const rules = heldRules(trace).map(({ rule }) => rule);
  const tasks = rules.flatMap(({ tasks: all = [] }) => all.filter(isUnfinished));
  if (tasks.length === 0) return {};
  const waits = rules.every(waitsForTasks) && tasks.some(({ begins }) => begins === "Last");
  const due = tasks.filter(({ state, begins }) => state === "Due" && (begins === "First" || waits));
  return {
    ...(waits && { waitsForTasks: true }),
    ...(due.length > 0 && { tasksDue: true }),
    ...(renders && due.length > 0 && { begins: due.flatMap(({ intent }) => intent ?? []) }),
  };
}
