/** A run of some scenarios or sizes replaces their rows in an earlier result, which keeps its own date and machine. */

import type { PartResult, Row, Table } from "../result.ts";

/** `ids` names what was run again; the ids of the rows begin or end with them. */
export function mergeResults(
  earlier: PartResult | undefined,
  again: PartResult,
  ids: readonly string[],
): PartResult {
  if (earlier === undefined) return again;
  const isAgain = ({ id }: Row): boolean =>
    ids.some((each) => id.endsWith(`-${each}`) || id.startsWith(`${each}-`));
  const titles = [...new Set([...earlier.tables, ...again.tables].map(({ title }) => title))];
  const tables = titles.map((title) => {
    const [before, now] = [rowsOf(earlier.tables, title), rowsOf(again.tables, title)];
    const at = before.findIndex(isAgain);
    const kept = before.filter((row) => !isAgain(row));
    return { title, rows: kept.toSpliced(at < 0 ? kept.length : at, 0, ...now) };
  });
  const { date, machine } = again;
  const measured = `Measured again (${ids.join(", ")})`;
  const note = `${measured} on ${date}: ${machine.cpu}, ${machine.cores} cores, Linux ${machine.kernel}, node ${machine.versions["node"]}.`;
  // A note that was worded anew keeps its first sentence, which says what it is about.
  const told = new Set(again.notes.map(subjectOf));
  const others = earlier.notes.filter((text) => !text.startsWith(measured) && !told.has(subjectOf(text)));
  return { ...earlier, tables, notes: [...again.notes, ...others, note] };
}

function subjectOf(note: string): string {
  return note.split(". ", 1)[0] ?? note;
}

function rowsOf(tables: readonly Table[], title: string): readonly Row[] {
  return tables.find((table) => table.title === title)?.rows ?? [];
}
