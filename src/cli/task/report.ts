/** Prints HookTasks as tables, in detail, and as JSON. */

import type { HookTask, TaskAttempt } from "../../api/hook-policy.ts";
import { withArticle } from "../../lib/counted.ts";
import { namespacedName } from "../../lib/keys.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { NextAttempt } from "../../policy/tasks/task-record.ts";
import { mayBeAtWork, nextAttemptOf, timesOutAt } from "../../tasks/next-step.ts";
import {
  allowedAttempts,
  isCarriedOut,
  isHindered,
  lastAttempt,
  objectName,
  openAttempt,
} from "../../tasks/task-progress.ts";
import { ageText, since, until } from "../../lib/age.ts";
import type { Colour } from "../terminal/colour.ts";
import { commandDetail, type CommandWords, taskCommand } from "../terminal/printed-command.ts";
import { fittingLines, tableLines } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Detail } from "../../page/branch.ts";
import { indented, paragraphs } from "../terminal/tree.ts";
import { noRetry, type Phase, type ReadTask } from "./tasks.ts";

export interface TaskView extends Terminal, CommandWords {
  readonly now: Date;
}

/** A line for each; blocks where the terminal is too narrow. */
export function taskRows(tasks: readonly ReadTask[], view: TaskView): string[] {
  const rows = tasks.map((task) => cellsOf(task, view));
  return fittingLines(["NAME", "CLUSTER", "HOOK", "VERSION", "TASK", "PHASE", "OBJECT", "AGE"], rows, view);
}

function cellsOf(task: ReadTask, { now, colour }: TaskView): string[] {
  const { key, cluster, object } = task;
  const { metadata, spec, status } = object;
  return [
    namespacedName(key),
    cluster,
    spec.hook,
    spec.version ?? "",
    spec.task,
    phaseText(task, colour),
    status?.object ?? "",
    metadata.creationTimestamp === undefined ? "" : since(metadata.creationTimestamp, now),
  ];
}

function phaseText(task: ReadTask, colour: Colour): string {
  const { phase, isOver, isAltered } = task;
  const next = nextOf(task);
  if (next !== undefined) return colour.yellow(`Waiting (attempt ${next.number} of ${next.of})`);
  if (!isOver && !isAltered && isHindered(task.object.status))
    return `${colour[COLOURS[phase]](phase)} (${colour.red(phase === "Running" ? "cannot be observed" : "cannot begin")})`;
  const altered = isAltered ? ` (${colour.red("altered")})` : "";
  return `${colour[COLOURS[phase]](phase)}${altered}${isOver ? " (over)" : ""}`;
}

const COLOURS = {
  Pending: "yellow",
  Running: "cyan",
  Succeeded: "green",
  Failed: "red",
  Cancelled: "dim",
} as const satisfies Readonly<Record<Phase, keyof Colour>>;

export function taskLines(task: ReadTask, view: TaskView): string[] {
  const { colour, columns } = view;
  const head = `${colour.bold(`HookTask ${namespacedName(task.key)}`)}: ${phaseText(task, colour)}`;
  return paragraphs([
    [head, ...indented([...aboutDetails(task), ...stateDetails(task, view)], columns)],
    indented(commandDetails(task, view), columns),
    attemptLines(task, view),
  ]);
}

function aboutDetails({ object: { spec }, cluster, policy, key }: ReadTask): Detail[] {
  const version = spec.version === undefined ? "" : ` (${spec.version})`;
  return [
    { label: "task", text: `${spec.task} of rule ${spec.rule}, ${policyName(policy)}` },
    { label: "for", text: `${spec.hook}${version} of Cluster ${cluster}` },
    { label: "does", text: deedOf(spec.action) },
    { label: "acts as", text: `ServiceAccount ${key.namespace}/${spec.serviceAccountName}` },
  ];
}

function deedOf({ create, apply, delete: removed }: HookTask["spec"]["action"]): string {
  if (create !== undefined) return `creates ${withArticle(create.kind)}`;
  if (apply !== undefined) return `applies ${withArticle(apply.kind)}`;
  if (removed === undefined) return "nothing";
  const { kind, name, namespace, selector } = removed;
  if (name !== undefined) return `deletes ${kind} ${namespacedName({ namespace, name })}`;
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([label, value]) => `${label}=${value}`);
  return `deletes every ${kind} with ${labels.join(",")}${namespace === undefined ? "" : ` in ${namespace}`}`;
}

const ALTERED =
  "its action is not known to be what the operator stored, so nothing more is done, and no result counts";

function stateDetails(task: ReadTask, { now }: TaskView): (Detail | false)[] {
  const { object, isOver, isAltered } = task;
  const { spec, status } = object;
  const attempts = `${status?.begun ?? 0} of ${allowedAttempts(object)}`;
  const open = openAttempt(status);
  const end = open?.askedAt === undefined ? undefined : timesOutAt(object, open).toISOString();
  return [
    { label: "attempts", text: `${attempts}, each for at most ${spec.timeout} once it has begun` },
    end !== undefined && { label: "times out", text: until(end, now) },
    ...waitDetails(task, now),
    isAltered && { label: "altered", text: ALTERED },
    isOver && { label: "over", text: "its operation has ended or is no longer wanted" },
  ];
}

/** What it waits for, or why it ended as it did. */
function waitDetails(task: ReadTask, now: Date): (Detail | false)[] {
  const { object, phase } = task;
  const message = object.status?.message ?? "";
  const next = nextOf(task);
  const isWhy =
    next !== undefined || phase === "Failed" || phase === "Cancelled" || isHindered(object.status);
  return [
    next !== undefined && { label: "waits for", text: attemptText(next, now) },
    phase !== "Succeeded" && message !== "" && { label: isWhy ? "because" : "waits for", text: message },
  ];
}

function nextOf({ object, isOver, isAltered }: ReadTask): NextAttempt | undefined {
  return isAltered || isOver ? undefined : nextAttemptOf(object);
}

function attemptText({ at, number, of }: NextAttempt, now: Date): string {
  const when = at > now ? `, ${until(at.toISOString(), now)}` : "";
  return `attempt ${number} of ${of}${when}`;
}

function commandDetails(task: ReadTask, view: TaskView): (Detail | false)[] {
  const { key, phase, isOver, object } = task;
  const remove = `kubectl delete hooktask -n ${key.namespace} ${shellQuote(key.name)}`;
  const isOpen = !isOver && phase !== "Succeeded" && phase !== "Cancelled";
  const isAgain = task.isAltered && !isOver;
  const left = leftBy(object);
  return [
    ...lookCommands(object).map(([label, command]) => commandDetail(label, command, view)),
    isAgain &&
      left !== undefined && { label: "first", text: `see that ${left} is gone, which may still run` },
    isAgain && commandDetail("begin again", remove, view),
    noRetry(task) === undefined && commandDetail("try again", taskCommand("retry", key), view),
    isOpen && goOnDetail(task, view),
  ];
}

/** At AfterControlPlaneInitialized an override releases nothing, and makes tasks wait. */
function goOnDetail(task: ReadTask, view: TaskView): Detail | false {
  const label = "go on without it";
  const { phase, object, policy } = task;
  if (object.spec.hook !== "AfterControlPlaneInitialized")
    return commandDetail(label, overrideOf(task), view);
  const text = `set \`onFailure: Proceed\` for the task in ${policyName(policy)}`;
  return phase === "Failed" && { label, text };
}

/** What another attempt would begin beside. */
function leftBy(task: HookTask): string | undefined {
  const last = task.spec.action.create && lastAttempt(task.status);
  if (last === undefined || (last.endedAt !== undefined && !mayBeAtWork(task, last))) return undefined;
  return objectName(task.spec, last);
}

function overrideOf({ cluster, policy, object }: ReadTask): string {
  return `hookpolicy override ${shellQuote(cluster)} --hook ${object.spec.hook} --policy ${policy.kind}/${policy.name} --for 1h --reason 'why'`;
}

/** The last, unless its object was deleted at its time-out. */
function attemptToSee({ action }: HookTask["spec"], status: HookTask["status"]): TaskAttempt | undefined {
  const last = lastAttempt(status);
  return action.create !== undefined && last?.outcome === "TimedOut" ? undefined : last;
}

/** At the last attempt; only a Job and a Pod have logs. A Pod that does not run has none, but Events. */
function lookCommands({ spec, status }: HookTask): readonly (readonly [label: string, command: string])[] {
  const { create, apply } = spec.action;
  const template = create ?? apply;
  const last = attemptToSee(spec, status);
  const type = template && LOGGED[`${template.apiVersion} ${template.kind}`];
  if (type === undefined || last?.uid === undefined) return [];
  const [place, name] = [`-n ${last.namespace ?? ""}`, shellQuote(`${type}/${last.name}`)];
  const pods = `-l ${shellQuote(`batch.kubernetes.io/job-name=${last.name}`)}`;
  const isJob = type === "job";
  return [
    ["logs", `kubectl logs ${place} ${isJob ? `${pods} --tail=-1` : name} --all-containers --prefix`],
    ["events", `kubectl describe ${place} ${name}`],
    ...(isJob ? [["pods", `kubectl describe pods ${place} ${pods}`] as const] : []),
  ];
}

const LOGGED: Readonly<Record<string, string>> = { "batch/v1 Job": "job", "v1 Pod": "pod" };

function attemptLines({ object: { status } }: ReadTask, { now, colour }: TaskView): string[] {
  const rows = (status?.attempts ?? []).map((attempt) => {
    const { namespace, name, startedAt, endedAt, message = "" } = attempt;
    return [
      namespacedName({ namespace, name }),
      startedAt,
      ageText(Date.parse(endedAt ?? now.toISOString()) - Date.parse(startedAt)),
      outcomeText(attempt, colour),
      message,
    ];
  });
  return tableLines(["ATTEMPT", "BEGAN", "TOOK", "OUTCOME", "MESSAGE"], rows);
}

function outcomeText(attempt: TaskAttempt, colour: Colour): string {
  const { outcome } = attempt;
  if (outcome !== undefined) return (outcome === "Succeeded" ? colour.green : colour.red)(outcome);
  return isCarriedOut(attempt) ? "runs" : "has not begun";
}

/** Schema: schemas/output/task.json. */
export function tasksJson(tasks: readonly ReadTask[]): object {
  return { tasks: tasks.map(taskJson) };
}

function taskJson({ key, object, cluster, policy, phase, isOver, isAltered }: ReadTask): object {
  const { spec, status, metadata } = object;
  const { message, endedAt, attempts = [], begun = 0 } = status ?? {};
  return {
    ...key,
    cluster,
    clusterUID: spec.clusterRef.uid,
    hook: spec.hook,
    version: spec.version,
    policy,
    rule: spec.rule,
    task: spec.task,
    serviceAccount: spec.serviceAccountName,
    action: spec.action,
    phase,
    over: isOver,
    altered: isAltered || undefined,
    object: status?.object,
    message,
    created: metadata.creationTimestamp,
    endedAt,
    begun,
    allowed: allowedAttempts(object),
    attempts,
  };
}
