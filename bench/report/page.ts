/** docs/benchmarks.md from what was measured. */

import type { Machine, PartName, PartResult, Plot, Row, Table } from "../result.ts";
import { isMet } from "./goal.ts";
import { median } from "./statistics.ts";

/** In the order of the page. */
const TITLES: Readonly<Record<PartName, string>> = {
  speed: "Speed",
  scale: "Scale",
  rollouts: "Rollouts",
  faults: "Faults",
  hostile: "Hostile input",
  soak: "Soak",
};

const PARTS: readonly PartName[] = ["speed", "scale", "rollouts", "faults", "hostile", "soak"];

const INTRODUCTION = `# Benchmarks

What HookPolicy costs and withstands, measured. Every figure is the median of the rounds, with the smallest and the
largest behind it, and every table says on what machine and with which command it came about. Ratios are of servers that
were measured one right after the other: they say more than absolute figures, which depend on the machine.

\`make bench\` measures everything but the soak (\`PART=speed\`, \`scale\`, \`rollouts\`, \`faults\` or \`hostile\` one part of
it), \`make soak\` runs for an hour; both write this page from \`bench/results/\`. \`make bench-check\` measures the speed for
a few minutes and fails where a ratio is far worse than the one that stands here. The machine should do nothing else meanwhile.
`;

export function renderPage(results: readonly PartResult[]): string {
  const measured = PARTS.flatMap((part) => results.filter((result) => result.part === part));
  const missing = PARTS.filter((part) => !measured.some((result) => result.part === part));
  const names = missing.map((part) => TITLES[part].toLowerCase()).join(", ");
  const unmeasured = missing.length === 0 ? [] : [`Not measured yet: ${names}.\n`];
  return [INTRODUCTION, ...summary(measured), ...unmeasured, ...measured.map(section)].join("\n");
}

function summary(results: readonly PartResult[]): string[] {
  const rows = results.flatMap(({ part, tables }) =>
    tables.flatMap((table) => table.rows.map((row) => ({ part, row, met: isMet(row) }))),
  );
  const withGoal = rows.filter(({ met }) => met !== undefined);
  if (withGoal.length === 0) return [];
  const missed = withGoal.filter(({ met }) => met === false);
  const met = `${withGoal.length - missed.length} of ${withGoal.length} goals are met.`;
  if (missed.length === 0) return [`${met}\n`];
  const list = missed.map(({ part, row }) => {
    const goal = `${goalText(row)} ${row.unit}`;
    return `- ${TITLES[part]}: ${row.work}: ${measuredText(row)}, the goal is ${goal}`;
  });
  return [`${met} Missed:\n\n${list.join("\n")}\n`];
}

function section({ part, command, date, machine, tables, plots, notes }: PartResult): string {
  return [
    `## ${TITLES[part]}`,
    `\`${command}\` on ${date}: ${machineText(machine)}.`,
    ...tables.flatMap(tableText),
    ...(notes.length > 0 ? [notes.map((note) => `- ${note}`).join("\n")] : []),
    ...plots.map(plotText),
    "",
  ].join("\n\n");
}

function machineText({ cpu, cores, memoryGiB, kernel, versions }: Machine): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB of memory, Linux ${kernel}; ${list.join(", ")}`;
}

function tableText({ title, rows }: Table): string[] {
  const head = "| work | goal | measured | unit | met | figures |\n| --- | --- | --- | --- | --- | --- |";
  const body = rows.map((row) => {
    const cells = [row.work, goalText(row), measuredText(row), row.unit, metText(row), row.note ?? ""];
    return `| ${cells.map(cell).join(" | ")} |`;
  });
  return [`### ${title}`, [head, ...body].join("\n")];
}

function plotText({ file, title }: Plot): string {
  return `![${title}](benchmarks/${file}.svg)`;
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
