/** Compiles the tasks of a rule that has no errors. */

import type { ClusterHookPolicySpec, HookPolicySpec, TaskAccount, TaskSpec } from "../../api/hook-policy.ts";
import { type Fields, fieldsOf } from "../../lib/fields.ts";
import { type Expression, expressionOrBroken } from "../cel/expression.ts";
import { DAY_MS, durationOrNever } from "../../lib/duration.ts";
import type { PolicyRef } from "../policy-ref.ts";
import { actionHash } from "./task-identity.ts";
import { compileTemplate, type Template } from "./template.ts";

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

export const TASK_DEFAULTS = {
  begins: "Last",
  timeout: "1h",
  retries: 0,
  onFailure: "Hold",
  keep: "24h",
} as const;

/** The pauses before the attempts that `retries` allows. */
export const RETRY_DELAYS_MS: readonly number[] = [30_000, 60_000, 120_000];

type Accounts = Partial<
  Pick<HookPolicySpec, "serviceAccountName"> & Pick<ClusterHookPolicySpec, "serviceAccount">
>;

/** `undefined`: the spec names none. A HookPolicy's is of its own namespace. */
export function accountOf(
  { serviceAccountName, serviceAccount }: Accounts,
  { kind, namespace = "" }: PolicyRef,
): TaskAccount | undefined {
  if (kind === "ClusterHookPolicy") return serviceAccount;
  return serviceAccountName === undefined ? undefined : { namespace, name: serviceAccountName };
}

/** Whether a policy, valid or not, may have tasks: without a ServiceAccount it has none. */
export function namesAccount(spec: unknown): boolean {
  const { serviceAccountName, serviceAccount } = fieldsOf(spec);
  return serviceAccountName !== undefined || serviceAccount !== undefined;
}

export function compileTasks(
  tasks: readonly TaskSpec[],
  account: TaskAccount | undefined,
): readonly CompiledTask[] {
  return tasks.map((task) => compileTask(task, account));
}

function compileTask(spec: TaskSpec, account: TaskAccount | undefined): CompiledTask {
  const { name, when, begins, succeeded, failed, timeout, retries, onFailure, keep } = {
    ...TASK_DEFAULTS,
    ...spec,
  };
  const { verb, template } = actionOf(spec);
  const validForMs = validForOf(spec);
  return {
    name,
    ...(when !== undefined && { when: expressionOrBroken(when, "when") }),
    begins,
    action: {
      verb,
      template: compileTemplate(template, verb === "delete"),
      ...(spec.ownedByCluster === true && { ownedByCluster: true }),
    },
    actionHash: actionHash([verb, template, spec.ownedByCluster === true, account?.namespace, account?.name]),
    ...(succeeded !== undefined && { succeeded }),
    ...(failed !== undefined && { failed }),
    timeout,
    timeoutMs: durationOrNever(timeout),
    retries,
    onFailure,
    ...(validForMs !== undefined && { validForMs }),
    keepMs: /[1-9]/.test(keep) ? durationOrNever(keep) : 0,
  };
}

/** What a task does; of a spec that fits the schema, exactly one. */
export function actionOf({ create, apply, delete: deletion }: TaskSpec): {
  readonly verb: TaskVerb;
  readonly template: Fields;
} {
  if (create !== undefined) return { verb: "create", template: create };
  if (apply !== undefined) return { verb: "apply", template: apply };
  return { verb: "delete", template: { ...deletion } };
}

/** How long a success counts, in milliseconds; `undefined`: for the whole operation. */
export function validForOf({ create, validFor }: TaskSpec): number | undefined {
  if (validFor !== undefined) return durationOrNever(validFor);
  return create === undefined ? undefined : DAY_MS;
}
