/** What makes a HookTask the one of a task and an operation. Two replicas compute the same name for it. */

import { hash } from "node:crypto";
import type { HookTaskSpec } from "../../api/hook-policy.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
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
  return shortHash(JSON.stringify(sorted(action)));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => sorted(item));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return fields.map(([name, field]) => [name, sorted(field)]);
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
