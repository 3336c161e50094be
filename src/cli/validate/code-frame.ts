/** The lines of a file around a position, with a marker below it. */

import { printable } from "../../lib/printable.ts";
import type { Position } from "../files/parsed.ts";
import { type Colour, PLAIN } from "../terminal/colour.ts";

const AROUND = 1;
/** Limits the width of a frame, because generated files can have very long lines. */
const MAX_COLUMNS = 160;

/** Cuts lines at `columns`, the width of the terminal, because a wrapped line would misplace the marker. */
export function codeFrame(
  lines: readonly string[],
  { line, column }: Position,
  colour: Colour = PLAIN,
  columns = MAX_COLUMNS,
): string[] {
  const first = Math.max(1, line - AROUND);
  const last = Math.min(lines.length, line + AROUND);
  const gutter = String(last).length;
  const width = Math.max(20, Math.min(columns, MAX_COLUMNS) - gutter - "> | ".length - 1);
  const start = column > width ? column - Math.floor(width / 2) : 1;
  const before = visible(lines[line - 1] ?? "", start, column - start).length;
  const from = before < width ? 0 : before - Math.floor(width / 2);
  return lines.slice(first - 1, last).flatMap((whole, index) => {
    const number = first + index;
    const label = colour.dim(`${String(number).padStart(gutter)} |`);
    const text = visible(whole, start, width)
      .slice(from, from + width)
      .join("");
    if (number !== line) return [`  ${label} ${text}`.trimEnd()];
    const mark = `${" ".repeat(before - from)}${colour.red("^")}`;
    return [
      `${colour.red(">")} ${label} ${text}`.trimEnd(),
      `  ${" ".repeat(gutter)} ${colour.dim("|")} ${mark}`,
    ];
  });
}

/** Halves of surrogate pairs that the cut has separated. */
const HALVES = /^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g;

/** The visible characters of a part of a line. A tab counts as one column in a position, so it is shown as one. */
function visible(line: string, start: number, length: number): string[] {
  const part = line.slice(start - 1, start - 1 + length).replaceAll(HALVES, "");
  return Array.from(printable(part.replaceAll("\t", " ")));
}
