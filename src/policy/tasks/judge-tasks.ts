/** What the tasks of one rule wait for: a pure function of HookTasks, Cluster and time. */

import { STEP_HOOKS } from "../../api/hook-catalog.ts";
import { affordTasks } from "../budget.ts";
import { BUDGET_EXHAUSTED, TASKS_UNKNOWN } from "../strict-reasons.ts";
import { STEPS_EXCEEDED } from "../cel/meter.ts";
import { after } from "../../lib/instant.ts";
import type { CompiledPolicy, CompiledRule } from "../policy.ts";
import { targetVersion } from "../../api/target-version.ts";
import type { Situation } from "../world.ts";
import type { CompiledTask } from "./compile-task.ts";
import { renderIntent } from "./render-action.ts";
import { isSameButRun, type TaskIdentity, taskName } from "./task-identity.ts";
import type { TaskRecord } from "./task-record.ts";
import type { TaskState, TaskTrace } from "./task-trace.ts";

/** Whether a task of a rule has succeeded or is not needed, so that the next one may begin. */
const DONE: ReadonlySet<TaskState> = new Set(["NotNeeded", "Succeeded", "Proceeded"]);

export function isDone({ state }: Pick<TaskTrace, "state">): boolean {
  return DONE.has(state);
}

/** `gatesMet`: whether the rule waits for nothing but its tasks. */
export function judgeTasks(
  policy: CompiledPolicy,
  rule: CompiledRule,
  situation: Situation,
  gatesMet: boolean,
): readonly TaskTrace[] {
  const { cluster, tasks, rendersTasks } = situation.world;
  const unjudged = (reason: string, why: string): readonly TaskTrace[] =>
    rule.tasks.map((task) => {
      return { task: task.name, begins: task.begins, ...cannotBeJudged(task, reason, why), run: 0 };
    });
  const unknown = (): readonly TaskTrace[] => unjudged(TASKS_UNKNOWN, "its HookTasks are not known");
  if (tasks === undefined || policy.account === undefined) return unknown();
  const { hook } = situation.call;
  const scope = { clusterUID: cluster.metadata.uid, hook, policyUID: policy.uid, rule: rule.name };
  if (!affordTasks(rule.tasks.length, tasks.count(scope))) return unjudged(BUDGET_EXHAUSTED, STEPS_EXCEEDED);
  const records = tasks.find(scope);
  if (records === undefined) return unknown();
  const runs = rule.tasks.reduceRight<readonly Run[]>((later, task) => {
    const identity = firstRun(policy, rule, task, situation);
    const mine = records.filter((record) => isOf(record, identity, policy));
    const [latest] = mine.toSorted((a, b) => b.identity.run - a.identity.run);
    const end = latest && endOf(task, latest, later);
    const isCounted = latest !== undefined && counts(latest, end, situation.now);
    return [{ task, identity, latest, end, counts: isCounted }, ...later];
  }, []);
  const traces: TaskTrace[] = [];
  for (const [index, run] of runs.entries()) {
    const later = runs.slice(index + 1).flatMap((each) => (each.counts && each.latest) || []);
    const trace = judgeTask(run, situation, { isNext: traces.every(isDone), later, gatesMet });
    if (trace.state !== "Due") traces.push(trace);
    else {
      const identity = { ...run.identity, run: trace.run };
      const { intent, ...failure } = intentOf(run.task, policy, identity, situation);
      // That it cannot begin is known wherever it is judged; what would be stored is kept only for who stores it.
      traces.push({ ...trace, ...failure, ...(rendersTasks === true && intent !== undefined && { intent }) });
    }
  }
  return traces;
}

/** What would be stored, or why nothing can be. */
export function intentOf(
  task: CompiledTask,
  policy: CompiledPolicy,
  identity: TaskIdentity,
  situation: Situation,
): Partial<TaskTrace> {
  const rendered = renderIntent(task, policy, identity, situation);
  if (rendered.ok) return { intent: rendered.intent };
  const reason = rendered.exhausted === true ? BUDGET_EXHAUSTED : "TemplateError";
  const message = `task ${task.name} cannot begin (${rendered.problem})`;
  return { state: "NotEvaluable", reason, message };
}

function cannotBeJudged({ name }: CompiledTask, reason: string, why: string): Words {
  return { state: "NotEvaluable", reason, message: `task ${name} cannot be judged (${why})` };
}

export function firstRun(
  { uid, ref }: Pick<CompiledPolicy, "uid" | "ref">,
  { name: rule }: Pick<CompiledRule, "name">,
  { name: task, actionHash }: Pick<CompiledTask, "name" | "actionHash">,
  { world: { cluster }, call }: Situation,
): TaskIdentity {
  const { uid: clusterUID, namespace = "", name } = cluster.metadata;
  const version = targetVersion(call);
  // Each step of an upgrade has a version of its own, and is one of the upgrade to this version.
  const step = STEP_HOOKS.has(call.hook) ? cluster.topology?.version : undefined;
  return {
    policyRef: { ...ref, uid },
    rule,
    task,
    clusterRef: { namespace, name, uid: clusterUID },
    hook: call.hook,
    ...(version !== undefined && { version }),
    ...(step !== undefined && { step }),
    run: 1,
    actionHash,
  };
}

/** A HookTask of another namespace, or whose name is not the one of its identity, does not count. */
function isOf(record: TaskRecord, identity: TaskIdentity, { account }: CompiledPolicy): boolean {
  return (
    record.namespace === account?.namespace &&
    isSameButRun(record.identity, identity) &&
    record.name === taskName(record.identity)
  );
}

/** A task, and the latest HookTask of it. */
interface Run {
  readonly task: CompiledTask;
  readonly identity: TaskIdentity;
  readonly latest: TaskRecord | undefined;
  /** When its success is too old. */
  readonly end: Date | undefined;
  readonly counts: boolean;
}

interface TaskTurn {
  /** All tasks before it are done. */
  readonly isNext: boolean;
  /** The HookTasks of tasks after it that count. */
  readonly later: readonly TaskRecord[];
  readonly gatesMet: boolean;
}

function judgeTask({ task, latest, ...run }: Run, situation: Situation, turn: TaskTurn): TaskTrace {
  if (latest !== undefined && run.counts) return ofRecord(task, latest, situation.now, run.end);
  return { ...ofNone(task, situation, turn), run: (latest?.identity.run ?? 0) + 1 };
}

/** Not one whose operation is over, that was cancelled, or whose success is too old. */
function counts(record: TaskRecord, end: Date | undefined, now: Date): boolean {
  if (record.over || record.phase === "Cancelled") return false;
  return record.altered || record.phase !== "Succeeded" || end === undefined || now < end;
}

/**
 * `undefined`: not known before a later task has ended, or for the whole operation. A later task that begins last shows that
 * the release was near while the success counted: another run would see only what that task has left. One that begins first
 * shows nothing.
 */
function endOf(
  { validForMs }: CompiledTask,
  { succeededAt }: TaskRecord,
  later: readonly Run[],
): Date | undefined {
  if (validForMs === undefined) return undefined;
  const last = later.flatMap(({ task, latest, counts: isCounted }) =>
    task.begins === "Last" && isCounted && latest !== undefined ? [{ task, latest }] : [],
  );
  if (!last.every(({ task, latest }) => isDone(wordsOf(task, latest)))) return undefined;
  const ends = [succeededAt, ...last.map(({ latest }) => latest.succeededAt)];
  return after(new Date(Math.max(...ends.map((each) => each?.getTime() ?? 0))), validForMs);
}

/** `end`: of a success. */
function ofRecord(task: CompiledTask, record: TaskRecord, now: Date, end: Date | undefined): TaskTrace {
  const { namespace, name, attempts, message: observed, identity } = record;
  const words = wordsOf(task, record);
  const nextAttempt = words.state === "Retrying" ? record.nextAttempt : undefined;
  const edge = words.state === "Succeeded" ? end : nextAttempt?.at;
  return {
    task: task.name,
    begins: task.begins,
    ...(record.unstored === true ? ofUnstored(words, record) : { ...words, hookTask: { namespace, name } }),
    attempts,
    ...(words.reason !== "TaskAltered" && record.hindered === true && { hindered: true }),
    ...(nextAttempt !== undefined && { nextAttempt }),
    ...(observed !== "" && { observed }),
    run: identity.run,
    ...(edge !== undefined && edge > now && { changesAt: edge }),
  };
}

/** Without a HookTask to look at, or to retry. */
function ofUnstored(words: Words, { namespace, phase, identity: { task } }: TaskRecord): Words {
  const why = "its HookTask cannot be stored";
  const text =
    phase === "Pending"
      ? `cannot begin: ${why} (the Event TaskNotBegun says why)`
      : `has failed (${why}, because namespace ${namespace} is being deleted)`;
  return { ...words, message: words.message === "" ? "" : `task ${task} ${text}` };
}

/** The message is empty where the task holds nothing. */
function wordsOf({ name: task, onFailure }: CompiledTask, record: TaskRecord): Words {
  if (record.altered) return ofAltered(record);
  const { namespace, name, phase, nextAttempt, message } = record;
  const hookTask = `HookTask ${namespace}/${name}`;
  const say = (state: TaskState, reason: string, text: string): Words => {
    return { state, reason, message: `task ${task} ${text}` };
  };
  switch (phase) {
    case "Succeeded":
      return { state: "Succeeded", reason: "TaskSucceeded", message: "" };
    case "Failed":
      return onFailure === "Proceed"
        ? { state: "Proceeded", reason: "TaskFailed", message: "" }
        : say("Failed", "TaskFailed", `has failed (hookpolicy task retry ${namespace}/${name})`);
    case "Pending":
    case "Running":
    case "Cancelled":
      // Of the operator's own words, without those of the API server or a webhook, which come after a colon.
      if (record.hindered === true) {
        const why = `${message.split(": ", 1)[0]} (${hookTask})`;
        return phase === "Running"
          ? say("Running", "TaskRunning", `cannot be observed: ${why}`)
          : say("Pending", "TaskPending", `cannot begin: ${why}`);
      }
      if (nextAttempt !== undefined) {
        const { number, of } = nextAttempt;
        return say("Retrying", "TaskRunning", `waits for attempt ${number} of ${of} (${hookTask})`);
      }
      return phase === "Running"
        ? say("Running", "TaskRunning", `runs (${hookTask})`)
        : say("Pending", "TaskPending", `is about to begin (${hookTask})`);
  }
}

function ofAltered({ namespace, name, attempts, identity: { task } }: TaskRecord): Words {
  // Another attempt would begin beside it.
  const first = attempts > 0 ? "see that what it created is gone, then " : "";
  const remedy = `${first}kubectl delete hooktask -n ${namespace} ${name}`;
  return {
    state: "Altered",
    reason: "TaskAltered",
    message: `task ${task} cannot be trusted: its HookTask was changed (${remedy}, and it begins again)`,
  };
}

type Words = Pick<TaskTrace, "state" | "reason" | "message">;

function ofNone(
  task: CompiledTask,
  situation: Situation,
  { isNext, later, gatesMet }: TaskTurn,
): Omit<TaskTrace, "run"> {
  const own = { task: task.name, begins: task.begins };
  const needed = isNeeded(task, situation);
  if (needed === false) return { ...own, state: "NotNeeded", reason: "WhenFalse", message: "" };
  if (needed !== true) return { ...own, ...needed };
  const waiting = { ...own, state: "Waiting", reason: "TaskPending" } as const;
  if (!isNext) return { ...waiting, message: `task ${task.name} waits for the tasks before it` };
  const beside = later.find(({ phase }) => phase === "Pending" || phase === "Running");
  if (beside !== undefined)
    return {
      ...waiting,
      message: `task ${task.name} waits for task ${beside.identity.task}, which has begun`,
    };
  if (task.begins === "Last" && !gatesMet)
    return { ...waiting, message: `task ${task.name} waits for the gates` };
  return { ...own, state: "Due", reason: "TaskPending", message: `task ${task.name} has not begun` };
}

function isNeeded(task: CompiledTask, { world, call, now }: Situation): boolean | Words {
  if (task.when === undefined) return true;
  const { cluster, namespace } = world;
  const result = task.when.evaluate({ cluster, namespace, call, now });
  if (result.ok) return result.value === true;
  const reason = result.exhausted === true ? BUDGET_EXHAUSTED : "WhenError";
  return cannotBeJudged(task, reason, `when: ${result.problem}`);
}
