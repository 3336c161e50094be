/** Prints the result of a simulation as text, JSON and Markdown. */

import { firstNames } from "../../lib/first-names.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { durationText } from "../../policy/duration.ts";
import { timestamp } from "../../policy/instant.ts";
import type { Colour } from "../terminal/colour.ts";
import { markdownParts, markdownTable, markdownText } from "../terminal/markdown.ts";
import type { Answer, AnswerRule } from "./answer.ts";
import { type Change, type ChangeKind, CHANGES } from "./comparison.ts";
import type { Times } from "./request-changes.ts";
import { countOf, type Simulation } from "./simulation.ts";
import { tableLines } from "../terminal/table.ts";
import { paragraphs, wrapped } from "../terminal/tree.ts";

/** Changes that differ only in the Cluster, in words. */
interface Group {
  readonly change: ChangeKind;
  /** The hook, or the request at admission. */
  readonly hook: string;
  readonly before: string;
  readonly after: string;
  readonly clusters: readonly string[];
  readonly first: Change;
}

const MAX_NAMED = 5;

/** The groups of changes, the totals by hook, and the totals. */
export function simulationLines(
  simulation: Simulation,
  times: Times,
  { colour, columns = Infinity }: Terminal,
): string[] {
  const groups = groupsOf(simulation);
  const fitting = (lines: readonly string[], indent: string): string[] =>
    lines.flatMap((line) => wrapped(line, columns, indent));
  return paragraphs([
    ...groups.map((group) => fitting(groupLines(group, times, colour), " ".repeat(12))),
    hookTable(simulation),
    fitting([...totals(simulation, times), ...leftOut(groups)], "  "),
  ]);
}

/** A hint to -o json if the text leaves out Clusters or rules. */
function leftOut(groups: readonly Group[]): string[] {
  const isShort = groups.some(
    ({ first, clusters }) =>
      clusters.length > MAX_NAMED || first.before.rules.length > 1 || first.after.rules.length > 1,
  );
  return isShort ? ["-o json lists every Cluster and every rule"] : [];
}

function groupLines(
  { change, hook, before, after, clusters, first }: Group,
  { to }: Times,
  colour: Colour,
): string[] {
  const paint: Readonly<Record<ChangeKind, (text: string) => string>> = {
    "newly-blocked": colour.red,
    "newly-allowed": colour.yellow,
    "changed-reason": colour.cyan,
  };
  return [
    `${paint[change](title(change))}: ${hook}`,
    `  before    ${before}`,
    `  after     ${after}`,
    ...(to === undefined ? [] : [`  when      ${when(first)}`]),
    `  clusters  ${named(clusters)}`,
  ];
}

/** The hook, or the request at admission. */
function subjectOf({ hook, request }: Change): string {
  return request === undefined ? hook : `${request} at admission`;
}

function title(kind: ChangeKind): string {
  return kind.replace("-", " ");
}

function hookTable({ changes }: Simulation): string[] {
  const rows = [...Map.groupBy(changes, subjectOf)].map(([hook, found]) => [
    hook,
    ...CHANGES.map((kind) => String(found.filter(({ change }) => change === kind).length)),
  ]);
  return tableLines(["HOOK", ...CHANGES.map((kind) => title(kind).toUpperCase())], rows);
}

/** Sorted by the kind of change; groups with many Clusters come first. */
function groupsOf({ changes }: Simulation): Group[] {
  const told = changes.map((first) => ({
    change: first.change,
    hook: subjectOf(first),
    before: answerText(first.before, first.after),
    after: answerText(first.after, first.before),
    first,
  }));
  const alike = Map.groupBy(told, ({ first: { from, seconds }, ...texts }) =>
    JSON.stringify([texts, from, seconds]),
  );
  const groups = [...alike.values()].flatMap((group): Group[] => {
    const [one] = group;
    return one === undefined ? [] : [{ ...one, clusters: group.map(({ first }) => first.cluster) }];
  });
  const rank = ({ change }: Group): number => CHANGES.indexOf(change);
  return groups.toSorted((a, b) => rank(a) - rank(b) || b.clusters.length - a.clusters.length);
}

export function changeGroups(simulation: Simulation): readonly Omit<Group, "first">[] {
  return groupsOf(simulation).map(({ first: _, ...group }) => group);
}

/** The verdict, and the first rule that caused it, preferably a rule that the other answer lacks. */
function answerText({ verdict, rules }: Answer, other: Answer): string {
  const has = new Set(other.rules.map(ruleText));
  const [own] = rules.filter((rule) => !has.has(ruleText(rule)));
  const [first] = rules;
  if (first === undefined) return verdict;
  if (own === undefined && rules.length > 1) return `${verdict} by ${rules.length} of the same rules`;
  const more = rules.length > 1 ? `, and ${rules.length - 1} more` : "";
  return `${verdict} by ${ruleText(own ?? first)}${more}`;
}

function ruleText({ policy, rule, gate, reason }: AnswerRule): string {
  return `${policy} ${[rule, ...(gate === undefined ? [] : [gate])].join("/")} (${reason})`;
}

function named(clusters: readonly string[]): string {
  const names = firstNames(clusters, MAX_NAMED);
  return clusters.length === 1 ? names : `${clusters.length}: ${names}`;
}

function when({ from, seconds }: Change): string {
  return `${timestamp(from)}, ${durationText(seconds * 1000)}`;
}

export function totals(simulation: Simulation, { from, to }: Times): readonly [string, string] {
  const { clusters, operations, skipped, blockedBefore, blockedAfter } = simulation;
  const { requests, deniedBefore, deniedAfter } = simulation;
  const counts = CHANGES.map((kind) => `${countOf(simulation, kind)} ${title(kind)}`);
  const time = to === undefined ? `at ${timestamp(from)}` : `from ${timestamp(from)} to ${timestamp(to)}`;
  const left = skipped === 0 ? "" : `; ${skipped} skipped, for which Cluster API calls no hook`;
  const asked = requests === 0 ? "" : ` and ${requests} requests at admission`;
  const denied = requests === 0 ? "" : `; denied at admission: ${deniedBefore} before, ${deniedAfter} after`;
  return [
    `${counts.join(", ")}: ${operations} operations of ${clusters} Clusters${asked} ${time}${left}`,
    `blocked at ${timestamp(from)}: ${blockedBefore} before, ${blockedAfter} after${denied}`,
  ];
}

export function simulationMarkdown(simulation: Simulation, times: Times): string {
  const groups = groupsOf(simulation);
  const [counts, blocked] = totals(simulation, times);
  const more = leftOut(groups).map((line) => `${line}\n\n`);
  const head = `### HookPolicy simulation\n\n${counts}\n\n${blocked}\n${more.length > 0 ? `\n${more.join("").trimEnd()}\n` : ""}`;
  if (groups.length === 0) return head;
  const time = times.to === undefined ? [] : ["When"];
  const titles = ["Change", "Hook", ...time, "Before", "After", "Clusters"];
  const rows = groups.map(({ change, hook, before, after, clusters, first }) => [
    change,
    hook,
    ...(times.to === undefined ? [] : [when(first)]),
    ...[before, after, named(clusters)].map(markdownText),
  ]);
  const [names = "", line = "", ...lines] = markdownTable(titles, rows).split(/(?<=\n)/);
  return markdownParts(`${head}\n${names}${line}`, lines, "rows");
}

/** Schema: schemas/output/simulate.json. */
export function simulationJson(simulation: Simulation, { from, to }: Times): object {
  const { changes, notEvaluable: _, skippingMinor: _skipping, ...counted } = simulation;
  const counts = CHANGES.map((kind) => [camelCase(kind), countOf(simulation, kind)] as const);
  return {
    from: timestamp(from),
    ...(to !== undefined && { to: timestamp(to) }),
    totals: { ...counted, ...Object.fromEntries(counts) },
    changes: changes.map(({ from: first, seconds, ...change }) => ({
      ...change,
      ...(to !== undefined && { from: timestamp(first), seconds }),
    })),
  };
}

function camelCase(kind: ChangeKind): string {
  return kind.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
