/** Applies changes to the rows of held operations, and filters them. */

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

export interface HeldFilter {
  readonly policy?: string;
  readonly namespace?: string;
  readonly hook?: string;
  /** Words that must all occur in the row. */
  readonly q?: string;
}

export function filterHeld(
  rows: readonly HeldRow[],
  { policy, namespace, hook, q = "" }: HeldFilter,
): readonly HeldRow[] {
  const isMeant = wordSearch(q);
  return rows.filter(
    (row) =>
      (policy === undefined || row.policy === policy) &&
      (namespace === undefined || namespaceOf(row.cluster) === namespace) &&
      (hook === undefined || row.hook === hook) &&
      isMeant(textOf(row)),
  );
}

/** Whether a text contains every word that is searched, in any case. */
export function wordSearch(searched: string): (text: string) => boolean {
  const words = searched.toLowerCase().split(/\s+/);
  return (text) => words.every((word) => text.toLowerCase().includes(word));
}

export function namespaceOf(cluster: string): string {
  return cluster.split("/")[0] ?? "";
}

function textOf({ cluster, hook, policy, rule, gate = "", reason, message }: HeldRow): string {
  return [cluster, hook, policy, rule, gate, reason, message].join(" ");
}

/** The distinct values in the rows, sorted. */
export function valuesOf(rows: readonly HeldRow[], of: (row: HeldRow) => string): readonly string[] {
  return [...new Set(rows.map(of))].toSorted();
}
