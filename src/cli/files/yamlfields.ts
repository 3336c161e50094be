/** The fields of a YAML text that cannot be parsed, by the columns in which they begin. */

export interface FieldColumn {
  readonly key: string;
  /** Counted from 0. */
  readonly column: number;
}

export function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The last field of each level that is still open at the end of a text, the outermost first. */
export function fieldsAbove(text: string): readonly FieldColumn[] {
  let open: readonly FieldColumn[] = [];
  for (const line of text.split("\n")) {
    const [, indent = "", dashes = "", key] =
      /^( *)((?:- +)*)["']?([A-Za-z][\w./-]*)["']?:(?:\s|$)/.exec(line) ?? [];
    if (key === undefined) continue;
    const column = indent.length + dashes.length;
    // An item may stand below the name of its list.
    const kept = open.filter((each) => (dashes === "" ? each.column < column : each.column <= indent.length));
    open = [...kept, { key, column }];
  }
  return open;
}

/** The field nearest to the column in which a line begins; the inner one of two that are equally near. */
export function nearestField(fields: readonly FieldColumn[], indent: number): FieldColumn | undefined {
  return fields.toSorted(
    (a, b) => Math.abs(a.column - indent) - Math.abs(b.column - indent) || b.column - a.column,
  )[0];
}
