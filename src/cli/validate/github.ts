/** Workflow commands of GitHub Actions (actions/toolkit: packages/core/src/command.ts). */

import { printable } from "../../api/printable.ts";

interface Where {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

export function githubCommand(level: "error" | "warning" | "notice", where: Where, message: string): string {
  const properties = { file: where.file, line: where.line, col: where.column };
  const text = Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${property(String(value))}`);
  return `::${level} ${text.join(",")}::${data(message)}`;
}

function data(text: string): string {
  return printable(text).replaceAll("%", "%25");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
