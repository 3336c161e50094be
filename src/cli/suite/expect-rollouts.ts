/** Compares the expected statuses of HookRollouts with the actual ones. */

import { namespacedName } from "../../lib/keys.ts";
import { CONDITION, type HookRolloutStatus, type RolloutFailure } from "../../api/hook-policy.ts";
import { timestamp } from "../../lib/instant.ts";
import { conditionOf } from "../fleet/kinds.ts";
import type { SuiteWorld } from "./begin.ts";
import { checkNames, clusterNamed } from "./check-names.ts";
import { type FieldComparison, comparedText, NONE } from "./expect.ts";
import type { OperationBegin } from "./session.ts";
import type { RolloutExpectSpec } from "./spec.gen.ts";

export function compareRollout(
  { name, target, stage, halted, running, next, failed }: RolloutExpectSpec,
  { session: { objects, begun }, rollouts }: Pick<SuiteWorld, "session" | "rollouts">,
): FieldComparison[] {
  const { status = {} } = rollouts.get(name) ?? {};
  checkNames({ rollout: name, stage }, objects.fleet);
  for (const [field, names] of Object.entries({ running, next, failed }))
    for (const each of names ?? []) clusterNamed(each, objects.fleet, field);
  const isHalted = conditionOf({ status }, CONDITION.Halted)?.status === "True";
  const rows = [
    ["target", target, status.target],
    ["stage", stage, status.stage],
    ["halted", halted?.toString(), String(isHalted)],
    ["running", listed(running?.toSorted()), listed(namesOf(status.running).toSorted())],
    ["next", listed(next), listed(namesOf(status.next))],
    ["failed", listed(failed?.toSorted()), listed(namesOf(status.failed).toSorted())],
  ] as const;
  const told = new Map<string, string>([
    ["running", runningText(status, running, begun)],
    ["failed", listed(status.failed?.map((each) => withFailure(each, begun))) ?? NONE],
  ]);
  return rows
    .flatMap(([field, expected, actual]) =>
      comparedText(field, expected, actual).map((each) =>
        each.same ? each : { ...each, actual: told.get(field) ?? each.actual },
      ),
    )
    .map((each) => ({ ...each, field: `rollout ${name} ${each.field}` }));
}

/** What runs, and why those do not that should. */
function runningText(
  { running, failed = [] }: HookRolloutStatus,
  expected: readonly string[] | undefined,
  begun: ReadonlyMap<string, OperationBegin>,
): string {
  const runs = listed(namesOf(running).map((each) => withBegin(each, begun))) ?? NONE;
  const ended = failed.filter((each) => expected?.includes(namespacedName(each)));
  return [runs, ...ended.map((each) => withFailure(each, begun))].join("; ");
}

/** No step says when an operation began that had waited for a slot, a stage or a window. */
function withBegin(name: string, begun: ReadonlyMap<string, OperationBegin>): string {
  const { at, byItself } = begun.get(name) ?? {};
  return at !== undefined && byItself === true ? `${name} (began by itself at ${timestamp(at)})` : name;
}

function withFailure(failure: RolloutFailure, begun: ReadonlyMap<string, OperationBegin>): string {
  const { time, message } = failure;
  return `${withBegin(namespacedName(failure), begun)}, failed at ${time}: ${message}`;
}

function namesOf(
  clusters: readonly { readonly namespace: string; readonly name: string }[] = [],
): readonly string[] {
  return clusters.map(namespacedName);
}

function listed(names: readonly string[] | undefined): string | undefined {
  return names?.length === 0 ? NONE : names?.join(", ");
}
