/** JUnit XML as GitLab, Jenkins and GitHub Actions read it. */

import { printable } from "../../lib/printable.ts";
import { PLAIN } from "../terminal/colour.ts";
import { escapeXml } from "../terminal/xml.ts";
import type { FileProblem } from "../files/parsed.ts";
import { failureLines, problemText } from "./report.ts";
import { casesOf, type StepResult, type SuiteResult, totalsOf } from "./result.ts";

export function suitesJunit(results: readonly SuiteResult[]): string {
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  const suites = results.map(suiteElement);
  const root = element("testsuites", { name: "hookpolicy", ...countsOf(results), ...time(seconds) }, suites);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root.join("\n")}\n`;
}

/** An element as lines. */
type Lines = readonly string[];

function suiteElement(result: SuiteResult): Lines {
  const { name, file, problems, seconds } = result;
  // A suite that could not be run counts as one error, however many problems it has.
  const cases =
    problems.length > 0
      ? [element("testcase", { name, classname: name, file, ...time(seconds) }, [errorElement(problems)])]
      : casesOf(result).map((step) => caseElement(step, result));
  const attributes = { name, file, ...countsOf([result]), ...time(seconds) };
  return element("testsuite", attributes, cases);
}

function countsOf(results: readonly SuiteResult[]): Record<string, number> {
  const { passed, failed, errors, skipped } = totalsOf(results);
  return { tests: passed + failed + errors + skipped, failures: failed, errors, skipped };
}

function time(seconds: number): { readonly time: string } {
  return { time: seconds.toFixed(3) };
}

/** The index makes the names of cases unique, because some readers count cases of the same name as one. */
function caseElement(step: StepResult, { name: suite, file }: SuiteResult): Lines {
  const { index, name, line, seconds } = step;
  const attributes = { name: `${index + 1}. ${name}`, classname: suite, file, line, ...time(seconds) };
  return element("testcase", attributes, outcomeOf(step, file));
}

function outcomeOf(step: StepResult, file: string): readonly Lines[] {
  if (step.status === "skipped") return [element("skipped", { message: "an earlier step could not be run" })];
  if (step.status === "failed") {
    const wrong = step.compared.filter(({ same }) => !same);
    const message = wrong.map(
      ({ field, expected, actual }) => `${field}: expected ${expected}, found ${actual}`,
    );
    return [textElement("failure", message.join("; "), failureLines(step, file, PLAIN))];
  }
  return step.problem === undefined ? [] : [errorElement([step.problem])];
}

function errorElement(problems: readonly FileProblem[]): Lines {
  const lines = problems.map(problemText);
  return textElement("error", lines[0] ?? "", lines);
}

/** The text is not indented, because the indentation would become part of it. */
function textElement(name: "failure" | "error", message: string, lines: readonly string[]): Lines {
  const text = lines.map((line) => escapeXml(printable(line))).join("\n");
  return [`<${name}${attributesText({ message })}>${text}</${name}>`];
}

type Attributes = Readonly<Record<string, string | number>>;

function element(name: string, attributes: Attributes, children: readonly Lines[] = []): Lines {
  const head = `${name}${attributesText(attributes)}`;
  if (children.length === 0) return [`<${head}/>`];
  return [`<${head}>`, ...children.flat().map((line) => `  ${line}`), `</${name}>`];
}

function attributesText(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(printable(String(value)))}"`)
    .join("");
}
