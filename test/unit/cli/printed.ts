import { shown } from "../../../src/cli/terminal/colour.ts";

/** Lines of a report as a terminal gets them. */
export function printed(lines: readonly string[]): string {
  return lines.map((line) => `${shown(line)}\n`).join("");
}
