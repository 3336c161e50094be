/** The transitions of a HookTask that users learn of: between what was stored and what replaces it. */

import type { HookTask, HookTaskSpec } from "../api/hook-policy.ts";
import { policyName, type PolicyRef } from "../policy/policy-ref.ts";

export interface TaskTransition {
  readonly type: "TaskChanged";
  readonly change: "TaskStarted" | "TaskSucceeded" | "TaskFailed" | "TaskNotBegun";
  readonly policy: PolicyRef;
  readonly policyUID: string;
  readonly spec: Pick<HookTaskSpec, "rule" | "task" | "hook" | "clusterRef">;
  readonly note: string;
  /** Tells one change of this kind from the next. */
  readonly key: string;
}

export function taskTransition(before: HookTask, now: HookTask): TaskTransition | undefined {
  const { spec, metadata, status = {} } = now;
  const { begun = 0, object = "", message = "", phase } = status;
  const name = `${metadata.namespace}/${metadata.name}`;
  const of = (change: TaskTransition["change"], note: string): TaskTransition =>
    transitionOf(spec, { change, note: `${note} (HookTask ${name})`, key: `${metadata.uid} ${begun}` });
  if (begun > (before.status?.begun ?? 0)) {
    const account = `ServiceAccount ${metadata.namespace}/${spec.serviceAccountName}`;
    return of("TaskStarted", `attempt ${begun} begins as ${account}: ${object}`);
  }
  if (phase === before.status?.phase) return undefined;
  if (phase === "Succeeded") return of("TaskSucceeded", `${object} is done`);
  if (phase === "Failed") return of("TaskFailed", `it has failed: ${message}`);
  return phase === "Cancelled" ? of("TaskNotBegun", `no further attempt begins: ${message}`) : undefined;
}

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
