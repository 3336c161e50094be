/** Markdown for comments on pull requests: the text of a report in a block, in which nothing becomes a link or a mention. */

import { printable } from "../../lib/printable.ts";
import { paragraphs } from "./tree.ts";

/** GitHub accepts at most 65,536 characters. */
const MAX_CHARACTERS = 60_000;

/** The lines that fit, and then the number of those left out. */
export function markdownReport(title: string, parts: readonly (readonly string[])[]): string {
  const lines = paragraphs(parts).map(printable);
  let size = 0;
  const shown = lines.filter((line) => (size += line.length + 1) <= MAX_CHARACTERS);
  const text = shown.join("\n");
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const left = lines.length - shown.length;
  const more = left === 0 ? "" : `\nand ${left} more lines, left out here\n`;
  return `### ${title}\n\n${fence}\n${text}\n${fence}\n${more}`;
}
