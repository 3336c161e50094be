/** Markdown for comments on pull requests. */

import { printable } from "../../lib/printable.ts";

/** GitHub accepts at most 65,536 characters. */
const MAX_CHARACTERS = 60_000;

export function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** Escapes a name or message, so that it cannot become a table, a link or a mention. */
export function markdownText(text: string): string {
  return printable(text)
    .replaceAll(/[\\`*_{}[\]<>()#|~@!]/g, String.raw`\$&`)
    .trim();
}

export function markdownBlock(lines: readonly string[]): string {
  const text = lines.map(printable).join("\n");
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}\n`;
}

/** Adds whole parts while there is room, then the number of parts left out. */
export function markdownParts(head: string, parts: readonly string[], what: string): string {
  let text = head;
  for (const [index, part] of parts.entries()) {
    if (text.length + part.length > MAX_CHARACTERS) {
      return `${text}\nand ${parts.length - index} more ${what}, left out here\n`;
    }
    text += part;
  }
  return text;
}
