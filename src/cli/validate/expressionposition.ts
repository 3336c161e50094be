/** Converts the line and column of an error within an expression to those of the file. */

import type { SourceObject } from "../files/load.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import type { Position } from "../files/parsed.ts";
import { valueAt } from "./valueat.ts";

/** `undefined`: the error has no position. */
export function expressionPosition(
  source: SourceObject,
  { path, message }: FieldError,
): Position | undefined {
  const [told, lineText = "1", columnText = "1"] = /^(?:line (\d+), )?column (\d+): /.exec(message) ?? [];
  const text = told === undefined ? undefined : valueAt(source.object, path);
  if (typeof text !== "string") return undefined;
  const before = text.split("\n").slice(0, Number(lineText) - 1);
  const letter = before.reduce((sum, { length }) => sum + length + 1, 0) + Number(columnText) - 1;
  return source.position(path, letter);
}
