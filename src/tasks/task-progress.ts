/** How the status of a HookTask changes. Pure: each function returns the status to store. */

import {
  type HookTask,
  type HookTaskSpec,
  type HookTaskStatus,
  MAX_ATTEMPTS,
  MAX_TASK_MESSAGE,
  MAX_TASK_OBJECT,
  type TaskAttempt,
  type TaskTarget,
} from "../api/hook-policy.ts";
import { timestamp } from "../lib/instant.ts";
import { truncateText } from "../lib/truncate.ts";
import type { TaskPhase } from "../policy/tasks/task-record.ts";

export type AttemptOutcome = NonNullable<TaskAttempt["outcome"]>;

type Status = HookTaskStatus;

export function lastAttempt({ attempts }: Status = {}): TaskAttempt | undefined {
  return attempts?.at(-1);
}

/** The attempt that has begun and not ended. */
export function openAttempt(status: Status = {}): TaskAttempt | undefined {
  const last = lastAttempt(status);
  return last?.endedAt === undefined ? last : undefined;
}

export function isCarriedOut({ uid, targets }: TaskAttempt): boolean {
  return uid !== undefined || targets !== undefined;
}

const FINISHED: ReadonlySet<TaskPhase> = new Set<TaskPhase>(["Succeeded", "Failed", "Cancelled"]);

/** Whether the task needs no further attempt. */
export function hasFinished({ status }: { readonly status?: Status | undefined }): boolean {
  return status?.phase !== undefined && FINISHED.has(status.phase);
}

/** The beginning of the message of what runs, or is deleted, while its requests are refused. */
export const UNSEEN = "it cannot be observed: ";

/** Whether something keeps the task from beginning, or from being observed: the message says what. */
export function isHindered(status: Status = {}): boolean {
  const { phase = "Pending", message = "" } = status;
  const hasEnded = lastAttempt(status)?.endedAt !== undefined;
  return (
    !hasEnded && (phase === "Pending" ? message !== "" : phase === "Running" && message.startsWith(UNSEEN))
  );
}

export function allowedAttempts({ spec, status }: Pick<HookTask, "spec" | "status">): number {
  return status?.allowed ?? 1 + spec.retries;
}

/** As kind/name. */
export function objectName(spec: Pick<HookTaskSpec, "action">, { name }: Pick<TaskAttempt, "name">): string {
  return `${kindOf(spec).kind}/${name}`.slice(0, MAX_TASK_OBJECT);
}

export function kindOf({ action: { create, apply, delete: deletion } }: Pick<HookTaskSpec, "action">): {
  readonly apiVersion: string;
  readonly kind: string;
} {
  const { apiVersion = "", kind = "" } = create ?? apply ?? deletion ?? {};
  return { apiVersion, kind };
}

/** Stored before the object is created, so that a restart finds the same object. */
export function attemptBegun(
  { spec, status = {} }: Pick<HookTask, "spec" | "status">,
  { name, namespace }: Pick<TaskAttempt, "name" | "namespace">,
  now: Date,
): Status {
  const at = timestamp(now);
  const attempt = { name, ...(namespace !== undefined && { namespace }), startedAt: at, askedAt: at };
  const { endedAt: _, message: _old, object: _other, ...rest } = status;
  return {
    ...rest,
    phase: "Pending",
    allowed: allowedAttempts({ spec, status }),
    begun: (status.begun ?? 0) + 1,
    startedAt: status.startedAt ?? at,
    attempts: [...(status.attempts ?? []), attempt].slice(-MAX_ATTEMPTS),
  };
}

/** The object exists; or, for a deletion, this is what has to go. `since`: the time-out counts from then. */
export function attemptFound(
  { spec, status = {} }: Pick<HookTask, "spec" | "status">,
  found: Pick<TaskAttempt, "uid"> & { readonly targets?: readonly TaskTarget[] },
  since: Date,
): Status {
  const { uid, targets } = found;
  const last = lastAttempt(status);
  const object = last && { object: objectName(spec, last) };
  return changed({ ...withoutMessage(status), phase: "Running", ...object }, (attempt) => ({
    ...withoutMessage(attempt),
    askedAt: timestamp(since),
    ...(uid !== undefined && { uid }),
    ...(targets !== undefined && { targets: [...targets] }),
  }));
}

/** What the attempt waits for. The same status if it says so already, so that the steady state needs no write. */
export function attemptWaits(status: Status, message: string): Status {
  const text = truncateText(message, MAX_TASK_MESSAGE);
  if (lastAttempt(status)?.message === text && status.message === text) return status;
  return { ...changed(status, (attempt) => ({ ...attempt, message: text })), message: text };
}

/** What keeps the next attempt from beginning. The same status if it says so already. */
export function attemptHindered(status: Status, message: string): Status {
  const text = truncateText(message, MAX_TASK_MESSAGE);
  return status.message === text ? status : { ...status, message: text };
}

/** The next attempt cannot begin: the task ends as after its last one. */
export function givenUp(status: Status, message: string, now: Date): Status {
  return {
    ...status,
    phase: "Failed",
    endedAt: timestamp(now),
    message: truncateText(message, MAX_TASK_MESSAGE),
  };
}

interface AttemptEnd {
  readonly outcome: AttemptOutcome;
  readonly message: string;
  /** No further attempt can succeed. */
  readonly final?: boolean;
}

export function attemptEnded(
  { spec, status = {} }: Pick<HookTask, "spec" | "status">,
  { outcome, message, final = false }: AttemptEnd,
  now: Date,
): Status {
  const endedAt = timestamp(now);
  const text = truncateText(message, MAX_TASK_MESSAGE);
  const ended = changed(withoutMessage(status), (attempt) => ({
    ...withoutMessage(attempt),
    endedAt,
    outcome,
    ...(text !== "" && { message: text }),
  }));
  if (outcome === "Succeeded") return { ...ended, phase: "Succeeded", endedAt };
  const said = text === "" ? {} : { message: text };
  const isLast = final || (ended.begun ?? 0) >= allowedAttempts({ spec, status: ended });
  return { ...ended, ...said, ...(isLast && { phase: "Failed", endedAt }) };
}

/** No further attempt begins, and another confirmation may begin another run. */
export function cancelled(status: Status, message: string, now: Date): Status {
  const at = timestamp(now);
  const ended = unmadeEnded(status, message, at);
  return { ...ended, phase: "Cancelled", endedAt: at, over: status.over ?? at, message };
}

/** No further attempt begins, and no result counts. What has not been carried out never will be. */
export function markedAltered(status: Status, now: Date): Status {
  const at = timestamp(now);
  return { ...unmadeEnded(status, ALTERED, at), altered: at, message: ALTERED };
}

/** Ends an open attempt that is not carried out. */
function unmadeEnded(status: Status, message: string, endedAt: string): Status {
  const open = openAttempt(status);
  if (open === undefined || isCarriedOut(open)) return status;
  return changed(status, (attempt) => ({ ...attempt, endedAt, outcome: "Cancelled", message }));
}

const ALTERED =
  "spec.action or the label hookpolicy.dev/cluster-uid is not what the operator stored, so it is not done and no result counts: when what the attempts created is gone, delete this HookTask, and the task begins again";

export function operationOver(status: Status, now: Date): Status {
  return { ...status, over: timestamp(now) };
}

/** A person allows one more attempt than have begun, or as many as are left; `value`: of the annotation. */
export function retried(task: Pick<HookTask, "spec" | "status">, value: string): Status {
  const { status = {} } = task;
  const { endedAt: _, message: _old, ...rest } = status;
  const allowed = Math.max(allowedAttempts(task), (status.begun ?? 0) + 1);
  return { ...rest, phase: "Pending", allowed, retriedFor: value };
}

function changed(status: Status, change: (last: TaskAttempt) => TaskAttempt): Status {
  const last = lastAttempt(status);
  if (last === undefined) return status;
  return { ...status, attempts: [...(status.attempts ?? []).slice(0, -1), change(last)] };
}

function withoutMessage<T extends { readonly message?: string }>(value: T): Omit<T, "message"> & T {
  const { message: _, ...rest } = value;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the message is optional
  return rest as Omit<T, "message"> & T;
}
