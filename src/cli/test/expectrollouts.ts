/** Compares the expected statuses of HookRollouts with the actual ones. */

import { CONDITION, type HookRollout, type HookRolloutStatus } from "../../api/hookpolicy.ts";
import { didYouMean } from "../../policy/validation/fieldmessage.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { checkRolloutNames } from "./checknames.ts";
import { type Compared, comparedText, NONE } from "./expect.ts";
import type { RolloutExpectSpec } from "./spec.ts";
import { SuiteError } from "./suiteerror.ts";

export function compareRollout(
  expect: RolloutExpectSpec,
  { status }: Pick<HookRollout, "status">,
  {
    rollouts,
    clusters,
  }: { readonly rollouts: readonly CompiledRollout[]; readonly clusters: readonly string[] },
): Compared[] {
  const { name, stage, running, next, failed } = expect;
  checkRolloutNames({ rollout: name, stage }, rollouts);
  for (const [field, names = []] of Object.entries({ running, next, failed }))
    checkClusters(field, names, clusters);
  const expected = textsOf(expect);
  const actual = textsOf(shownBy(status ?? {}));
  return FIELDS.flatMap((field) => comparedText(`rollout ${name} ${field}`, expected[field], actual[field]));
}

const FIELDS = ["target", "stage", "halted", "running", "next", "failed"] as const;
type Field = (typeof FIELDS)[number];
type Shown = { readonly [F in Field]?: RolloutExpectSpec[F] | undefined };

function textsOf({ target, stage, halted, running, next, failed }: Shown): Record<Field, string | undefined> {
  return {
    target,
    stage,
    halted: halted?.toString(),
    running: running && listed(running.toSorted()),
    next: next && listed(next),
    failed: failed && listed(failed.toSorted()),
  };
}

function shownBy(status: Partial<HookRolloutStatus>): Shown {
  const { target, stage, conditions = [], running, next, failed } = status;
  return {
    target,
    stage,
    halted: conditions.some((each) => each.type === CONDITION.Halted && each.status === "True"),
    running: namesOf(running),
    next: namesOf(next),
    failed: namesOf(failed),
  };
}

function checkClusters(field: string, names: readonly string[], clusters: readonly string[]): void {
  const missing = names.find((name) => !clusters.includes(name));
  if (missing === undefined) return;
  const hint = didYouMean(missing, clusters);
  throw new SuiteError(`there is no Cluster ${missing}${hint}`, field);
}

function namesOf(
  clusters: readonly { readonly namespace: string; readonly name: string }[] = [],
): readonly string[] {
  return clusters.map(({ namespace, name }) => `${namespace}/${name}`);
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? NONE : names.join(", ");
}
