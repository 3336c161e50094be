/** Compares what a step expects of tasks with their HookTasks. */

import type { HookTask } from "../../api/hook-policy.ts";
import { isFields, listOf } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import { lastAttempt } from "../../tasks/task-progress.ts";
import { nextAttemptOf } from "../../tasks/next-step.ts";
import type { SuiteWorld } from "./begin.ts";
import { checkNames, clusterNamed } from "./check-names.ts";
import { comparedText, type FieldComparison, NONE } from "./expect.ts";
import type { TaskExpectSpec } from "./spec.gen.ts";
import { SuiteError } from "./suite-error.ts";

export function compareTask(expect: TaskExpectSpec, { session, tasks }: SuiteWorld): FieldComparison[] {
  const { name, cluster, phase, attempts, object } = expect;
  const { fleet } = session.objects;
  checkNames({ task: name }, fleet);
  if (cluster !== undefined) clusterNamed(cluster, fleet, "cluster");
  const named = tasks.all().filter(({ spec }) => spec.task === name);
  const found = named.filter((task) => cluster === undefined || ownerOf(task) === cluster);
  const owners = new Set(found.map(ownerOf));
  if (owners.size > 1) throw new SuiteError(`${[...owners].join(" and ")} have it: say which`, "cluster");
  // The latest counts: another run, or the same task for another operation.
  const task = found.at(-1);
  const { phase: actual, begun } = stateOf(task);
  const field = (of: string): string => `tasks.${name}.${of}`;
  return [
    ...comparedText(field("phase"), phase, actual),
    ...comparedText(field("attempts"), attempts?.toString(), String(begun)),
    ...(object === undefined ? [] : compareFields(field("object"), object, task && shownObject(task, tasks))),
  ];
}

function ownerOf({ spec }: HookTask): string {
  return namespacedName(spec.clusterRef);
}

function stateOf(task: HookTask | undefined): { readonly phase: string; readonly begun: number } {
  if (task === undefined) return { phase: "None", begun: 0 };
  const { phase = "Pending", begun = 0 } = task.status ?? {};
  return { phase: nextAttemptOf(task) === undefined ? phase : "Retrying", begun };
}

function shownObject(task: HookTask, tasks: SuiteWorld["tasks"]): unknown {
  const { create, apply, delete: deletion } = task.spec.action;
  const isMade = lastAttempt(task.status) !== undefined && deletion === undefined;
  return (isMade ? tasks.objectOf(task) : undefined) ?? create ?? apply ?? deletion;
}

/** One comparison for each expected value; fields that are not expected may be anything. */
function compareFields(field: string, expected: unknown, actual: unknown): FieldComparison[] {
  if (isFields(expected) && (isFields(actual) || Object.keys(expected).length > 0))
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
