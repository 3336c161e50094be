/** What makes a HookTask the one of a task and an operation. Two replicas compute the same name for it. */

import { hash } from "node:crypto";
import type { HookTask, HookTaskSpec, TaskAction } from "../../api/hook-policy.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import type { PolicyRef } from "../policy-ref.ts";

export interface TaskIdentity {
  readonly policyUID: string;
  readonly policy: PolicyRef;
  readonly rule: string;
  readonly task: string;
  /** Of the template and the ServiceAccount: see actionHash(). */
  readonly action: string;
  readonly clusterUID: string;
  readonly cluster: { readonly namespace: string; readonly name: string };
  readonly hook: HookName;
  /** The Kubernetes version that the operation leads to. */
  readonly version?: string;
  /** The version of the topology, for hooks that Cluster API calls for each step of an upgrade. */
  readonly step?: string;
  /** 1, and one more for each run after one that no longer counts. */
  readonly run: number;
}

const READABLE_LETTERS = 40;
const HASH_LETTERS = 16;

/** At most 57 characters: readable ones, and those that no other identity has. */
export function taskName(identity: TaskIdentity): string {
  const { policyUID, rule, task, action, clusterUID, cluster, hook, version, step, run } = identity;
  const parts = [policyUID, rule, task, action, clusterUID, hook, version ?? null, step ?? null, run];
  const readable = nameOf(`${cluster.name}-${task}`, READABLE_LETTERS);
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

/**
 * Why a HookTask cannot be trusted:
 * - Changed: its action is not the one that was stored.
 * - NoHash: the CRD of an older version has no field for the hash, so a change would not show.
 */
export type Alteration = "Changed" | "NoHash";

export function alterationOf({ spec, status }: Pick<HookTask, "spec" | "status">): Alteration | undefined {
  // What an older CRD has kept does not have it, whatever the type says.
  const { renderedHash: expected }: Partial<HookTaskSpec> = spec;
  if (status?.altered !== undefined) return "Changed";
  if (expected === undefined) return "NoHash";
  return expected === renderedHash(spec.action) ? undefined : "Changed";
}

function shortHash(text: string): string {
  return hash("sha256", text).slice(0, HASH_LETTERS);
}

/** The beginning of a name of lower-case letters, digits and '-'. */
export function nameOf(text: string, letters: number): string {
  const cut = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, letters);
  return cut.replaceAll(/^-+|-+$/g, "");
}

/** Of a stored HookTask. */
export function identityOf(spec: HookTaskSpec): TaskIdentity {
  const { policyRef, rule, task, actionHash: action, clusterRef, hook, version, step, run } = spec;
  const { kind, namespace, name, uid } = policyRef;
  return {
    policyUID: uid,
    policy: { kind, name, ...(namespace !== undefined && { namespace }) },
    rule,
    task,
    action,
    clusterUID: clusterRef.uid,
    cluster: { namespace: clusterRef.namespace, name: clusterRef.name },
    hook,
    ...(version !== undefined && { version }),
    ...(step !== undefined && { step }),
    run,
  };
}

const SAME = ["policyUID", "rule", "task", "action", "clusterUID", "hook", "version", "step"] as const;

/** Whether the two are of one task and one operation, whatever their run. */
export function isSameButRun(a: TaskIdentity, b: TaskIdentity): boolean {
  return SAME.every((field) => a[field] === b[field]);
}
