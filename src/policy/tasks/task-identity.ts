/** What makes a HookTask the one of a task and an operation. Two replicas compute the same name for it. */

import { hash } from "node:crypto";
import type { HookTask, HookTaskSpec, TaskAction } from "../../api/hook-policy.ts";
import { byText } from "../../lib/compare-text.ts";
import { isFields } from "../../lib/fields.ts";
import { CLUSTER_UID } from "./template-metadata.ts";

/** `step`: the version of the topology, for hooks that Cluster API calls for each step of an upgrade. */
export type TaskIdentity = Readonly<
  Pick<
    HookTaskSpec,
    "policyRef" | "rule" | "task" | "clusterRef" | "hook" | "version" | "step" | "run" | "actionHash"
  >
>;

const READABLE_LETTERS = 40;
const HASH_LETTERS = 16;

/** At most 57 characters: readable ones, and those that no other identity has. */
export function taskName(identity: TaskIdentity): string {
  const { policyRef, rule, task, actionHash: action, clusterRef, hook, version, step, run } = identity;
  const parts = [policyRef.uid, rule, task, action, clusterRef.uid, hook, version ?? null, step ?? null, run];
  const readable = readablePart(`${clusterRef.name}-${task}`, READABLE_LETTERS);
  return `${readable}-${shortHash(JSON.stringify(parts))}`;
}

/** Of what a task does and as whom; the order of fields is of no importance. */
export function actionHash(action: unknown): string {
  return shortHash(canonicalJson(action));
}

/**
 * Of what is to be done, in a field that cannot be changed. The API server's rule cannot see all of the action itself:
 * in what the schema does not know, two patches can replace everything.
 */
export function renderedHash(action: TaskAction): string {
  return hash("sha256", canonicalJson(action));
}

/** Whether its action is not the one that was stored, or a confirmation does not find it any more, by its label. */
export function isAlteredTask({
  metadata,
  spec,
  status,
}: Pick<HookTask, "metadata" | "spec" | "status">): boolean {
  if (status?.altered !== undefined || metadata.labels?.[CLUSTER_UID] !== spec.clusterRef.uid) return true;
  return spec.renderedHash !== renderedHash(spec.action);
}

/** One text for all JSON values that are equal, however their keys are ordered. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isFields(part) ? Object.fromEntries(Object.entries(part).toSorted(byText(([key]) => key))) : part,
  );
}

function shortHash(text: string): string {
  return hash("sha256", text).slice(0, HASH_LETTERS);
}

/** The beginning of a name of lower-case letters, digits and '-'. */
export function readablePart(text: string, letters: number): string {
  const cut = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, letters);
  return cut.replaceAll(/^-|-$/g, "");
}

const SAME = ["rule", "task", "actionHash", "hook", "version", "step"] as const;

/** Whether the two are of one task and one operation, whatever their run. */
export function isSameButRun(a: TaskIdentity, b: TaskIdentity): boolean {
  const isSameUID = a.policyRef.uid === b.policyRef.uid && a.clusterRef.uid === b.clusterRef.uid;
  return isSameUID && SAME.every((field) => a[field] === b[field]);
}
