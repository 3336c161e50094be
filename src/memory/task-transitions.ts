/** The transitions of a HookTask that users learn of: between what was stored and what replaces it. */

import type { HookTask, HookTaskSpec } from "../api/hook-policy.ts";
import { policyName, type PolicyRef } from "../policy/policy-ref.ts";

export interface TaskTransition {
  readonly type: "TaskChanged";
  readonly change: "TaskStarted" | "TaskSucceeded" | "TaskFailed" | "TaskNotBegun" | "TaskAltered";
  readonly policy: PolicyRef;
  readonly policyUID: string;
  readonly spec: Pick<HookTaskSpec, "rule" | "task" | "hook" | "clusterRef">;
  readonly note: string;
  /** Tells one change of this kind from the next. */
  readonly key: string;
}

export function taskTransition(before: HookTask, now: HookTask): TaskTransition | undefined {
  const { spec, metadata, status } = now;
  const change = changeOf(before, now);
  if (change === undefined) return undefined;
  const note = `${NOTES[change](now)} (HookTask ${metadata.namespace}/${metadata.name})`;
  return transitionOf(spec, { change, note, key: `${metadata.uid} ${status?.begun ?? 0}` });
}

type Change = TaskTransition["change"];

const ENDS: Readonly<Record<string, Change>> = {
  Succeeded: "TaskSucceeded",
  Failed: "TaskFailed",
  Cancelled: "TaskNotBegun",
};

function changeOf({ status: before = {} }: HookTask, { status: now = {} }: HookTask): Change | undefined {
  if (now.altered !== before.altered) return "TaskAltered";
  if ((now.begun ?? 0) > (before.begun ?? 0)) return "TaskStarted";
  return now.phase === before.phase ? undefined : ENDS[now.phase ?? ""];
}

const NOTES: Readonly<Record<Change, (task: HookTask) => string>> = {
  TaskStarted: ({ metadata, spec, status }) =>
    `attempt ${status?.begun ?? 1} begins as ServiceAccount ${metadata.namespace}/${spec.serviceAccountName}: ${status?.object ?? ""}`,
  TaskSucceeded: ({ status }) => `${status?.object ?? ""} is done`,
  TaskFailed: ({ status }) => `it has failed: ${status?.message ?? ""}`,
  TaskAltered: ({ status }) => `it cannot be trusted: ${status?.message ?? ""}`,
  TaskNotBegun: ({ status }) => `no further attempt begins: ${status?.message ?? ""}`,
};

/** Its HookTask could not be stored. */
export function taskNotStored(spec: HookTaskSpec, name: string, why: string): TaskTransition {
  return transitionOf(spec, {
    change: "TaskNotBegun",
    note: `its HookTask cannot be stored: ${why}`,
    key: name,
  });
}

function transitionOf(
  spec: HookTaskSpec,
  { note, ...change }: Pick<TaskTransition, "change" | "note" | "key">,
): TaskTransition {
  const { kind, namespace, name, uid } = spec.policyRef;
  const policy = { kind, name, ...(namespace !== undefined && { namespace }) };
  return {
    type: "TaskChanged",
    ...change,
    policy,
    policyUID: uid,
    spec,
    note: `Task ${spec.task} of ${policyName(policy)}, rule ${spec.rule}: ${note}`,
  };
}
