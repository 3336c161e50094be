/** docs/benchmarks.md and the pages below it, from what was measured. */

import { median } from "../measure/statistics.ts";
import type { Goal, Machine, PartName, PartResult, Row } from "../result.ts";
import { ANSWERS, PARTS, type RowId, TOLD_ELSEWHERE } from "./parts.ts";

const isPart = (name: string): name is PartName => Object.hasOwn(PARTS, name);
const PART_NAMES = Object.keys(PARTS).filter(isPart);

const INTRODUCTION = `# Benchmarks

What a replica costs and withstands, measured. A figure is the median of the rounds, with the smallest and the largest
behind it. Ratios are of servers that were measured one right after the other: they say more than absolute figures, which
depend on the machine.
`;

const METHOD = `## Measure it yourself

\`make bench\` measures everything but the soak (\`PART=${PART_NAMES.filter((part) => part !== "soak").join("|")}\`: one part of it),
\`make soak\` runs for an hour; both write these pages from \`bench/results/\`. With \`BENCH_QUICK=1\` a part is small, and is
printed instead. \`make bench-check\` measures the speed for a few minutes and fails where a ratio is far worse than the one
that stands here. The machine should do nothing else meanwhile.
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

/** docs/benchmarks/PART.md: every row, and how it was measured. */
export function renderPart(result: PartResult): string {
  const { part, command, date, machine, tables, notes } = result;
  return [
    `# Benchmarks: ${PARTS[part].title.toLowerCase()}`,
    `\`${command}\` on ${date}: ${machineText(machine)}. ${goalsText(result)}`.trimEnd(),
    ...tables.flatMap(({ title, rows }) => longTable(title, rows)),
    ...(notes.length > 0 ? [`## How it is measured\n\n${notes.map((note) => `- ${note}`).join("\n")}`] : []),
    "",
  ].join("\n\n");
}

function answers(results: readonly PartResult[]): string[] {
  const lines = ANSWERS.flatMap(({ text, id, withNote = false }) => {
    const [row] = results.flatMap((result) => rowsOf(result, [id]));
    if (row === undefined) return [];
    const note = withNote && row.note !== undefined ? `: ${row.note}` : "";
    return [`- ${text} **${inUnit(row)}**${goalRemark(row)}${note}.`];
  });
  const met = results.map(
    (result) => `${PARTS[result.part].title.toLowerCase()} ${metOf(result).join(" of ")}`,
  );
  const summary = `- Goals that are met: ${met.join(", ")}. Each section says why the others are missed.`;
  return lines.length === 0 ? [] : [`${[...lines, summary].join("\n")}\n`];
}

function goalRemark(row: Row): string {
  if (row.goal === undefined) return "";
  return ` (goal ${goalText(row)}${isMet(row) === true ? "" : ", missed"})`;
}

function inUnit(row: Row): string {
  return `${measuredText(row)} ${row.unit}`;
}

interface Titled extends Row {
  /** Of its table. */
  readonly title: string;
}

function shortSection(result: PartResult): string {
  const { part, date } = result;
  const { title, key, why } = PARTS[part];
  const rows = rowsOf(result, key);
  const isOne = new Set(rows.map((row) => row.title)).size === 1;
  const named = isOne ? rows : rows.map((row) => ({ ...row, work: `${row.title}: ${row.work}` }));
  const isMissed = allRows(result).some((row) => isMet(row) === false);
  return [
    `## ${title}`,
    ...(isOne ? [`${rows[0]?.title ?? ""}:`] : []),
    ...(rows.length > 0 ? [shortTable(named)] : []),
    ...(isMissed ? [`Why goals are missed: ${why}`] : []),
    `${goalsText(result)} [All rows, and how they were measured](benchmarks/${part}.md) (${date}).`.trimStart(),
    "",
  ].join("\n\n");
}

function goalsText(result: PartResult): string {
  const [met, all] = metOf(result);
  return all === 0 ? "" : `${met} of ${all} goals are met.`;
}

function metOf(result: PartResult): readonly [met: number, all: number] {
  const met = allRows(result).flatMap((row) => isMet(row) ?? []);
  return [met.filter(Boolean).length, met.length];
}

function allRows({ tables }: PartResult): readonly Titled[] {
  return tables.flatMap(({ title, rows }) => rows.map((row) => ({ ...row, title })));
}

/** Those of these ids that were measured. */
function rowsOf(result: PartResult, ids: readonly RowId[]): readonly Titled[] {
  const all = allRows(result);
  return ids.flatMap((id) => {
    if (id.endsWith("*")) return total(all.filter((row) => row.id.startsWith(id.slice(0, -1))));
    return all.filter((row) => row.id === id);
  });
}

/** Of rows of one table. */
function total(rows: readonly Titled[]): Titled[] {
  const [first] = rows;
  if (first === undefined) return [];
  const sum = rows.reduce((before, { samples }) => before + median(samples), 0);
  return [{ ...first, work: `all ${rows.length} together`, samples: [sum] }];
}

/** `undefined`: the row has no goal. A row without samples misses its goal. */
function isMet({ goal, samples }: Row): boolean | undefined {
  if (goal === undefined) return undefined;
  return holds(goal, median(samples)); // no comparison with NaN is true
}

function holds({ is, value }: Goal, measured: number): boolean {
  switch (is) {
    case "at least":
      return measured >= value;
    case "at most":
      return measured <= value;
    case "below":
      return measured < value;
    case "exactly":
      return measured === value;
  }
}

function machineText({ cpu, cores, memoryGiB, kernel, versions }: Machine): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB of memory, Linux ${kernel}; ${list.join(", ")}`;
}

function shortTable(rows: readonly Row[]): string {
  return table(
    ["work", "goal", "measured", "met"],
    rows.map((row) => [row.work, goalText(row), inUnit(row), metText(row)]),
  );
}

/** Rows of which nothing is to be said but that there was none, as the goal is, come in one sentence. */
function longTable(title: string, all: readonly Row[]): string[] {
  const rows = all.filter(({ id }) => !TOLD_ELSEWHERE.test(id));
  const quiet = rows.filter(isQuiet);
  const [{ goal, unit } = { goal: undefined, unit: "" }] = quiet;
  const isLong = quiet.length > 3;
  const shown = isLong ? rows.filter((row) => !isQuiet(row)) : rows;
  if (rows.length === 0) return [];
  return [
    `## ${title}`,
    ...(shown.length === 0 ? [] : [longRows(shown)]),
    ...(isLong
      ? [`${figure(goal?.value ?? NaN)} ${unit} in each of: ${quiet.map(({ work }) => work).join("; ")}.`]
      : []),
  ];
}

function isQuiet(row: Row): boolean {
  return row.goal?.is === "exactly" && row.note === undefined && isMet(row) === true;
}

function longRows(rows: readonly Row[]): string {
  return table(
    ["work", "goal", "measured", "met", "figures"],
    rows.map((row) => [row.work, goalText(row), inUnit(row), metText(row), row.note ?? ""]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows.map((cells) => cells.map(cell))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
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
