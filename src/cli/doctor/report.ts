/** Prints what the checks have found. */

import { counted } from "../../lib/counted.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type Check, type Problem, type State, STATES, worse } from "./finding.ts";
import { tableLines } from "../terminal/table.ts";
import { wrapped } from "../terminal/tree.ts";

/** Problems in a row that one command cures have it once, below them. */
function problemRows(problems: readonly Partial<Problem<string>>[]): string[][] {
  return problems.flatMap(({ detail, remedy = "" }, index) => [
    ...(detail === undefined ? [] : [["", "", detail]]),
    ...(remedy === problems[index + 1]?.remedy ? [] : [["", "", `→ ${remedy}`]]),
  ]);
}

/** Schema: schemas/output/doctor.json. */
export function doctorJson(checks: readonly Check[]): object {
  return { state: checks.toSorted(worse)[0]?.state ?? "ok", checks };
}

export function doctorLines(checks: readonly Check[], { colour, columns }: Terminal): string[] {
  const paint: Readonly<Record<State, (text: string) => string>> = {
    ok: colour.green,
    warning: colour.yellow,
    error: colour.red,
    unknown: colour.dim,
  };
  const rows = checks.flatMap(({ name, state, detail, remedy, problems }) => [
    [paint[state](state), name, detail],
    ...problemRows(problems ?? (remedy === undefined ? [] : [{ remedy }])),
  ]);
  const counts = STATES.map(
    (state) => [state, checks.filter((each) => each.state === state).length] as const,
  );
  const summary = counts
    .filter(([, number]) => number > 0)
    .map(([state, number]) =>
      state === "error" || state === "warning" ? counted(number, state) : `${number} ${state}`,
    );
  const table = tableLines(["STATE", "CHECK", "FOUND"], rows);
  const indent = " ".repeat(table[0]?.indexOf("FOUND") ?? 0);
  const lines = table.flatMap((line) =>
    line.startsWith(`${indent}→`) ? [line] : wrapped(line, columns, indent),
  );
  return [...lines, "", summary.join(", ")];
}
