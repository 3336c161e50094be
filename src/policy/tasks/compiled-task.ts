/** A task of a rule, compiled once per generation of its policy. */

import type { Expression } from "../cel/expression.ts";
import type { Template } from "./template.ts";

export interface CompiledTask {
  readonly name: string;
  /** Absent: the task is always needed. */
  readonly when?: Expression;
  readonly begins: "Last" | "First";
  readonly action: CompiledAction;
  /** actionHash() of the template and the ServiceAccount. */
  readonly actionHash: string;
  /** As written in the policy, CEL over object, cluster and request; absent: the default of the kind. */
  readonly succeeded?: string;
  readonly failed?: string;
  /** As written in the policy: "15m". */
  readonly timeout: string;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly onFailure: "Hold" | "Proceed";
  /** How long a success counts; absent: for the whole operation. */
  readonly validForMs?: number;
  /** How long a created object stays after a success. */
  readonly keepMs: number;
}

export type TaskVerb = "create" | "apply" | "delete";

export interface CompiledAction {
  readonly verb: TaskVerb;
  /** Of the object; of a delete: apiVersion, kind, namespace, and name or selector. */
  readonly template: Template;
  readonly ownedByCluster?: true;
}

/** The ServiceAccount as which tasks act. */
export interface TaskServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** Shared by all rules without tasks. */
export const NO_COMPILED_TASKS: readonly CompiledTask[] = [];
