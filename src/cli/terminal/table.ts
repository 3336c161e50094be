/** Tables in kubectl's format. */

import { width } from "./colour.ts";
import type { Terminal } from "./terminal.ts";
import { indented } from "./tree.ts";

const GAP = "   ";

/** Columns are as wide as their widest cell; the last one is not padded. Without rows there are no headings. */
export function tableLines(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((cells) => width(cells[column] ?? ""))));
  return lines.map((cells) =>
    cells
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - width(cell))))
      .join(GAP)
      .trimEnd(),
  );
}

/**
 * A table; where the terminal is too narrow for it, one without the last `spare` columns, else a block for each row with all
 * of them.
 */
export function fittingLines(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { colour, columns = Infinity }: Terminal,
  spare = 0,
): string[] {
  const [, ...labels] = headings.map((heading) => heading.toLowerCase());
  const isWide = (line: string): boolean => width(line) > columns;
  for (const end of new Set([headings.length, headings.length - spare])) {
    const cut = rows.map((cells) => cells.slice(0, end));
    const lines = tableLines(headings.slice(0, end), cut);
    if (!lines.some(isWide)) return lines;
  }
  return rows.flatMap(([subject = "", ...texts]) => {
    const details = labels.map((label, index) => ({ label, text: texts[index] ?? "" }));
    return [colour.bold(subject), ...indented(details.filter(({ text }) => text !== ""))];
  });
}
