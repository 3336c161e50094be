/** What `hookpolicy test` found, as text and as JSON. */

import type { FileProblem } from "../../files/load.ts";
import type { Colour } from "../colour.ts";
import { type Compared, fullComparison } from "./expect.ts";
import type { StepResult, SuiteResult, Totals } from "./result.ts";
import { totalsOf } from "./result.ts";
import { table } from "../table.ts";
import { oneLine, traceLines } from "../reporttrace.ts";

export function suitesText(results: readonly SuiteResult[], colour: Colour): string {
  const suites = results.map((result) => suiteText(result, colour));
  return [...suites, totalsLine(totalsOf(results), colour)].map((part) => `${part}\n`).join("\n");
}

function suiteText({ name, file, problems, steps }: SuiteResult, colour: Colour): string {
  const head = `${colour.bold(oneLine(name))}  ${colour.dim(file)}`;
  const broken = problems.map((problem) => `  ${colour.red("ERROR")}  ${problemText(problem)}`);
  const lines = steps
    .filter(({ status }) => status !== "done")
    .flatMap((step) => stepLines(step, file, colour))
    .map((line) => `  ${line}`.trimEnd());
  return [head, ...broken, ...lines].join("\n").trimEnd();
}

/** As wide as each other. */
const LABELS = { passed: "ok   ", failed: "FAIL ", error: "ERROR", skipped: "skip ", done: "" } as const;

function stepLines(step: StepResult, file: string, colour: Colour): string[] {
  const { status, name, problem } = step;
  const paint = status === "passed" ? colour.green : status === "skipped" ? colour.dim : colour.red;
  const head = `${paint(LABELS[status])}  ${oneLine(name)}`;
  if (problem !== undefined) return [head, `       ${problemText(problem)}`];
  if (status !== "failed") return [head];
  return [head, ...failureLines(step, file, colour).map((line) => `       ${line}`), ""];
}

/** Where it failed, what was expected beside what was found, and how that came about. */
export function failureLines(step: StepResult, file: string, colour: Colour): string[] {
  const { call, at, line, decision } = step;
  const what = call === undefined ? "" : `${call.hook} ${call.cluster} at ${at}`;
  const trace = decision === undefined ? [] : ["", ...traceLines(decision, colour)];
  return [colour.dim(`${file}:${line}: ${what}`), ...comparison(step, colour), ...trace];
}

function comparison(step: StepResult, colour: Colour): string[] {
  const rows = shown(step).map(({ field, expected, actual, same }) => [
    same ? `  ${field}` : colour.red(`! ${field}`),
    same ? oneLine(expected) : colour.green(oneLine(expected)),
    same ? oneLine(actual) : colour.red(oneLine(actual)),
  ]);
  return table(["", "EXPECTED", "ACTUAL"], rows).trimEnd().split("\n");
}

/** What was not expected, too, as far as it explains the rest. */
function shown({ compared, decision }: StepResult): readonly Compared[] {
  return decision === undefined ? compared : fullComparison(compared, decision);
}

export function problemText({ file, line, column, message }: FileProblem): string {
  return `${[file, line, column].filter((part) => part !== undefined).join(":")}: ${message}`;
}

export function totalsText({ suites, passed, failed, errors, skipped }: Totals): string {
  const counts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(errors > 0 ? [`${errors} ${errors === 1 ? "error" : "errors"}`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  return `${counts.join(", ")}; ${suites} ${suites === 1 ? "suite" : "suites"}`;
}

function totalsLine(totals: Totals, colour: Colour): string {
  const good = totals.failed + totals.errors === 0;
  return (good ? colour.green : colour.red)(totalsText(totals));
}

/** Its schema: schemas/output/test.json. */
export function suitesJson(results: readonly SuiteResult[]): string {
  return `${JSON.stringify({ totals: totalsOf(results), suites: results }, undefined, 2)}\n`;
}
