/** Tables in kubectl's format. */

import { width } from "./colour.ts";

const GAP = "   ";

/** Columns are as wide as their widest cell; the last one is not padded. Without rows there are no headings. */
export function tableLines(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((cells) => width(cells[column] ?? ""))));
  return lines.map((cells) => row(cells, widths));
}

export function row(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - width(cell))))
    .join(GAP)
    .trimEnd();
}
