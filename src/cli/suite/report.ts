/** Prints the results of `hookpolicy test` as text, Markdown and JSON. */

import { counted } from "../../lib/counted.ts";
import type { FileProblem } from "../files/parsed.ts";
import { type Colour, PLAIN } from "../terminal/colour.ts";
import { markdownReport } from "../terminal/markdown.ts";
import { fullComparison } from "./expect.ts";
import { callText, casesOf, type StepResult, type SuiteResult, type Totals, totalsOf } from "./result.ts";
import { tableLines } from "../terminal/table.ts";
import { paragraphs } from "../terminal/tree.ts";
import { type Fields, isFields } from "../../lib/fields.ts";
import { NAMESPACE_UNKNOWN } from "../../policy/policy.ts";
import { afterWords, type Decision, type RuleTrace } from "../../policy/decision.ts";
import { timestamp } from "../../lib/instant.ts";
import { isDone } from "../../policy/tasks/judge-tasks.ts";
import { policyName } from "../../policy/policy-ref.ts";

export function suitesLines(results: readonly SuiteResult[], colour: Colour): string[] {
  const suites = results.map((result) => suiteLines(result, colour));
  const totals = totalsOf(results);
  return paragraphs([...suites, [(isGood(totals) ? colour.green : colour.red)(totalsText(totals))]]);
}

function suiteLines(result: SuiteResult, colour: Colour): string[] {
  const { name, file, problems, unreadable } = result;
  const head = unreadable === true ? colour.dim(file) : `${colour.bold(name)}  ${colour.dim(file)}`;
  const broken = problems.map((problem) => `  ${colour.red("ERROR")}  ${problemText(problem)}`);
  const lines = casesOf(result).flatMap((step) => stepLines(step, file, colour));
  return [head, ...broken, ...lines.map((line) => `  ${line}`.trimEnd())];
}

/** All labels have the same width. */
const LABELS = { passed: "ok   ", failed: "FAIL ", error: "ERROR", skipped: "skip ", done: "" } as const;

function stepLines(step: StepResult, file: string, colour: Colour): string[] {
  const { status, name, problem } = step;
  const paint = status === "passed" ? colour.green : status === "skipped" ? colour.dim : colour.red;
  const head = `${paint(LABELS[status])}  ${name}`;
  if (problem !== undefined) return [head, `       ${problemText(problem)}`];
  if (status !== "failed") return [head];
  return [head, ...failureLines(step, file, colour).map((line) => `       ${line}`)];
}

/** Where a step failed, expected and actual values, and the trace. */
export function failureLines(step: StepResult, file: string, colour: Colour): string[] {
  const { call, at, line, decision } = step;
  const what = call === undefined ? "" : `${callText(call)} at ${at}`;
  const trace = decision === undefined ? [] : ["", ...traceLines(decision, colour)];
  return [
    colour.dim(`${file}:${line}: ${what}`),
    ...comparison(step, colour),
    ...trace,
    ...unlistedNamespace(step, colour),
  ];
}

function unlistedNamespace({ call, decision }: StepResult, colour: Colour): string[] {
  const rules = decision?.trace.flatMap((policy) => policy.rules) ?? [];
  const reasons = rules.flatMap(({ reason, gates }) => [reason, ...gates.map((gate) => gate.reason)]);
  if (call === undefined || !reasons.includes(NAMESPACE_UNKNOWN)) return [];
  const [namespace] = call.cluster.split("/");
  return [`${colour.cyan("help:")} add the Namespace ${namespace}, with its labels, to spec.namespaces`];
}

function comparison(step: StepResult, colour: Colour): string[] {
  const { compared, decision } = step;
  // The fields without an expectation explain the others.
  const fields = decision === undefined ? compared : fullComparison(compared, { ...step, decision });
  const rows = fields.map(({ field, expected, actual, same }) => [
    same ? `  ${field}` : colour.red(`! ${field}`),
    same ? expected : colour.green(expected),
    same ? actual : colour.red(actual),
  ]);
  return tableLines(["", "EXPECTED", "ACTUAL"], rows);
}

export function problemText({ file, line, column, message }: FileProblem): string {
  return `${[file, line, column].filter((part) => part !== undefined).join(":")}: ${message}`;
}

function totalsText({ suites, passed, failed, errors, skipped }: Totals): string {
  const counts = [
    `${passed} passed`,
    failed > 0 && `${failed} failed`,
    errors > 0 && counted(errors, "error"),
    skipped > 0 && `${skipped} skipped`,
  ].filter((text) => text !== false);
  return `${counts.join(", ")}; ${counted(suites, "suite")}`;
}

function isGood({ failed, errors }: Totals): boolean {
  return failed + errors === 0;
}

/** Suites that have passed come last, because a comment may not be long enough for all. */
export function suitesMarkdown(results: readonly SuiteResult[]): string {
  const totals = totalsOf(results);
  const ranked = results.toSorted((a, b) => Number(a.status === "passed") - Number(b.status === "passed"));
  return markdownReport(`HookPolicy tests: ${isGood(totals) ? "passed" : "failed"}`, [
    [totalsText(totals)],
    ...ranked.map((result) => suiteLines(result, PLAIN)),
  ]);
}

/** Schema: schemas/output/test.json. */
export function suitesJson(results: readonly SuiteResult[]): string {
  const report = { totals: totalsOf(results), suites: results };
  return `${JSON.stringify(report, asShown, 2)}\n`;
}

/** What other fields show or no user needs; and times, without which the same suites give the same text. */
const HIDDEN: ReadonlySet<string> = new Set([
  "seconds",
  "waitsForTasks",
  "tasksDue",
  "overriddenRollouts",
  "unread",
  "said",
  "answer",
  "run",
  "hindered",
  "found",
  "look",
  "wantedInFull",
  "isSearchEnd",
]);

function asShown(key: string, value: unknown): unknown {
  if (HIDDEN.has(key)) return undefined;
  if (!isFields(value)) return value;
  if (Object.hasOwn(value, "met")) return gateShown(value);
  const { said, message } = value;
  if (typeof said !== "string" || typeof message !== "string") return value;
  return { ...value, message: afterWords({ said }, message) };
}

/** The JSON says `holds` of a gate that is met, as it does of rules. */
function gateShown({ gate, met, wantedInFull, ...rest }: Fields): Fields {
  return { gate, holds: met, ...rest, ...(typeof wantedInFull === "string" && { wanted: wantedInFull }) };
}

/** A decision: every policy that applies to the Cluster, its rules and their gates. */
function traceLines({ trace }: Decision, colour: Colour): string[] {
  const matched = trace.filter((policy) => policy.matched);
  if (matched.length === 0) return ["no policy matches the Cluster"];
  return matched.flatMap(({ policy, mode, verdict, overriddenBy, rules }) => [
    listed(`${policyName(policy)}: ${verdict}`, [
      mode === "Audit" && "mode Audit",
      overriddenBy !== undefined && `overridden by ${overriddenBy}`,
      rules.length === 0 && "no rule on this hook",
    ]),
    ...rules.flatMap((rule) => ruleLines(rule, colour)).map((line) => `  ${line}`),
  ]);
}

function ruleLines(trace: RuleTrace, colour: Colour): string[] {
  const { rule, verdict, reason, gates, tasks = [], deadlineAt } = trace;
  return [
    listed(`rule ${rule}: ${verdict} (${reason})`, [deadlineAt && `deadline ${timestamp(deadlineAt)}`]),
    ...gates.map(({ gate, met, wanted, wantedInFull = wanted, observed }) => {
      const state = met === undefined ? "unknown" : met ? "is met" : "waits";
      const paint = met === true ? colour.green : colour.red;
      return `  gate ${gate} ${paint(state)}: ${wantedInFull}; ${observed}`;
    }),
    ...tasks.map((task) => {
      const { state, message, observed = message, nextAttempt: next } = task;
      const paint = isDone(task) ? colour.green : colour.red;
      return listed(`  task ${task.task}: ${paint(state)}`, [
        next && `attempt ${next.number} of ${next.of} not before ${timestamp(next.at)}`,
        observed,
      ]);
    }),
  ];
}

function listed(head: string, notes: readonly (string | false | undefined)[]): string {
  return [head, ...notes.filter(Boolean)].join(", ");
}
