/** The Events about a HookTask: between what was stored and what replaces it. */

import { APPLY_CRDS } from "../api/crd-fields.ts";
import { clusterReference, type EventText, ownReference } from "../api/event-text.ts";
import type { HookTask, HookTaskSpec, HookTaskStatus } from "../api/hook-policy.ts";
import { isUnknownField } from "../kube/kube-error.ts";
import { HOUR_MS } from "../lib/duration.ts";
import { messageOf } from "../lib/thrown.ts";
import { policyName } from "../policy/policy-ref.ts";
import { lastAttempt, objectName } from "./task-progress.ts";

type Change = "TaskStarted" | "TaskSucceeded" | "TaskFailed" | "TaskNotBegun" | "TaskAltered";

export function taskEvent(before: HookTask, now: HookTask): EventText | undefined {
  const { spec, metadata, status } = now;
  const change = changeOf(before, now);
  if (change === undefined) return undefined;
  const note = `${NOTES[change](now)} (HookTask ${metadata.namespace}/${metadata.name})`;
  return eventOf(spec, change, { note, key: `${metadata.uid} ${status?.begun ?? 0}` });
}

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
    `attempt ${status?.begun ?? 1} begins as ServiceAccount ${metadata.namespace}/${spec.serviceAccountName}: ${objectIn(spec, status)}`,
  TaskSucceeded: ({ status }) => `${status?.object ?? ""} is done`,
  TaskFailed: ({ status }) => `it has failed: ${status?.message ?? ""}`,
  TaskAltered: ({ status }) => `it cannot be trusted: ${status?.message ?? ""}`,
  TaskNotBegun: ({ status }) => `no further attempt begins: ${status?.message ?? ""}`,
};

/** It may not exist yet. */
function objectIn(spec: HookTaskSpec, status: HookTaskStatus | undefined): string {
  const last = lastAttempt(status);
  return last === undefined ? "" : objectName(spec, last);
}

/** Its HookTask could not be stored. Of each hour another Event: the API server has the last one for at least as long. */
export function taskNotStored(spec: HookTaskSpec, name: string, error: unknown, now: Date): EventText {
  const remedy = isUnknownField(error) ? `; the CRD is older than the operator: ${APPLY_CRDS}` : "";
  const note = `its HookTask cannot be stored: ${messageOf(error)}${remedy}`;
  const hour = Math.floor(now.getTime() / HOUR_MS);
  return eventOf(spec, "TaskNotBegun", { note, key: `${name} ${hour} ${messageOf(error)}` });
}

/** `key`: tells one change of this kind from the next. */
function eventOf(
  { clusterRef, policyRef, rule, task, hook }: HookTaskSpec,
  change: Change,
  told: { readonly note: string; readonly key: string },
): EventText {
  const { namespace, name, uid } = clusterRef;
  const note = `Task ${task} of ${policyName(policyRef)}, rule ${rule}: ${told.note}`;
  return {
    identity: [change, told.key].join(" "),
    type: change === "TaskStarted" || change === "TaskSucceeded" ? "Normal" : "Warning",
    reason: change,
    action: hook,
    note,
    policyNote: () => `Cluster ${namespace}/${name}: ${note}`,
    regarding: clusterReference(namespace, name, uid),
    related: ownReference(policyRef, policyRef.uid),
  };
}
