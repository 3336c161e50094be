/** Compares what a step expects of tasks with their HookTasks. */

import type { HookTask } from "../../api/hook-policy.ts";
import { isFields, listOf } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { CompiledPolicy } from "../../policy/policy.ts";
import { lastAttempt } from "../../tasks/task-progress.ts";
import { nextAttemptOf } from "../../tasks/next-step.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { checkNames, unknownCluster } from "./check-names.ts";
import { comparedText, type FieldComparison, NONE } from "./expect.ts";
import type { TaskExpectSpec } from "./spec.gen.ts";
import { SuiteError } from "./suite-error.ts";

export interface KnownTasks {
  readonly policies: readonly CompiledPolicy[];
  readonly clusters: readonly string[];
  readonly tasks: readonly HookTask[];
  /** The object of the HookTask's last attempt. */
  readonly objectOf: (task: HookTask) => RawObject | undefined;
}

export function compareTask(
  expect: TaskExpectSpec,
  { policies, clusters, tasks, objectOf }: KnownTasks,
): FieldComparison[] {
  const { name, cluster, phase, attempts, object } = expect;
  checkNames({ task: name }, policies, "name");
  if (cluster !== undefined && !clusters.includes(cluster))
    throw unknownCluster(cluster, clusters, "cluster");
  const found = tasks.filter(({ spec }) => spec.task === name && isOf(spec, cluster));
  const owners = new Set(found.map(({ spec }) => namespacedName(spec.clusterRef)));
  if (owners.size > 1) throw new SuiteError(`${[...owners].join(" and ")} have it: say which`, "cluster");
  // The latest counts: another run, or the same task for another operation.
  const task = found.at(-1);
  const { phase: actual, begun } = stateOf(task);
  const field = (of: string): string => `tasks.${name}.${of}`;
  return [
    ...comparedText(field("phase"), phase, actual),
    ...comparedText(field("attempts"), attempts?.toString(), String(begun)),
    ...(object === undefined
      ? []
      : compareFields(field("object"), object, task && shownObject(task, objectOf))),
  ];
}

function isOf({ clusterRef }: HookTask["spec"], cluster: string | undefined): boolean {
  return cluster === undefined || namespacedName(clusterRef) === cluster;
}

function stateOf(task: HookTask | undefined): { readonly phase: string; readonly begun: number } {
  if (task === undefined) return { phase: "None", begun: 0 };
  const { phase = "Pending", begun = 0 } = task.status ?? {};
  return { phase: nextAttemptOf(task) === undefined ? phase : "Retrying", begun };
}

function shownObject(task: HookTask, objectOf: KnownTasks["objectOf"]): unknown {
  const { create, apply, delete: deletion } = task.spec.action;
  const isMade = lastAttempt(task.status) !== undefined && deletion === undefined;
  return (isMade ? objectOf(task) : undefined) ?? create ?? apply ?? deletion;
}

/** One comparison for each expected value; fields that are not expected may be anything. */
function compareFields(field: string, expected: unknown, actual: unknown): FieldComparison[] {
  if (isFields(expected))
    return Object.entries(expected).flatMap(([name, value]) =>
      compareFields(`${field}.${name}`, value, isFields(actual) ? actual[name] : undefined),
    );
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length)
    return listOf(expected).flatMap((value, index) =>
      compareFields(`${field}[${index}]`, value, listOf(actual)[index]),
    );
  return comparedText(field, textOf(expected), textOf(actual));
}

function textOf(value: unknown): string {
  if (value === undefined) return NONE;
  return typeof value === "string" ? value : JSON.stringify(value);
}
