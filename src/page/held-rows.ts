/** Filters the rows of held operations. */

import { counted } from "../lib/counted.ts";
import { namespacedName } from "../lib/keys.ts";
import type { Params } from "./route.ts";
import type { HeldObject, HeldRow, LiveState } from "./wire.ts";

export const CHOICES = [
  { label: "Policy", name: "policy", of: ({ policy }: HeldRow) => policyTitle(policy) },
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
  return [cluster, hook, policyTitle(policy), rule, gate, reason, message, why, what].join(" ");
}

/** A Cluster can have a row for each policy and rollout that holds it. */
export function clustersIn(rows: readonly HeldRow[]): number {
  return new Set(rows.map(({ cluster }) => cluster)).size;
}

export function heldText(rows: readonly HeldRow[], omits = false): string {
  return `${omits ? "At least " : ""}${counted(clustersIn(rows), "Cluster")} held`;
}

export function emptyText({
  isReady,
  rows,
  omits = false,
}: Pick<LiveState, "rows" | "omits"> & { readonly isReady: boolean }): string {
  if (!isReady) return "Reading…";
  if (rows.length === 0) return omits ? "No status names what is held." : "Nothing is held.";
  return `Nothing that ${omits ? "statuses name" : "is held"} matches.`;
}

/** "HookPolicy team-a/protect" */
export function policyTitle({ kind, ...named }: HeldObject["policy"]): string {
  return `${kind} ${namespacedName(named)}`;
}

export function valuesOf(rows: readonly HeldRow[], of: (row: HeldRow) => string): readonly string[] {
  return [...new Set(rows.map(of))].toSorted();
}
