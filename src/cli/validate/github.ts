/** Prints a validation as workflow commands of GitHub Actions (actions/toolkit: packages/core/src/command.ts). */

import { printable } from "../../lib/printable.ts";
import type { FileProblem } from "../files/parsed.ts";
import { textOf, type ValidationReport } from "./report.ts";
import type { Finding } from "./validation.ts";

/** GitHub shows them next to the lines of a pull request. */
export function validationGithub({ findings, problems }: ValidationReport): string {
  const commands = [
    ...problems.map((problem) => command("error", problem)),
    ...findings.map((finding) => {
      const { severity, source, line, column, suggestion } = finding;
      const message = [textOf(finding), ...(suggestion === undefined ? [] : [suggestion])].join("; ");
      return command(severity, { file: source.file, line, column, message });
    }),
  ];
  return commands.map((each) => `${each}\n`).join("");
}

function command(level: Finding["severity"], { file, line, column: col, message }: FileProblem): string {
  const properties = Object.entries({ file, line, col })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${property(String(value))}`);
  return `::${level} ${properties.join(",")}::${data(message)}`;
}

function data(text: string): string {
  return printable(text).replaceAll("%", "%25");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
