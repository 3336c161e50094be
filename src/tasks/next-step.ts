/** What the leader does next for a HookTask. Pure. */

import type { HookTask, TaskAttempt } from "../api/hook-policy.ts";
import { durationOrNever } from "../policy/duration.ts";
import { readTimestamp } from "../policy/instant.ts";
import { allowedAttempts, lastAttempt, openAttempt } from "./progress.ts";

/** Whether a further attempt may begin, as Cluster and policy show it. */
export type Permit =
  | { readonly may: "Begin" }
  /** Something passes by itself, or another event comes. */
  | { readonly may: "Wait" }
  /** The task is not wanted any more. */
  | { readonly may: "Never"; readonly why: string };

export interface TaskSituation {
  readonly task: HookTask;
  readonly permit: Permit;
  /** Whether the Cluster shows that the operation has ended, or is no longer wanted. */
  readonly isOver: boolean;
  /** How long the policy keeps what a success has created. */
  readonly keepMs: number;
  /** There are too many HookTasks like this one. */
  readonly isSurplus: boolean;
  readonly now: Date;
}

export type NextStep =
  /** Absent: nothing to do until something changes. */
  | { readonly do: "Rest"; readonly forMs?: number }
  | { readonly do: "MarkOver" }
  | { readonly do: "Cancel"; readonly why: string }
  | { readonly do: "Retry"; readonly value: string }
  /** `after`: the attempt whose object must be gone first. */
  | { readonly do: "Begin"; readonly after?: TaskAttempt }
  | { readonly do: "CarryOut"; readonly attempt: TaskAttempt }
  | { readonly do: "Observe"; readonly attempt: TaskAttempt }
  /** Removes what the attempts have created; `forget`: and then the HookTask. */
  | { readonly do: "Tidy"; readonly forget: boolean };

/** On the HookTask: a person wants one more attempt. */
export const RETRY_ANNOTATION = "hookpolicy.dev/retry";

/** Before the attempts that `retries` allows. */
const RETRY_DELAYS_MS = [30_000, 60_000, 120_000];
const HOUR_MS = 3_600_000;
/** How long a HookTask stays that no longer counts, from the later of its own end and the operation's. */
const KEEP_FAILED_MS = 7 * 24 * HOUR_MS;
const KEEP_MS = 24 * HOUR_MS;
/** Without a permit: what is missing comes with an event, which may be missed. */
const RECHECK_MS = 10_000;

export function nextStep(situation: TaskSituation): NextStep {
  const { task, isOver } = situation;
  const { status = {} } = task;
  if (isOver && status.over === undefined) return { do: "MarkOver" };
  const attempt = openAttempt(status);
  if (attempt !== undefined) return { do: isCarriedOut(attempt) ? "Observe" : "CarryOut", attempt };
  const hasEnded = status.phase !== undefined && ENDED.has(status.phase);
  return hasEnded ? afterEnd(situation) : beforeAttempt(situation);
}

const ENDED: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Cancelled"]);

function isCarriedOut({ uid, targets }: TaskAttempt): boolean {
  return uid !== undefined || targets !== undefined;
}

/** When the attempt times out. */
export function timesOutAt({ spec }: Pick<HookTask, "spec">, { askedAt, startedAt }: TaskAttempt): Date {
  return new Date(Date.parse(askedAt ?? startedAt) + durationOrNever(spec.timeout));
}

function beforeAttempt({ task, permit, now }: TaskSituation): NextStep {
  const { status = {}, spec } = task;
  if (status.over !== undefined)
    return { do: "Cancel", why: "the operation has ended, or is no longer wanted" };
  const last = lastAttempt(status);
  const begun = status.begun ?? 0;
  if (begun >= allowedAttempts(task)) return { do: "Cancel", why: "no further attempt is allowed" };
  // An attempt that a person asked for begins at once.
  const delayMs = begun === 0 || begun > spec.retries ? 0 : (RETRY_DELAYS_MS[begun - 1] ?? 0);
  const waitMs = delayMs - sinceMs(last?.endedAt, now);
  if (permit.may === "Never") return { do: "Cancel", why: permit.why };
  if (last !== undefined && waitMs > 0) return { do: "Rest", forMs: waitMs };
  if (permit.may === "Wait") return { do: "Rest", forMs: RECHECK_MS };
  const mayExist = last !== undefined && (last.outcome === "TimedOut" || !isCarriedOut(last));
  return { do: "Begin", ...(mayExist && spec.action.create !== undefined && { after: last }) };
}

function afterEnd(situation: TaskSituation): NextStep {
  const { task, isSurplus, keepMs, now } = situation;
  const { status = {}, metadata, spec } = task;
  const { phase, over, endedAt } = status;
  const retry = metadata.annotations?.[RETRY_ANNOTATION];
  if (phase === "Failed" && over === undefined && retry !== undefined && retry !== status.retriedFor)
    return { do: "Retry", value: retry };
  const created = spec.action.create !== undefined;
  const tidyInMs = phase === "Succeeded" && created ? keepMs - sinceMs(endedAt, now) : Infinity;
  const keptMs = phase === "Failed" ? KEEP_FAILED_MS : KEEP_MS;
  const forgetInMs =
    over === undefined
      ? Infinity
      : isSurplus
        ? 0
        : Math.max(keptMs - Math.min(sinceMs(endedAt, now), sinceMs(over, now)), finite(tidyInMs));
  if (forgetInMs <= 0) return { do: "Tidy", forget: true };
  if (tidyInMs <= 0) return { do: "Tidy", forget: false };
  const forMs = Math.min(tidyInMs, forgetInMs);
  return { do: "Rest", ...(forMs !== Infinity && { forMs }) };
}

function finite(ms: number): number {
  return ms === Infinity ? 0 : ms;
}

function sinceMs(at: string | undefined, now: Date): number {
  const since = readTimestamp(at);
  return since === undefined ? 0 : now.getTime() - since.getTime();
}
