/** Prints a validation as text, with the lines around each finding, and as JSON. */

import type { Terminal } from "../terminal/terminal.ts";
import { firstNames } from "../../lib/first-names.ts";
import { counted } from "../../lib/counted.ts";
import type { LoadedFiles } from "../files/load.ts";
import type { FileProblem } from "../files/parsed.ts";
import type { Position } from "../../policy/cel/syntax.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { type Colour, PLAIN } from "../terminal/colour.ts";
import { paragraphs } from "../terminal/tree.ts";
import type { ValidationFinding, Validation } from "./validation.ts";
import { printable } from "../../lib/printable.ts";

export interface ValidationReport
  extends Validation, Required<Omit<LoadedFiles, "objects" | "kustomizations">> {}

export function validationLines(report: ValidationReport, terminal: Terminal): string[] {
  const problems = report.problems.map((problem) => inFileLines("error", problem, terminal));
  const findings = report.findings.map((finding) => findingLines(finding, terminal));
  return paragraphs([...problems, ...findings, [summary(report, terminal.colour)]]);
}

/** The files that could not be read at all, for stderr. */
export function unreadLines({ problems }: ValidationReport, colour: Colour): string[] {
  return problems
    .filter(({ line }) => line === undefined)
    .map(({ file, message }) => headline(file === "-" ? "standard input" : file, "error", message, colour));
}

function inFileLines(
  severity: ValidationFinding["severity"],
  { file, line, column = 1, message, lines }: FileProblem,
  { colour, columns }: Terminal,
): string[] {
  if (line === undefined) return [];
  const frame = codeFrame(lines?.() ?? [], { line, column }, colour, columns);
  return [headline(`${file}:${line}:${column}`, severity, message, colour), ...frame];
}

/** The format of compiler errors, which editors and `grep` understand. */
function headline(
  place: string,
  severity: ValidationFinding["severity"],
  what: string,
  colour: Colour,
): string {
  const label = severity === "error" ? colour.red("error:") : colour.yellow("warning:");
  return `${colour.bold(`${place}:`)} ${label} ${what}`;
}

function findingLines(finding: ValidationFinding, terminal: Terminal): string[] {
  const { source, severity, line, column, suggestion } = finding;
  const { file, lines } = source;
  const help = suggestion === undefined ? [] : [`  ${terminal.colour.cyan("help:")} ${suggestion}`];
  const problem = { file, line, column, message: findingText(finding), lines };
  return [...inFileLines(severity, problem, terminal), ...help];
}

/** "spec.rules[0].until: holds for ever [id-of-a-warning]" */
export function findingText({ id, path, message }: ValidationFinding): string {
  const named = id === undefined ? message : `${message} [${id}]`;
  return path === "" ? named : `${path}: ${named}`;
}

function summary(report: ValidationReport, colour: Colour): string {
  const { findings, checked, suites, others, ignored, skipped, problems } = report;
  const { templatesWithoutSchema = 0 } = report;
  const kinds = Object.entries(checked).filter(([, count]) => count > 0);
  const what = kinds.map(([kind, count]) => counted(count, kind)).join(", ") || "no policies";
  const errors = countOf(findings, "error");
  const warnings = countOf(findings, "warning");
  // A file that cannot be parsed has an error, as a wrong field is one.
  const all = errors + problems.length;
  const parts = [
    all === 0 ? colour.green("no errors") : colour.red(counted(all, "error")),
    warnings > 0 && colour.yellow(counted(warnings, "warning")),
  ];
  const left = [
    templatesWithoutSchema > 0 && `${counted(templatesWithoutSchema, "template")} without a schema`,
    suites > 0 && `${counted(suites, "suite")} left to \`hookpolicy test\``,
    others > 0 && `${counted(others, "object")} of other kinds ignored`,
    ignored > 0 && `${counted(ignored, "document")} without a Kubernetes object ignored`,
    skipped.length > 0 &&
      `${counted(skipped.length, "file")} skipped (no YAML or JSON of Kubernetes, no mention of HookPolicy): ${firstNames(skipped, 3)}`,
  ];
  return told([`${what}: ${told(parts, ", ")}`, ...left], "; ");
}

function told(parts: readonly (string | false)[], separator: string): string {
  return parts.filter((part) => part !== false).join(separator);
}

function countOf(findings: readonly ValidationFinding[], severity: ValidationFinding["severity"]): number {
  return findings.filter((finding) => finding.severity === severity).length;
}

/** Schema: schemas/output/validate.json. */
export function validationJson(report: ValidationReport): object {
  const { findings, problems, checked, suites, others, ignored, skipped, templatesWithoutSchema } = report;
  const valid = problems.length === 0 && countOf(findings, "error") === 0;
  return {
    valid,
    findings: findings.map(jsonFinding),
    problems,
    checked,
    suites,
    others,
    ignored,
    skipped,
    ...(templatesWithoutSchema !== undefined && { templatesWithoutSchema }),
  };
}

function jsonFinding({ source: { file, object }, ...finding }: ValidationFinding): object {
  const { name, namespace } = viewMetadata(object["metadata"]);
  const { kind } = object;
  return { ...finding, file, object: { kind, ...(namespace !== undefined && { namespace }), name } };
}

const AROUND = 1;
/** Limits the width of a frame, because generated files can have very long lines. */
const MAX_COLUMNS = 160;

/** Cuts lines at `columns`, the width of the terminal, because a wrapped line would misplace the marker; "…" says so. */
export function codeFrame(
  lines: readonly string[],
  { line, column }: Position,
  colour: Colour = PLAIN,
  columns = MAX_COLUMNS,
): string[] {
  const first = Math.max(1, line - AROUND);
  const last = Math.min(lines.length, line + AROUND);
  const gutter = String(last).length;
  const width = Math.max(20, Math.min(columns, MAX_COLUMNS) - gutter - "> | ".length - 1);
  const [at, half] = [column - 1, Math.floor(width / 2)];
  return lines.slice(first - 1, last).flatMap((whole, index) => {
    const number = first + index;
    const all = visible(whole.slice(at < width ? 0 : at - half, at));
    const isCut = all.length >= width || (at >= width && whole !== "");
    const before = isCut ? ["…", ...all.slice(1 - half)] : all;
    const row = [...before, ...visible(whole.slice(at, at + width + 1))];
    const text = (row.length > width ? [...row.slice(0, width - 1), "…"] : row).join("");
    const label = colour.dim(`${String(number).padStart(gutter)} |`);
    if (number !== line) return [`  ${label} ${text}`.trimEnd()];
    const mark = `${" ".repeat(before.length)}${colour.red("^")}`;
    return [
      `${colour.red(">")} ${label} ${text}`.trimEnd(),
      `  ${" ".repeat(gutter)} ${colour.dim("|")} ${mark}`,
    ];
  });
}

/** The characters that are shown. A tab counts as one column in a position, so it is shown as one. */
function visible(part: string): string[] {
  return Array.from(printable(part.replaceAll("\t", " ")));
}
