/** The result of parsing a file: its documents with their positions, and its mistakes. */

import { fieldsOf } from "../../lib/fields.ts";
import type { Position } from "../../policy/cel/syntax.ts";

/** The key of a field, or its value. */
export type Part = "key" | "value";

export interface FileProblem extends Partial<Position> {
  readonly file: string;
  readonly message: string;
  /** Of the file, around a position in it. */
  readonly lines?: () => readonly string[];
}

export interface ParsedDocument {
  readonly value: unknown;
  /** The text that it was read from, perhaps with other documents. */
  readonly text: string;
  /**
   * The position of the value at a path such as spec.rules[0].until[1].annotation.key, or of its key. If the value is absent,
   * the position of the innermost field that would contain it.
   */
  readonly position: (path: string, of?: Part) => Position;
}

/** An object of a file. */
export interface SourceObject extends Omit<ParsedDocument, "value"> {
  /** "-" is standard input. */
  readonly file: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly lines: () => readonly string[];
}

export interface ParsedFile {
  readonly documents: readonly ParsedDocument[];
  readonly problems: readonly Omit<FileProblem, "file">[];
}

/**
 * The kind of a list's items, empty if they can be of any kind; `undefined`: the value is not a list. An API server writes null for
 * no items.
 */
export function itemKind(value: unknown): string | undefined {
  const fields = fieldsOf(value);
  const { kind, items } = fields;
  if (typeof kind !== "string" || !kind.endsWith("List")) return undefined;
  if (!Array.isArray(items) && !("items" in fields && items === null)) return undefined;
  return kind.slice(0, -"List".length);
}
