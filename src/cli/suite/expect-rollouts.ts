/** Compares the expected statuses of HookRollouts with the actual ones. */

import { namespacedName } from "../../lib/keys.ts";
import { CONDITION, type HookRollout } from "../../api/hook-policy.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { checkRolloutNames, unknownCluster } from "./check-names.ts";
import { type FieldComparison, comparedText, NONE } from "./expect.ts";
import type { RolloutExpectSpec } from "./spec.gen.ts";

export function compareRollout(
  { name, target, stage, halted, running, next, failed }: RolloutExpectSpec,
  { status = {} }: Pick<HookRollout, "status">,
  rollouts: readonly CompiledRollout[],
  clusters: readonly string[],
): FieldComparison[] {
  checkRolloutNames({ rollout: name, stage }, rollouts);
  for (const [field, names] of Object.entries({ running, next, failed })) {
    const missing = names?.find((each) => !clusters.includes(each));
    if (missing !== undefined) throw unknownCluster(missing, clusters, field);
  }
  const isHalted = status.conditions?.some(
    (each) => each.type === CONDITION.Halted && each.status === "True",
  );
  const rows = [
    ["target", target, status.target],
    ["stage", stage, status.stage],
    ["halted", halted?.toString(), String(isHalted === true)],
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
