/** Compares the expected statuses of HookRollouts with the actual ones. */

import { conditionOf } from "../../api/meta.ts";
import { namespacedName } from "../../lib/keys.ts";
import { CONDITION } from "../../api/hook-policy.ts";
import type { SuiteWorld } from "./begin.ts";
import { checkNames, clusterNamed } from "./check-names.ts";
import { type FieldComparison, comparedText, NONE } from "./expect.ts";
import type { RolloutExpectSpec } from "./spec.gen.ts";

export function compareRollout(
  { name, target, stage, halted, running, next, failed }: RolloutExpectSpec,
  { session: { objects }, rollouts }: Pick<SuiteWorld, "session" | "rollouts">,
): FieldComparison[] {
  const { status = {} } = rollouts.all().find(({ metadata }) => metadata.name === name) ?? {};
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
  return rows.flatMap(([field, expected, actual]) =>
    comparedText(`rollout ${name} ${field}`, expected, actual),
  );
}

function namesOf(
  clusters: readonly { readonly namespace: string; readonly name: string }[] = [],
): readonly string[] {
  return clusters.map(namespacedName);
}

function listed(names: readonly string[] | undefined): string | undefined {
  return names?.length === 0 ? NONE : names?.join(", ");
}
