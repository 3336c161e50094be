/** A task of a rule, compiled once per generation of its policy. */

import type { TaskSpec } from "../../api/hook-policy.ts";
import type { Expression } from "../cel/expression.ts";
import type { Template } from "./template.ts";

export interface CompiledTask extends Readonly<
  Pick<TaskSpec, "name" | "succeeded" | "failed"> &
    Required<Pick<TaskSpec, "begins" | "timeout" | "retries" | "onFailure">>
> {
  /** Absent: the task is always needed. */
  readonly when?: Expression;
  readonly action: {
    readonly verb: TaskVerb;
    /** Of the object; of a delete: apiVersion, kind, namespace, and name or selector. */
    readonly template: Template;
    readonly ownedByCluster?: true;
  };
  /** actionHash() of the template and the ServiceAccount. */
  readonly actionHash: string;
  readonly timeoutMs: number;
  /** How long a success counts; absent: for the whole operation. */
  readonly validForMs?: number;
  /** How long a created object stays after a success. */
  readonly keepMs: number;
}

export type TaskVerb = "create" | "apply" | "delete";
