/** What the leader does next for a HookTask. Pure. */

import type { HookTask, HookTaskStatus, TaskAttempt } from "../api/hook-policy.ts";
import { DAY_MS, durationOrNever } from "../lib/duration.ts";
import { after, readTimestamp } from "../lib/instant.ts";
import { RETRY_DELAYS_MS } from "../policy/tasks/compile-task.ts";
import type { NextAttempt } from "../policy/tasks/task-record.ts";
import type { Permit } from "./permit.ts";
import {
  allowedAttempts,
  attemptHindered,
  cancelled,
  hasFinished,
  isCarriedOut,
  lastAttempt,
  markedAltered,
  openAttempt,
  retried,
} from "./task-progress.ts";

export interface TaskSituation {
  readonly task: HookTask;
  readonly permit: Permit;
  /** Whether each request of the open attempt was refused, so that none of them can still create anything. */
  readonly isUnmade: boolean;
  /** Whether the Cluster shows that the operation has ended, or is no longer wanted. */
  readonly isOver: boolean;
  /** Whether its action must not be carried out, and its results do not count. */
  readonly altered: boolean;
  /** How long the policy keeps what a success has created; Infinity: not known now; `undefined`: it is removed. */
  readonly keepMs: number | undefined;
  /** The name of the attempt whose object was removed last. */
  readonly removed: string | undefined;
  /** There are too many HookTasks like this one. */
  readonly isSurplus: boolean;
  /** Another one may still begin after it. */
  readonly hasSuccessor: boolean;
  readonly now: Date;
}

export type NextStep =
  /** Absent: nothing to do until something changes. Infinity: something that no event tells. */
  | { readonly do: "Rest"; readonly forMs?: number }
  | { readonly do: "MarkOver" }
  /** What the HookTask itself says is enough for it. */
  | { readonly do: "Write"; readonly status: HookTaskStatus }
  /** Memory shows that it is no longer wanted, but may be behind, so only a read of the API server cancels it. */
  | { readonly do: "Reconsider"; readonly why: string }
  /** `after`: the attempt whose object must be gone first. */
  | { readonly do: "Begin"; readonly after?: TaskAttempt }
  | { readonly do: "CarryOut"; readonly attempt: TaskAttempt }
  | { readonly do: "Observe"; readonly attempt: TaskAttempt }
  /** Removes what the attempt has created. */
  | { readonly do: "Remove"; readonly attempt: TaskAttempt }
  /** Removes what the attempts have created; `deleteHookTask`: and then the HookTask. */
  | { readonly do: "CleanUp"; readonly deleteHookTask: boolean };

/** On the HookTask: a person wants one more attempt. */
export const RETRY_ANNOTATION = "hookpolicy.dev/retry";

/** How long a HookTask stays that no longer counts, from the later of its own end and the operation's. */
const [FAILED_STAYS_MS, STAYS_MS] = [7 * DAY_MS, DAY_MS];
/** When to look again at what an event would tell, which may be missed. */
export const RECHECK_MS = 10_000;

export function nextStep(situation: TaskSituation): NextStep {
  const { task, isOver, altered, now } = situation;
  const { status = {} } = task;
  if (isOver && status.over === undefined) return { do: "MarkOver" };
  if (altered && status.altered === undefined) return { do: "Write", status: markedAltered(status, now) };
  const attempt = openAttempt(status);
  if (attempt !== undefined) return duringAttempt(situation, attempt);
  return hasFinished(task) ? afterEnd(situation) : beforeAttempt(situation);
}

function duringAttempt(situation: TaskSituation, attempt: TaskAttempt): NextStep {
  if (isCarriedOut(attempt)) return { do: "Observe", attempt };
  if (situation.altered) return { do: "Rest" };
  // What a deletion is about was not found yet, so nothing of it was deleted.
  const isUnmade = situation.isUnmade || situation.task.spec.action.delete !== undefined;
  return (isUnmade ? unwanted(situation) : undefined) ?? { do: "CarryOut", attempt };
}

export function timesOutAt({ spec }: Pick<HookTask, "spec">, { askedAt, startedAt }: TaskAttempt): Date {
  return new Date(Date.parse(askedAt ?? startedAt) + durationOrNever(spec.timeout));
}

function beforeAttempt(situation: TaskSituation): NextStep {
  const { task, permit, altered, now } = situation;
  const { status = {} } = task;
  const end = unwanted(situation);
  if (end !== undefined) return end;
  if ((status.begun ?? 0) >= allowedAttempts(task))
    return { do: "Write", status: cancelled(status, "no further attempt is allowed", now) };
  if (altered) return { do: "Rest" };
  const waitMs = delayMs(task) - sinceMs(lastAttempt(status)?.endedAt, now);
  if (waitMs > 0) return removal(situation) ?? { do: "Rest", forMs: waitMs };
  if (permit.may !== "Begin") return withoutPermit(situation, permit.why);
  const last = lastAttempt(status);
  return { do: "Begin", ...(last !== undefined && mayBeAtWork(task, last) && { after: last }) };
}

/** Once nothing is in the way, the message says how the last attempt ended. */
function withoutPermit(situation: TaskSituation, why: string | undefined): NextStep {
  const left = removal(situation);
  if (left !== undefined) return left;
  const { status = {} } = situation.task;
  const { message, ...rest } = status;
  if (why !== undefined && why !== message) return { do: "Write", status: attemptHindered(status, why) };
  const said = lastAttempt(status)?.message;
  const hasPassed = why === undefined && message !== undefined && message !== said;
  if (!hasPassed) return { do: "Rest", forMs: RECHECK_MS };
  return { do: "Write", status: said === undefined ? rest : { ...rest, message: said } };
}

/** Whether what an attempt has created may still do something after it has ended. */
export function mayBeAtWork({ spec }: Pick<HookTask, "spec">, attempt: TaskAttempt): boolean {
  if (spec.action.create === undefined) return false;
  // A Job that has failed by itself is at rest; one that an expression calls failed need not be.
  if (attempt.outcome === "Failed") return spec.failed !== undefined;
  return attempt.outcome === "TimedOut" || !isCarriedOut(attempt);
}

/** How a task ends of which nothing is under way; `undefined`: it may still be wanted. */
function unwanted({ task, permit, altered, now }: TaskSituation): NextStep | undefined {
  const { status = {} } = task;
  if (status.over !== undefined)
    return { do: "Write", status: cancelled(status, "the operation has ended, or is no longer wanted", now) };
  const isNoMore = permit.may === "Never" && !altered;
  return isNoMore ? { do: "Reconsider", why: permit.why } : undefined;
}

/** An attempt that a person asked for begins at once. */
function delayMs({ status, spec }: Pick<HookTask, "spec" | "status">): number {
  const { begun = 0 } = status ?? {};
  return begun === 0 || begun > spec.retries ? 0 : (RETRY_DELAYS_MS[begun - 1] ?? 0);
}

/** `undefined`: an attempt is under way, or none follows. */
export function nextAttemptOf(task: Pick<HookTask, "spec" | "status">): NextAttempt | undefined {
  const last = lastAttempt(task.status);
  const endedAt = readTimestamp(last?.endedAt);
  if (endedAt === undefined || hasFinished(task)) return undefined;
  const begun = task.status?.begun ?? 1;
  return { at: after(endedAt, delayMs(task)), number: begun + 1, of: allowedAttempts(task) };
}

/** What has not ended in time could act later, when nothing waits for it. */
function removal({ task: { spec, status }, removed }: TaskSituation): NextStep | undefined {
  const last = lastAttempt(status);
  if (spec.action.create === undefined || last?.outcome !== "TimedOut") return undefined;
  return last.name === removed ? undefined : { do: "Remove", attempt: last };
}

function afterEnd(situation: TaskSituation): NextStep {
  const retry = retryOf(situation);
  if (retry !== undefined) return { do: "Write", status: retried(situation.task, retry) };
  const left = removal(situation);
  if (left !== undefined) return left;
  const cleanUpInMs = untilCleanUpMs(situation);
  const deleteInMs = untilHookTaskDeletedMs(situation, cleanUpInMs ?? 0);
  if (deleteInMs <= 0) return { do: "CleanUp", deleteHookTask: true };
  if (cleanUpInMs !== undefined && cleanUpInMs <= 0) return { do: "CleanUp", deleteHookTask: false };
  const forMs = Math.min(cleanUpInMs ?? Infinity, deleteInMs, untilPolicyAskedMs(situation));
  const isOver = situation.task.status?.over !== undefined;
  return { do: "Rest", ...((isOver || forMs !== Infinity) && { forMs }) };
}

/** No event tells that the policy does not hold any more for a failure that the Cluster does not wait for. */
function untilPolicyAskedMs({ task: { status = {}, spec } }: TaskSituation): number {
  const isHeld = status.phase === "Failed" && status.over === undefined;
  return isHeld && spec.hook === "AfterControlPlaneInitialized" ? RECHECK_MS : Infinity;
}

/** What a person has asked for, and is not done. */
function retryOf({ task: { status = {}, metadata }, altered }: TaskSituation): string | undefined {
  const retry = metadata.annotations?.[RETRY_ANNOTATION];
  const mayRetry = status.phase === "Failed" && status.over === undefined && !altered;
  return mayRetry && retry !== status.retriedFor ? retry : undefined;
}

/** `undefined`: there is nothing to remove. */
function untilCleanUpMs({ task: { status = {}, spec }, keepMs, now }: TaskSituation): number | undefined {
  const isKept = status.phase === "Succeeded" && spec.action.create !== undefined;
  return isKept && keepMs !== undefined ? keepMs - sinceMs(status.endedAt, now) : undefined;
}

function untilHookTaskDeletedMs(
  { task: { status = {} }, isSurplus, hasSuccessor, now }: TaskSituation,
  cleanUpInMs: number,
): number {
  const { phase, over, endedAt } = status;
  if (over === undefined || hasSuccessor) return Infinity;
  if (isSurplus) return 0;
  const staysMs = phase === "Failed" ? FAILED_STAYS_MS : STAYS_MS;
  const sinceEndMs = Math.min(sinceMs(endedAt, now), sinceMs(over, now));
  return Math.max(staysMs - sinceEndMs, cleanUpInMs);
}

function sinceMs(at: string | undefined, now: Date): number {
  const since = readTimestamp(at);
  return since === undefined ? 0 : now.getTime() - since.getTime();
}
