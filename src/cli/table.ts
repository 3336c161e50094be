/** Tables as kubectl prints them. */

const GAP = "   ";
// oxlint-disable-next-line no-control-regex -- the colours of a terminal
const COLOURS = /\u001B\[\d+m/g;

/** As wide as it shows, without colours. */
export function width(text: string): number {
  return Array.from(text.replaceAll(COLOURS, "")).length;
}

/** Columns are as wide as their widest cell; the last one is not filled up. No rows, no headings. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((cells) => width(cells[column] ?? ""))));
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - width(cell)))
        .join(GAP)
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}
