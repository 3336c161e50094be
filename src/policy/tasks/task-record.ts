/** HookTasks as decide() takes them. */

import type { HookName } from "../../api/runtime-hooks.ts";
import type { TaskIdentity } from "./task-identity.ts";

export type TaskPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Cancelled";

/** What a HookTask says. */
export interface TaskRecord {
  /** Of the HookTask. */
  readonly namespace: string;
  readonly name: string;
  readonly identity: TaskIdentity;
  readonly phase: TaskPhase;
  /** Its operation has ended or is no longer wanted, so it never counts again. */
  readonly over: boolean;
  /** There is no HookTask, because its namespace is being deleted. */
  readonly unstored?: true;
  /** The HookTask that has to end well before this one begins (AfterControlPlaneInitialized). */
  readonly after?: string;
  /** Only with the phase Succeeded. */
  readonly succeededAt?: Date;
  readonly endedAt?: Date;
  /** How many have begun. */
  readonly attempts: number;
  /** What it waits for, or why it ended as it did. */
  readonly message: string;
}

export interface TaskReader {
  /** The HookTasks of a Cluster at a hook, also those that no longer count. `undefined`: unknown. */
  find(clusterUID: string, hook: HookName): readonly TaskRecord[] | undefined;
}

const NONE: readonly TaskRecord[] = [];
/** No HookTask exists. */
export const NO_TASKS: TaskReader = { find: () => NONE };
