/**
 * Tasks at AfterControlPlaneInitialized, which Cluster API asks about once and waits for nothing: the call stores all
 * HookTasks of a rule, or none, and each begins when the one before it has ended well.
 */

import type { Decision, PolicyTrace, RuleFinding } from "../decision.ts";
import { CAUSE, type CompiledPolicy, type CompiledRule, NAMESPACE_UNKNOWN } from "../policy.ts";
import type { Situation } from "../world.ts";
import { firstRun, intentOf, judgeTasks } from "./judge-tasks.ts";
import { holdsAnyway, TASKS_UNKNOWN } from "../strict-reasons.ts";
import { taskName } from "./task-identity.ts";
import { NO_TASKS } from "./task-record.ts";
import type { TaskTrace } from "./task-trace.ts";

export function observeWithTasks(
  policy: CompiledPolicy,
  rule: CompiledRule,
  situation: Situation,
  observed: RuleFinding,
): RuleFinding {
  const { rendersTasks = false, ...known } = situation.world;
  // Cluster API may not ask again. Where HookTasks could not be read, each is stored again, which changes nothing.
  const world = rendersTasks ? { tasks: NO_TASKS, ...known } : known;
  const judged = judgeTasks(policy, rule, { ...situation, world }, true);
  const tasks = rendersTasks ? rendered(policy, rule, situation, judged) : judged;
  const failed = tasks.find(({ state, reason }) => state === "NotEvaluable" && reason !== TASKS_UNKNOWN);
  if (failed === undefined) return { ...observed, tasks };
  const { reason, message } = failed;
  return { ...observed, verdict: "NotEvaluable", reason, message, tasks };
}

/** Each with its HookTask, unless that is stored. */
function rendered(
  policy: CompiledPolicy,
  rule: CompiledRule,
  situation: Situation,
  judged: readonly TaskTrace[],
): readonly TaskTrace[] {
  let after: string | undefined;
  return judged.map((trace, index): TaskTrace => {
    const task = rule.tasks[index];
    if (task === undefined || trace.state === "NotNeeded" || trace.state === "NotEvaluable") return trace;
    const identity = firstRun(policy, rule, task, situation);
    const before = after;
    after = taskName(identity);
    if (trace.hookTask !== undefined) return trace;
    const { intent, ...failure } = intentOf(task, policy, identity, situation);
    if (intent === undefined) return { ...trace, ...failure };
    const spec = { ...intent.spec, ...(before !== undefined && { after: before }) };
    return { ...trace, intent: { ...intent, spec } };
  });
}

/** Whether `toStore` may lack tasks of a policy, for a reason that is not its author's to correct. */
export function mayLackTasks({ trace, basis }: Decision): boolean {
  return trace.some(({ mode, rules, unread }, index) => {
    const policy = basis?.policies[index];
    if (mode !== "Enforce" || policy === undefined) return false;
    const hidden = rules.filter(
      ({ verdict, reason }) => verdict === "NotEvaluable" && mayPass(policy, reason),
    );
    return hidden.some(({ rule }) =>
      policy.rules.some((each) => (unread === true || each.name === rule) && mayHaveTasks(each)),
    );
  });
}

function mayPass(policy: CompiledPolicy, reason: string): boolean {
  if (holdsAnyway(reason)) return true;
  const isOurs = reason === NAMESPACE_UNKNOWN || reason === "InternalError" || policy[CAUSE] !== undefined;
  return isOurs && policy.failurePolicy === "Fail";
}

function mayHaveTasks({ hooks, tasks, problem }: CompiledRule): boolean {
  return hooks.has("AfterControlPlaneInitialized") && (tasks.length > 0 || problem !== undefined);
}

/** Also past a HookOverride: none begins while it is active, and nothing would store them later. */
export function toStore(trace: readonly PolicyTrace[]): Pick<Decision, "toStore"> {
  const intents = trace
    .filter(({ mode, matched }) => mode === "Enforce" && matched)
    .flatMap(({ rules }) => rules.filter(({ verdict }) => verdict === "Observed"))
    .flatMap(({ tasks = [] }) => tasks.flatMap(({ intent }) => intent ?? []));
  return intents.length === 0 ? {} : { toStore: intents };
}
