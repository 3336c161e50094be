/** Compares what a step expects of HookRollouts with their statuses. */

import { CONDITION, type HookRollout } from "../../api/hookpolicy.ts";
import { nearest } from "../../policy/validation/fieldmessage.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { checkRolloutNames } from "./checknames.ts";
import { type Compared, NONE } from "./expect.ts";
import type { RolloutExpectSpec } from "./spec.ts";
import { SuiteError } from "./suiteerror.ts";

export interface KnownRollouts {
  readonly rollouts: readonly CompiledRollout[];
  /** "namespace/name" of every Cluster. */
  readonly clusters: readonly string[];
}

export function compareRollout(
  expect: RolloutExpectSpec,
  { status }: Pick<HookRollout, "status">,
  { rollouts, clusters }: KnownRollouts,
): Compared[] {
  const { name, target, stage, halted, running, next, failed } = expect;
  checkRolloutNames({ rollout: name, stage }, rollouts);
  for (const [field, names = []] of Object.entries({ running, next, failed }))
    checkClusters(field, names, clusters);
  const isHalted = status?.conditions?.some(
    ({ type, status: is }) => type === CONDITION.Halted && is === "True",
  );
  const rows: readonly [string, string | undefined, string | undefined][] = [
    ["target", target, status?.target],
    ["stage", stage, status?.stage],
    ["halted", halted?.toString(), String(isHalted === true)],
    ["running", running && sorted(running), sorted(namesOf(status?.running))],
    ["next", next && listed(next), listed(namesOf(status?.next))],
    ["failed", failed && sorted(failed), sorted(namesOf(status?.failed))],
  ];
  return rows.flatMap(([field, expected, actual = NONE]) =>
    expected === undefined
      ? []
      : [{ field: `rollout ${name} ${field}`, expected, actual, same: expected === actual }],
  );
}

function checkClusters(field: string, names: readonly string[], clusters: readonly string[]): void {
  const missing = names.find((name) => !clusters.includes(name));
  if (missing === undefined) return;
  const meant = nearest(missing, clusters);
  const hint = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
  throw new SuiteError(`there is no Cluster ${missing}${hint}`, field);
}

function namesOf(
  clusters: readonly { readonly namespace: string; readonly name: string }[] = [],
): readonly string[] {
  return clusters.map(({ namespace, name }) => `${namespace}/${name}`);
}

function sorted(names: readonly string[]): string {
  return listed(names.toSorted());
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? NONE : names.join(", ");
}
