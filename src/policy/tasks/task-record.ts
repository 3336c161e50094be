/** HookTasks as decide() takes them. */

import type { HookName } from "../../api/runtime-hooks.ts";
import type { TaskIdentity } from "./task-identity.ts";

export type TaskPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Cancelled";

export interface NextAttempt {
  /** The instant before which it does not begin. */
  readonly at: Date;
  /** 2 for the one that follows the first. */
  readonly number: number;
  /** How many may begin altogether. */
  readonly of: number;
}

export interface TaskRecord {
  /** Of the HookTask. */
  readonly namespace: string;
  readonly name: string;
  readonly identity: TaskIdentity;
  readonly phase: TaskPhase;
  /** Its operation has ended or is no longer wanted, or its success was deleted, so it never counts again. */
  readonly over: boolean;
  /** There is no HookTask: it cannot be stored now or, as its namespace is being deleted, ever. */
  readonly unstored?: true;
  /** Its action is not the one that the operator has stored, so it holds, whatever its status says. */
  readonly altered: boolean;
  /** The HookTask that has to end well before this one begins (AfterControlPlaneInitialized). */
  readonly after?: string;
  /** Only with the phase Succeeded. */
  readonly succeededAt?: Date;
  readonly endedAt?: Date;
  /** How many have begun. */
  readonly attempts: number;
  /** The attempt that the task waits for, because the one before it has failed. */
  readonly nextAttempt?: NextAttempt;
  /** `message` says what refuses to carry out the attempt or, while it is Running, to show its object. */
  readonly hindered?: boolean;
  /** What it waits for, or why it ended as it did. */
  readonly message: string;
}

export interface TaskScope {
  readonly clusterUID: string;
  readonly hook: HookName;
  readonly policyUID: string;
  readonly rule: string;
}

export interface TaskReader {
  /** How many find() would read, which costs nothing. */
  count(scope: TaskScope): number;
  /** Also those that no longer count. `undefined`: unknown. */
  find(scope: TaskScope): readonly TaskRecord[] | undefined;
}

export function readerOf(records: readonly TaskRecord[]): TaskReader {
  const byScope = Map.groupBy(records, ({ identity: { clusterRef, hook, policyRef, rule } }) =>
    scopeKey({ clusterUID: clusterRef.uid, hook, policyUID: policyRef.uid, rule }),
  );
  const find = (scope: TaskScope): readonly TaskRecord[] => byScope.get(scopeKey(scope)) ?? [];
  return { count: (scope) => find(scope).length, find };
}

function scopeKey({ clusterUID, hook, policyUID, rule }: TaskScope): string {
  return [clusterUID, hook, policyUID, rule].join("/");
}

export const NO_TASKS: TaskReader = readerOf([]);
