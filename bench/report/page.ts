/** docs/benchmarks.md and the pages below it, from what was measured. */

import type { Machine, PartResult, Plot, Row } from "../result.ts";
import { isMet } from "./goal.ts";
import { PART_NAMES, PARTS, QUESTIONS } from "./parts.ts";
import { median } from "./statistics.ts";

const INTRODUCTION = `# Benchmarks

What a replica costs and withstands, measured. A figure is the median of the rounds, with the smallest and the largest
behind it. Ratios are of servers that were measured one right after the other: they say more than absolute figures, which
depend on the machine.
`;

const METHOD = `## Measure it yourself

\`make bench\` measures everything but the soak (\`PART=${PART_NAMES.filter((part) => part !== "soak").join("|")}\`: one part of it),
\`make soak\` runs for an hour; both write these pages from \`bench/results/\`. \`make bench-check\` measures the speed for a few
minutes and fails where a ratio is far worse than the one that stands here. The machine should do nothing else meanwhile.
`;

/** docs/benchmarks.md: the answers, a table of each part, and where the rest is. */
export function renderPage(results: readonly PartResult[]): string {
  const measured = PART_NAMES.flatMap((part) => results.filter((result) => result.part === part));
  const missing = PART_NAMES.filter((part) => !measured.some((result) => result.part === part));
  const names = missing.map((part) => PARTS[part].title.toLowerCase()).join(", ");
  const unmeasured = missing.length === 0 ? [] : [`Not measured yet: ${names}.\n`];
  return [INTRODUCTION, ...answers(measured), ...unmeasured, ...measured.map(shortSection), METHOD].join(
    "\n",
  );
}

/** docs/benchmarks/PART.md: every row, how it was measured, and the plots. */
export function renderPart(result: PartResult): string {
  const { part, command, date, machine, tables, plots, notes } = result;
  return [
    `# Benchmarks: ${PARTS[part].title.toLowerCase()}`,
    `\`${command}\` on ${date}: ${machineText(machine)}. ${goalsText(result)}`.trimEnd(),
    ...tables.flatMap(({ title, rows }) => [`## ${title}`, tableText(rows)]),
    ...(notes.length > 0 ? [`## How it is measured\n\n${notes.map((note) => `- ${note}`).join("\n")}`] : []),
    ...plots.map(plotText),
    "",
  ].join("\n\n");
}

function answers(results: readonly PartResult[]): string[] {
  const rows = QUESTIONS.flatMap(({ question, id }) =>
    results.flatMap((result) =>
      rowsOf(result, [id]).map((row) => [question, inUnit(row), row.note ?? "", metText(row)]),
    ),
  );
  if (rows.length === 0) return [];
  return ["## In short\n", `${table(["", "measured", "", "goal met"], rows)}\n`];
}

function inUnit(row: Row): string {
  return `${measuredText(row)} ${row.unit}`;
}

function shortSection(result: PartResult): string {
  const { part, date } = result;
  const { title, key, why } = PARTS[part];
  const rows = rowsOf(result, key);
  const isMissed = allRows(result).some((row) => isMet(row) === false);
  return [
    `## ${title}`,
    ...(rows.length > 0 ? [tableText(rows)] : []),
    ...(isMissed ? [`Why goals are missed: ${why}`] : []),
    `${goalsText(result)} [All rows, how they were measured, and plots](benchmarks/${part}.md) (${date}).`.trimStart(),
    "",
  ].join("\n\n");
}

function goalsText(result: PartResult): string {
  const met = allRows(result).flatMap((row) => isMet(row) ?? []);
  return met.length === 0 ? "" : `${met.filter(Boolean).length} of ${met.length} goals are met.`;
}

function allRows({ tables }: PartResult): readonly Row[] {
  return tables.flatMap(({ rows }) => rows);
}

/** Those of these ids that were measured, with the title of their table; see Part.key. */
function rowsOf(result: PartResult, ids: readonly string[]): readonly Row[] {
  return ids.flatMap((id) => {
    if (!id.endsWith("*"))
      return result.tables.flatMap(({ title, rows }) =>
        rows.filter((row) => row.id === id).map((row) => ({ ...row, work: `${title}: ${row.work}` })),
      );
    const rows = allRows(result).filter((row) => row.id.startsWith(id.slice(0, -1)));
    return rows.length === 0 ? [] : total(id, rows, result);
  });
}

/** Of rows of one table. */
function total(id: string, rows: readonly Row[], { tables }: PartResult): Row {
  const title = tables.find((each) => each.rows.some((row) => rows.includes(row)))?.title ?? id;
  const [{ goal, unit } = { goal: undefined, unit: "" }] = rows;
  const sum = rows.reduce((before, { samples }) => before + median(samples), 0);
  return { id, work: `${title}: all ${rows.length} together`, goal, unit, samples: [sum] };
}

function machineText({ cpu, cores, memoryGiB, kernel, versions }: Machine): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB of memory, Linux ${kernel}; ${list.join(", ")}`;
}

function tableText(rows: readonly Row[]): string {
  return table(
    ["work", "goal", "measured", "unit", "met", "figures"],
    rows.map((row) => [row.work, goalText(row), measuredText(row), row.unit, metText(row), row.note ?? ""]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows.map((cells) => cells.map(cell))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function plotText({ file, title }: Plot): string {
  return `![${title}](${file}.svg)`;
}

const SIGNS = { "at least": "≥", "at most": "≤", below: "<", exactly: "=" } as const;

function goalText({ goal }: Row): string {
  return goal === undefined ? "–" : `${SIGNS[goal.is]} ${figure(goal.value)}`;
}

function measuredText({ samples }: Row): string {
  if (samples.length === 0) return "not measured";
  const [low, high] = [Math.min(...samples), Math.max(...samples)];
  const middle = figure(median(samples));
  return low === high ? middle : `${middle} (${figure(low)}–${figure(high)})`;
}

function metText(row: Row): string {
  const met = isMet(row);
  if (met === undefined) return "–";
  return met ? "yes" : "**no**";
}

/** Whole numbers as they are, all others with three digits that count. */
export function figure(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

function cell(text: string): string {
  return text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");
}
