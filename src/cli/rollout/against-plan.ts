/** Compares a plan that was made earlier with what has happened since. */

import type { HookRollout, RolloutStageStatus } from "../../api/hook-policy.ts";
import { fieldsOf, isFields, parseJson, textOf } from "../../lib/fields.ts";
import { readTimestamp, timestamp } from "../../lib/instant.ts";
import { readText } from "../files/paths.ts";
import { CommandError, USAGE } from "../command.ts";
import { wrapped } from "../terminal/tree.ts";
import { indentedTable, type RolloutView } from "./status-report.ts";

/** What is read of a plan as plan -o json has printed it. Schema: schemas/output/rolloutplan.json. */
interface SavedPlan {
  readonly rollout: string;
  readonly target?: string;
  readonly from: string;
  readonly stages: readonly {
    readonly name: string;
    readonly succeeded: number;
    readonly passed: boolean;
    readonly passes?: string;
  }[];
  readonly clusters: readonly {
    readonly stage: string;
    readonly ends: string;
    readonly staysBehind?: boolean;
  }[];
}

export async function readPlan(path: string): Promise<SavedPlan> {
  const read = await readText({ name: path, named: true }, {});
  if (!read.ok) throw new CommandError(USAGE, `${path}: ${read.message}`);
  const plan = parseJson(read.text);
  if (isPlan(plan)) return plan;
  throw new CommandError(USAGE, `${path}: is no plan: save one with 'hookpolicy rollout plan -o json'`);
}

function isPlan(value: unknown): value is SavedPlan {
  const { rollout, from, stages, clusters } = fieldsOf(value);
  const isDated = readTimestamp(textOf(from)) !== undefined;
  const areLists = [stages, clusters].every((list) => Array.isArray(list) && list.every(isFields));
  return typeof rollout === "string" && isDated && areLists;
}

export function againstPlan({ status }: HookRollout, plan: SavedPlan, view: RolloutView): string[] {
  const { now } = view;
  const targets = status?.targets ?? [];
  const target =
    plan.target === undefined ? targets[0] : targets.find(({ version }) => version === plan.target);
  if (plan.target !== undefined && target === undefined) {
    const text = `The plan of ${plan.from} is to ${plan.target}, of which the status has nothing: no Cluster asks for it, or newer versions have taken its place.`;
    return wrapped(text, view.columns, "  ");
  }
  const rows = plan.stages.map(({ name, succeeded, passed, passes: planned }) => {
    const found = target?.stages.find((stage) => stage.name === name);
    const ended = plan.clusters.filter(
      ({ stage, ends, staysBehind = false }) =>
        stage === name && Date.parse(ends) <= now.getTime() && !staysBehind,
    );
    const expected = succeeded + ended.length;
    const passes = readTimestamp(planned);
    return [
      name,
      String(expected),
      String(found?.succeeded ?? 0),
      passed ? "before" : passes === undefined ? "unknown" : timestamp(passes),
      comparison(found, { passes, expected, now }),
    ];
  });
  const version = target?.version === undefined ? "" : ` to ${target.version}`;
  const title = `Plan of ${plan.from}, against what has happened${version}:`;
  const headings = ["STAGE", "PLANNED BY NOW", "SUCCEEDED", "PLANNED TO PASS", ""];
  return [
    ...wrapped(title, view.columns, "  "),
    ...indentedTable(headings, rows, { ...view, lastWraps: true }),
  ];
}

function comparison(
  found: RolloutStageStatus | undefined,
  {
    passes,
    expected,
    now,
  }: { readonly passes: Date | undefined; readonly expected: number; readonly now: Date },
): string {
  if (found === undefined) return "the status does not know this stage";
  if (found.passed) return "passed";
  if (found.closed === true) return "closed again";
  if (passes !== undefined && passes <= now) return "late: it has not passed";
  const missing = expected - found.succeeded;
  return missing > 0 ? `behind by ${missing}` : "as planned";
}
