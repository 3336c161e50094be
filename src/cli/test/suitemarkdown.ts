/** Prints the results of `hookpolicy test` as Markdown. */

import { PLAIN } from "../terminal/colour.ts";
import { markdownBlock, markdownParts, markdownTable, markdownText } from "../terminal/markdown.ts";
import { failureLines, problemText, totalsText } from "./report.ts";
import { type SuiteResult, totalsOf } from "./result.ts";

export function suitesMarkdown(results: readonly SuiteResult[]): string {
  const totals = totalsOf(results);
  const good = totals.failed + totals.errors === 0;
  const rows = results.map((result) => {
    const { passed, failed, errors, skipped } = totalsOf([result]);
    const counts = [passed, failed, errors, skipped].map(String);
    return [markdownText(result.name), markdownText(result.file), ...counts];
  });
  const headings = ["Suite", "File", "Passed", "Failed", "Errors", "Skipped"];
  const head = `### HookPolicy tests: ${good ? "passed" : "failed"}\n\n${totalsText(totals)}\n\n`;
  const parts = results.flatMap(failures);
  return markdownParts(`${head}${markdownTable(headings, rows)}`, parts, "failures");
}

function failures({ name, file, problems, steps }: SuiteResult): string[] {
  const title = (step: string): string => `\n#### ${markdownText(`${name}${step}`)}\n\n`;
  const broken = problems.map((problem) => `${title("")}${markdownBlock([problemText(problem)])}`);
  const failed = steps.flatMap((step) => {
    const lines = step.problem === undefined ? failureLines(step, file, PLAIN) : [problemText(step.problem)];
    const wrong = step.status === "failed" || step.status === "error";
    return wrong ? [`${title(`: ${step.name}`)}${markdownBlock(lines)}`] : [];
  });
  return [...broken, ...failed];
}
