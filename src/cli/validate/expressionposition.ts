/** Converts the line and column of an error within an expression to those of the file. */

import type { SourceObject } from "../files/load.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import type { Position } from "../files/parsed.ts";

/** `undefined`: the error has no position, or the text is written differently in the file, with escapes or folded. */
export function expressionPosition(
  source: SourceObject,
  { path, message }: FieldError,
): Position | undefined {
  const [told, lineText = "1", columnText = "1"] = /^(?:line (\d+), )?column (\d+): /.exec(message) ?? [];
  const text = told === undefined ? undefined : valueAt(source.object, path);
  if (typeof text !== "string") return undefined;
  const index = Number(lineText) - 1;
  const wanted = text.split("\n")[index] ?? "";
  const start = source.position(path);
  // A block scalar starts on the line after its indicator.
  for (const line of [start.line + index, start.line + index + 1]) {
    const at = indexIn(source.lines[line - 1], wanted, line === start.line ? start.column - 1 : 0);
    if (at >= 0) return { line, column: at + Number(columnText) };
  }
  return undefined;
}

function indexIn(line: string | undefined, wanted: string, from: number): number {
  return wanted === "" ? -1 : (line?.indexOf(wanted, from) ?? -1);
}

/** Paths of expressions: fields and indexes only. */
function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const [key] of path.matchAll(/[^.[\]]+/g)) {
    const entries: readonly [string, unknown][] =
      typeof value === "object" && value !== null ? Object.entries(value) : [];
    value = entries.find(([name]) => name === key)?.[1];
  }
  return value;
}
