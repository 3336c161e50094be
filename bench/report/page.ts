/** docs/benchmarks.md, and the pages beside the results, as text. */

import { median } from "../measure/statistics.ts";
import type { Goal, PartResult, Row } from "../result.ts";
import { PART_NAMES, PARTS, type RowId } from "./parts.ts";

const INTRODUCTION = `# Benchmarks

Each replica can answer for the whole fleet, and the second one is there for availability. These figures show whether one
replica will do for your fleet.
`;

const READING = `A figure is the median of the rounds, with the smallest and the largest in parentheses. A ratio compares servers that were
measured one right after the other: it says more than an absolute figure, which depends on the machine.
`;

const METHOD = `## Measure it yourself

\`make bench\` measures everything but the soak (\`PART=${PART_NAMES.filter((part) => part !== "soak").join("|")}\`: one part of it),
\`make soak\` runs for an hour. With \`BENCH_QUICK=1\` a part is small, and is printed instead of written here. The machine should do nothing else meanwhile.
`;

/** docs/benchmarks.md: the answers of each part, and where its rows are. */
export function renderPage(results: readonly PartResult[]): string {
  const measured = PART_NAMES.flatMap((part) => results.filter((result) => result.part === part));
  const missing = PART_NAMES.filter((part) => !measured.some((result) => result.part === part));
  const names = missing.map((part) => PARTS[part].title.toLowerCase()).join(", ");
  const met = measured.map(
    (result) => `${PARTS[result.part].title.toLowerCase()} ${metOf(result).join(" of ")}`,
  );
  const summary = `Goals that are met: ${met.join(", ")}. Each section says why the others are missed.`;
  return [
    INTRODUCTION,
    READING,
    `${summary}\n`,
    ...(missing.length === 0 ? [] : [`Not measured yet: ${names}.\n`]),
    ...measured.map(section),
    METHOD,
  ].join("\n");
}

/** bench/results/PART.md: the answers, every row, and how it was measured. */
export function renderPart(result: PartResult): string {
  const { part, command, date, machine, tables, notes } = result;
  const { cpu, cores, memoryGiB, kernel } = machine;
  const versions = Object.entries(machine.versions).map((pair) => pair.join(" "));
  return [
    `# Benchmarks: ${PARTS[part].title.toLowerCase()}`,
    PARTS[part].question,
    answers(result).join("\n"),
    ...why(result),
    `\`${command}\` on ${date}: ${cpu}, ${cores} cores, ${memoryGiB} GiB of memory, Linux ${kernel}; ${versions.join(", ")}. ${goalsText(result)}`.trimEnd(),
    ...tables.flatMap(({ title, rows }) => [`## ${title}`, ...longTable(rows)]),
    ...(notes.length > 0 ? [`## How it is measured\n\n${notes.map((note) => `- ${note}`).join("\n")}`] : []),
    "",
  ].join("\n\n");
}

function answers(result: PartResult): string[] {
  return PARTS[result.part].answers.flatMap(([text, id]) =>
    rowsOf(result, id).map((row) => {
      const goal = row.goal && ` (goal ${goalText(row)}${isMet(row) === true ? "" : ", missed"})`;
      return `- ${text} **${measuredText(row)}**${goal ?? ""}.`;
    }),
  );
}

function section(result: PartResult): string {
  const { part, date } = result;
  const { title, question } = PARTS[part];
  return [
    `## ${title}`,
    question,
    answers(result).join("\n"),
    ...why(result),
    `${goalsText(result)} [All figures, and how they were measured](../bench/results/${part}.md) (${date}).`.trimStart(),
    "",
  ].join("\n\n");
}

function why(result: PartResult): string[] {
  const isMissed = allRows(result).some((row) => isMet(row) === false);
  return isMissed ? [`Why goals are missed: ${PARTS[result.part].why}`] : [];
}

function goalsText(result: PartResult): string {
  const [met, all] = metOf(result);
  return all === 0 ? "" : `${met} of ${all} goals are met.`;
}

function metOf(result: PartResult): readonly [met: number, all: number] {
  const met = allRows(result).flatMap((row) => isMet(row) ?? []);
  return [met.filter(Boolean).length, met.length];
}

function allRows({ tables }: PartResult): readonly Row[] {
  return tables.flatMap(({ rows }) => rows);
}

/** The row of that id, or one row that adds up many; none where none was measured. */
function rowsOf(result: PartResult, id: RowId): readonly Row[] {
  const all = allRows(result);
  if (!id.endsWith("*")) return all.filter((row) => row.id === id);
  const added = all.filter((row) => row.id.startsWith(id.slice(0, -1)));
  const sum = added.reduce((before, { samples }) => before + median(samples), 0);
  return added.slice(0, 1).map((row) => ({ ...row, work: `all ${added.length} together`, samples: [sum] }));
}

/** `undefined`: the row has no goal. A row without samples misses its goal: no comparison with NaN is true. */
export function isMet({ goal, samples }: Row): boolean | undefined {
  return goal && HOLDS[goal.is](median(samples), goal.value);
}

const HOLDS: Readonly<Record<Goal["is"], (measured: number, value: number) => boolean>> = {
  "at least": (measured, value) => measured >= value,
  "at most": (measured, value) => measured <= value,
  below: (measured, value) => measured < value,
  exactly: (measured, value) => measured === value,
};

/** Rows that have met the goal of an exact number, and no note, come in one sentence where they are many. */
function longTable(rows: readonly Row[]): string[] {
  const quiet = rows.filter((row) => row.goal?.is === "exactly" && row.note === undefined && isMet(row));
  const [first] = quiet;
  if (first === undefined || quiet.length <= 3) return [table(rows)];
  const shown = rows.filter((row) => !quiet.includes(row));
  return [
    ...(shown.length === 0 ? [] : [table(shown)]),
    `${measuredText(first)} in each of: ${quiet.map(({ work }) => work).join("; ")}.`,
  ];
}

function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => [row.work, goalText(row), measuredText(row), metText(row), row.note ?? ""]);
  const head = ["work", "goal", "measured", "met", "figures"];
  return [head, head.map(() => "---"), ...cells.map((texts) => texts.map(escaped))]
    .map((texts) => `| ${texts.join(" | ")} |`)
    .join("\n");
}

const SIGNS = { "at least": "≥", "at most": "≤", below: "<", exactly: "=" } as const;

function goalText({ goal }: Row): string {
  return goal === undefined ? "–" : `${SIGNS[goal.is]} ${figure(goal.value)}`;
}

function measuredText({ samples, unit }: Row): string {
  if (samples.length === 0) return `not measured ${unit}`;
  const [low, high] = [Math.min(...samples), Math.max(...samples)];
  const spread = low === high ? "" : ` (${figure(low)}–${figure(high)})`;
  return `${figure(median(samples))}${spread} ${unit}`;
}

function metText(row: Row): string {
  const met = isMet(row);
  if (met === undefined) return "–";
  return met ? "yes" : "**no**";
}

/** Whole numbers and those from 1,000 on without decimals, all others with three significant digits. */
export function figure(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

function escaped(text: string): string {
  return text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");
}
