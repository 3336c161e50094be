/** What the schema of a HookPolicyTest and its types (spec.gen.ts) take from here. */

import type { HookCall } from "../../api/runtime-hooks.ts";
import type { Operation } from "../../operations/beginnings.ts";
import type { RawObject } from "../fleet/kinds.ts";

/** Paths and inline objects. */
export type Sources = readonly (string | RawObject)[];

export interface CallSpec extends HookCall {
  /** "namespace/name" */
  readonly cluster: string;
}

/** A request to the API server, about which admission is asked. */
export interface RequestSpec extends Omit<CallSpec, "hook"> {
  readonly admission: Operation;
}

/** The Events that a suite can cause. */
export const EVENT_REASONS = [
  "Held",
  "Released",
  "WouldBlock",
  "NotEvaluable",
  "NotAsked",
  "DeadlineApproaching",
  "DeadlinePassed",
  "OverrideUsed",
  "WindowOpened",
  "WindowClosed",
  "StageOpened",
  "StagePassed",
  "Halted",
  "Resumed",
  "TaskStarted",
  "TaskSucceeded",
  "TaskFailed",
  "TaskNotBegun",
] as const;

/** As of a HookTask. None: there is no HookTask; Retrying: one that runs, between two attempts. */
export const TASK_PHASES = [
  "None",
  "Pending",
  "Running",
  "Retrying",
  "Succeeded",
  "Failed",
  "Cancelled",
] as const;

const OF_POLICY = ["kind", "namespace", "policy"];

/** The metrics that a suite can compute, and their labels. */
export const METRIC_LABELS = {
  hookpolicy_held_clusters: ["hook"],
  hookpolicy_policy_decisions: [...OF_POLICY, "hook", "verdict"],
  hookpolicy_deadlines: [...OF_POLICY, "passed"],
  hookpolicy_window_open: [...OF_POLICY, "rule", "gate"],
  hookpolicy_overrides: ["state"],
  hookpolicy_rollout_clusters: ["rollout", "stage", "state"],
  hookpolicy_rollout_halted: ["rollout"],
  hookpolicy_tasks: ["phase"],
} as const satisfies Readonly<Record<string, readonly string[]>>;
