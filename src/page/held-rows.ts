/** Applies changes to the rows of held operations, and filters them. */

import type { Params } from "./route.ts";
import type { HeldChange, HeldRow } from "./wire.ts";

export function changedRows(before: readonly HeldRow[], change: HeldChange): readonly HeldRow[] {
  const rows = new Map(change.all ? [] : before.map((row) => [row.key, row]));
  for (const key of change.gone) rows.delete(key);
  for (const row of change.rows) rows.set(row.key, row);
  return [...rows.values()].toSorted(
    (a, b) => compare(a.firstAsked, b.firstAsked) || compare(a.cluster, b.cluster) || compare(a.key, b.key),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export const CHOICES = [
  { label: "Policy", name: "policy", of: ({ policy }: HeldRow) => policy },
  { label: "Namespace", name: "namespace", of: ({ cluster }: HeldRow) => cluster.split("/")[0] ?? "" },
  { label: "Hook", name: "hook", of: ({ hook }: HeldRow) => hook },
] as const;

/** `params`: a value for the names of choices, and as "q" words that must all occur in the row. */
export function filterHeld(rows: readonly HeldRow[], params: Params): readonly HeldRow[] {
  const isMeant = wordSearch(params["q"] ?? "");
  return rows.filter(
    (row) =>
      CHOICES.every(({ name, of }) => params[name] === undefined || params[name] === of(row)) &&
      isMeant(textOf(row)),
  );
}

export function wordSearch(searched: string): (text: string) => boolean {
  const words = searched.toLowerCase().split(/\s+/);
  return (text) => words.every((word) => text.toLowerCase().includes(word));
}

function textOf({ cluster, hook, policy, rule, gate = "", reason, message, tornDown }: HeldRow): string {
  const { reason: why = "", message: what = "" } = tornDown ?? {};
  return [cluster, hook, policy, rule, gate, reason, message, why, what].join(" ");
}

export function valuesOf(rows: readonly HeldRow[], of: (row: HeldRow) => string): readonly string[] {
  return [...new Set(rows.map(of))].toSorted();
}
