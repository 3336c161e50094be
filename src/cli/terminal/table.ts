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

interface Forms {
  /** With how many of the columns a table is tried, in this order; absent: with all. */
  readonly tables?: readonly number[];
  /** Whether the terminal may wrap the last column of a table. */
  readonly lastWraps?: boolean;
  /** Texts that are not wrapped in blocks, so that they can be copied. */
  readonly whole?: ReadonlySet<string | undefined>;
}

/** The first table that the terminal is wide enough for; else a block for each row with all columns. */
export function fittingLines(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { colour, columns = Infinity }: Terminal,
  { tables = [headings.length], lastWraps = false, whole = new Set() }: Forms = {},
): string[] {
  const [, ...labels] = headings.map((heading) => heading.toLowerCase());
  const upTo = (end: number): string[] => {
    const cut = rows.map((cells) => cells.slice(0, end));
    return tableLines(headings.slice(0, end), cut);
  };
  const isWide = (line: string): boolean => width(line) > columns;
  for (const end of tables) if (!upTo(lastWraps ? end - 1 : end).some(isWide)) return upTo(end);
  return rows.flatMap(([subject = "", ...texts]) => {
    const details = labels.map((label, index) => {
      const text = texts[index] ?? "";
      return text !== "" && { label, text, whole: whole.has(text) };
    });
    return [colour.bold(subject), ...indented(details, columns)];
  });
}
