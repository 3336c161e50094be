/** The fields that begin in the lines of a YAML text, by their columns: the text itself cannot be parsed. */

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

/** The field whose column a line was meant to begin in; of two that are as near, the inner one. */
export function nearestField(fields: readonly FieldColumn[], indent: number): FieldColumn | undefined {
  return fields.toSorted(
    (a, b) => Math.abs(a.column - indent) - Math.abs(b.column - indent) || b.column - a.column,
  )[0];
}
