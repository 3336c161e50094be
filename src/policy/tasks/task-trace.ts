/** What a decision says about the tasks of a rule, and what it lets begin. */

import type { HookTaskSpec } from "../../api/hook-policy.ts";
import type { CompiledTask } from "./compile-task.ts";
import type { NextAttempt } from "./task-record.ts";

/**
 * - NotNeeded: `when` is false, and no HookTask counts.
 * - Waiting: for the tasks before it, or (`begins: Last`) for the gates of its rule.
 * - Due: for nothing of its own rule; it begins at once (First), or when nothing but tasks holds the operation (Last).
 * - Pending, Running, Succeeded, Failed: its HookTask.
 * - Retrying: an attempt has failed, and another follows.
 * - Proceeded: its HookTask has failed, and `onFailure` is Proceed.
 * - Altered: its HookTask was changed, so it holds, whatever its status says.
 * - NotEvaluable: whether it is needed, or what it does, is not known.
 */
export type TaskState =
  | "NotNeeded"
  | "Waiting"
  | "Due"
  | "Pending"
  | "Running"
  | "Retrying"
  | "Succeeded"
  | "Failed"
  | "Proceeded"
  | "Altered"
  | "NotEvaluable";

export interface TaskTrace {
  readonly task: string;
  readonly state: TaskState;
  readonly reason: string;
  /** For people; empty when the task holds nothing. */
  readonly message: string;
  readonly begins: "Last" | "First";
  /** The HookTask that counts. */
  readonly hookTask?: { readonly namespace: string; readonly name: string };
  /** Of the HookTask: for the trace only. */
  readonly observed?: string;
  readonly attempts?: number;
  /** Only while it is Pending or Running: `observed` says what refuses to carry out its attempt, or to show its object. */
  readonly hindered?: true;
  /** Only while it is Retrying. */
  readonly nextAttempt?: NextAttempt;
  /** The run that counts or, of a task without a HookTask, that would begin. */
  readonly run: number;
  /** Of a task that is due: what would be stored; only with `rendersTasks`. */
  readonly intent?: TaskIntent;
  /** When time alone makes another run needed, or lets the next attempt begin. */
  readonly changesAt?: Date;
}

/** A HookTask to be stored. */
export interface TaskIntent {
  /** taskName() of the spec. */
  readonly name: string;
  /** The ServiceAccount's namespace, where the HookTask is. */
  readonly namespace: string;
  readonly task: CompiledTask;
  readonly spec: HookTaskSpec;
}
