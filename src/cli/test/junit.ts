/** JUnit XML as GitLab, Jenkins and GitHub Actions read it. */

import { printable } from "../../api/printable.ts";
import { PLAIN } from "../terminal/colour.ts";
import { failureLines, problemText } from "./report.ts";
import { type StepResult, type SuiteResult, totalsOf } from "./result.ts";

export function suitesJunit(results: readonly SuiteResult[]): string {
  const children = results.map(suiteElement);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element("testsuites", { name: "hookpolicy", ...countsOf(results) }, children)}\n`;
}

function suiteElement(result: SuiteResult): string {
  const { name, file, steps, problems } = result;
  const cases = steps.filter(({ status }) => status !== "done").map((step) => caseElement(step, result));
  const broken = problems.map((problem) => {
    const text = printable(problemText(problem));
    return element("testcase", { name, classname: name, file }, [
      element("error", { message: text, type: "error" }, [escapeXml(text)]),
    ]);
  });
  return element("testsuite", { name, file, ...countsOf([result]) }, [...broken, ...cases]);
}

function countsOf(results: readonly SuiteResult[]): Record<string, number> {
  const { passed, failed, errors, skipped } = totalsOf(results);
  return { tests: passed + failed + errors + skipped, failures: failed, errors, skipped };
}

/** Names of cases are unique within a suite, or readers count two cases as one. */
function caseElement(step: StepResult, { name: suite, file }: SuiteResult): string {
  const attributes = { name: `${step.index + 1}. ${step.name}`, classname: suite, file, line: step.line };
  return element("testcase", attributes, outcomeOf(step, file));
}

function outcomeOf(step: StepResult, file: string): string[] {
  if (step.status === "skipped") return [element("skipped", {}, [])];
  if (step.status === "failed") {
    const wrong = step.compared.filter(({ same }) => !same);
    const message = wrong.map(
      ({ field, expected, actual }) => `${field}: expected ${expected}, found ${actual}`,
    );
    const text = failureLines(step, file, PLAIN).map(printable).join("\n");
    return [element("failure", { message: message.join("; "), type: "failed" }, [escapeXml(text)])];
  }
  if (step.problem === undefined) return [];
  const text = printable(problemText(step.problem));
  return [element("error", { message: text, type: "error" }, [escapeXml(text)])];
}

function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  children: readonly string[],
): string {
  const pairs = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${escapeXml(printable(String(value)))}"`,
  );
  const head = `${name}${pairs.join("")}`;
  return children.length === 0 ? `<${head}/>` : `<${head}>${children.join("")}</${name}>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
};

/** XML cannot represent some control characters. */
function escapeXml(text: string): string {
  return text
    .replaceAll(/[\uFFFE\uFFFF]/g, "\u{FFFD}")
    .replaceAll(/[&<>"\n]/g, (character) => ENTITIES[character] ?? character);
}
