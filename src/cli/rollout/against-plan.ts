/** Compares a plan that was made earlier with what has happened since. */

import type { HookRollout, RolloutStageStatus } from "../../api/hook-policy.ts";
import { fieldsOf, listOf, parseJson, textOf } from "../../lib/fields.ts";
import { readTimestamp, timestamp } from "../../lib/instant.ts";
import { readText } from "../files/paths.ts";
import { CommandError, USAGE } from "../command.ts";
import { tableLines } from "../terminal/table.ts";

export interface EarlierPlan {
  readonly rollout: string;
  readonly target: string | undefined;
  readonly from: Date;
  readonly stages: readonly EarlierStage[];
}

interface EarlierStage {
  readonly name: string;
  readonly succeeded: number;
  readonly passed: boolean;
  readonly passes: Date | undefined;
  readonly ends: readonly Date[];
}

export async function readPlan(path: string): Promise<EarlierPlan> {
  const plan = planIn(await textIn(path));
  if (plan === undefined)
    throw new CommandError(USAGE, `${path}: is no plan: save one with 'hookpolicy rollout plan -o json'`);
  return plan;
}

async function textIn(path: string): Promise<string> {
  const read = await readText({ name: path, named: true }, {});
  if (read.ok) return read.text;
  throw new CommandError(USAGE, `${path}: ${read.message}`);
}

function planIn(text: string): EarlierPlan | undefined {
  const { rollout, target, from, stages, clusters } = fieldsOf(parseJson(text));
  const made = instantOf(from);
  if (typeof rollout !== "string" || made === undefined || !Array.isArray(stages)) return undefined;
  const planned = listOf(clusters).map(fieldsOf);
  return {
    rollout,
    target: typeof target === "string" ? target : undefined,
    from: made,
    stages: listOf(stages)
      .map(fieldsOf)
      .map(({ name, succeeded, passed, passes }) => ({
        name: textOf(name),
        succeeded: typeof succeeded === "number" ? succeeded : 0,
        passed: passed === true,
        passes: instantOf(passes),
        ends: planned.filter(({ stage }) => stage === name).flatMap(({ ends }) => instantOf(ends) ?? []),
      })),
  };
}

function instantOf(value: unknown): Date | undefined {
  return typeof value === "string" ? readTimestamp(value) : undefined;
}

export function againstPlan({ status }: HookRollout, plan: EarlierPlan, now: Date): string[] {
  const targets = status?.targets ?? [];
  const target = targets.find(({ version }) => version === plan.target) ?? targets[0];
  const rows = plan.stages.map((stage) => {
    const found = target?.stages.find(({ name }) => name === stage.name);
    const expected = stage.succeeded + stage.ends.filter((end) => end <= now).length;
    return [
      stage.name,
      String(expected),
      String(found?.succeeded ?? 0),
      stage.passed ? "before" : stage.passes === undefined ? "unknown" : timestamp(stage.passes),
      comparison(stage, found, expected, now),
    ];
  });
  const version = target?.version === undefined ? "" : ` to ${target.version}`;
  return [
    `Plan of ${timestamp(plan.from)}, against what has happened${version}:`,
    ...tableLines(["STAGE", "PLANNED BY NOW", "SUCCEEDED", "PLANNED TO PASS", ""], rows).map(
      (line) => `  ${line}`,
    ),
  ];
}

function comparison(
  { passes }: EarlierStage,
  found: RolloutStageStatus | undefined,
  expected: number,
  now: Date,
): string {
  if (found === undefined) return "the status does not know this stage";
  if (found.passed) return "passed";
  if (passes !== undefined && passes <= now) return "late: it has not passed";
  const missing = expected - found.succeeded;
  return missing > 0 ? `behind by ${missing}` : "as planned";
}
