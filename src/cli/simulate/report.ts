/** Prints the result of a simulation as text, JSON and Markdown. */

import { isFields } from "../../lib/fields.ts";
import { counted } from "../../lib/counted.ts";
import { firstNames } from "../../lib/first-names.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { durationText } from "../../lib/duration.ts";
import { after as later, timestamp } from "../../lib/instant.ts";
import type { Colour } from "../terminal/colour.ts";
import { markdownBlock, markdownParts, markdownTable, markdownText } from "../terminal/markdown.ts";
import type { AnswerRule, Doubt, SimulatedAnswer } from "./answer.ts";
import type { FieldChange, SpecChange } from "./spec-changes.ts";
import { type Change, type ChangeKind, CHANGES } from "./comparison.ts";
import type { Times } from "./request-turns.ts";
import { taskGroups } from "./simulated-tasks.ts";
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
  /** Why an unknown change is unknown. */
  readonly because?: string;
  readonly clusters: readonly string[];
  readonly first: Change;
}

const MAX_NAMED = 5;

export function simulationLines(
  simulation: Simulation,
  times: Times,
  { colour, columns = Infinity }: Terminal,
): string[] {
  const groups = groupsOf(simulation);
  const fitting = (lines: readonly string[], indent: string): string[] =>
    lines.flatMap((line) => wrapped(line, columns, indent));
  return paragraphs([
    simulation.specs.flatMap((spec) => specLines(spec).flatMap((line) => fitting([line], "      "))),
    ...groups.map((group) => fitting(groupLines(group, times, colour), " ".repeat(12))),
    taskLines(simulation).flatMap((line) => fitting([line], " ".repeat(12))),
    hookTable(simulation),
    fitting([...totals(simulation, times), ...leftOut(groups), ...notes(simulation, times)], "  "),
  ]);
}

export function specLines({ object, change, fields }: SpecChange): string[] {
  const lines = fields.map((field) => `  ${fieldText(field)}`);
  return [`${object} is ${change}${lines.length > 0 ? ":" : ""}`, ...lines];
}

function fieldText({ path, before, after }: FieldChange): string {
  if (before === undefined && isFields(after)) return `${path} is added`;
  if (after === undefined && isFields(before)) return `${path} is removed`;
  return `${path}: ${valueText(before)} → ${valueText(after)}`;
}

function valueText(value: unknown): string {
  if (value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A hint to -o json if the text leaves out Clusters or rules. */
function leftOut(groups: readonly Group[]): string[] {
  const isShort = groups.some(
    ({ first, clusters }) =>
      clusters.length > MAX_NAMED || first.before.rules.length > 1 || first.after.rules.length > 1,
  );
  return isShort ? ["-o json lists every Cluster and every rule"] : [];
}

const COLOURS = {
  "newly-blocked": "red",
  "newly-allowed": "yellow",
  "changed-reason": "cyan",
  unknown: "yellow",
} as const satisfies Readonly<Record<ChangeKind, keyof Colour>>;

function groupLines(
  { change, hook, before, after, because, clusters, first }: Group,
  { to }: Times,
  colour: Colour,
): string[] {
  return [
    `${colour[COLOURS[change]](title(change))}: ${hook}`,
    `  before    ${before}`,
    `  after     ${after}`,
    ...(because === undefined ? [] : [`  because   ${because}`]),
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
    ...(first.doubts !== undefined && { because: first.doubts.map(doubtText).join("; ") }),
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

/** For the page, which shows why a change is unknown beside what comes after it. */
export function changeGroups(simulation: Simulation): readonly Omit<Group, "first" | "because">[] {
  return groupsOf(simulation).map(({ first: _, because, after, ...group }) => ({
    ...group,
    after: withReason(after, because),
  }));
}

/** The verdict, and the first rule that caused it, preferably a rule that the other answer lacks. */
function answerText({ verdict, rules }: SimulatedAnswer, other: SimulatedAnswer): string {
  const has = new Set(other.rules.map(ruleText));
  const [own] = rules.filter((rule) => !has.has(ruleText(rule)));
  const [first] = rules;
  if (first === undefined) return verdict;
  if (own === undefined && rules.length > 1) return `${verdict} by ${rules.length} of the same rules`;
  const more = rules.length > 1 ? `, and ${rules.length - 1} more` : "";
  return `${verdict} by ${ruleText(own ?? first)}${more}`;
}

function doubtText({ policy, rule, message }: Doubt): string {
  return `${rule === "" ? policy : `${policy} ${rule}`}: ${message}`;
}

function withReason(after: string, because: string | undefined): string {
  return because === undefined ? after : `${after}; ${because}`;
}

function ruleText({ policy, rule, gate, reason }: AnswerRule): string {
  return `${policy} ${[rule, ...(gate === undefined ? [] : [gate])].join("/")} (${reason})`;
}

function named(clusters: readonly string[]): string {
  const names = firstNames(clusters, MAX_NAMED);
  return clusters.length === 1 ? names : `${clusters.length}: ${names}`;
}

function taskLines({ tasks }: Simulation): readonly string[] {
  return taskGroups(tasks).flatMap(({ hook, policy, rule, task, mode, deed, problem, clusters }) => {
    const audit = mode === "Audit" ? " (mode Audit: it begins nothing)" : "";
    const what =
      deed === undefined ? `nothing, and the rule holds: ${problem}` : `${deed} (-o yaml shows it)`;
    return [
      `task ${task}: ${hook}${audit}`,
      `  of        ${policy} ${rule}`,
      `  does      ${what}`,
      `  clusters  ${named(clusters)}`,
    ];
  });
}

function when({ from, seconds }: Change): string {
  return `${timestamp(from)}, ${durationText(seconds * 1000)} in all`;
}

export function totals(simulation: Simulation, { from, to }: Times): readonly [string, string] {
  const { clusters, operations, skipped, blockedBefore, blockedAfter } = simulation;
  const { requests, deniedBefore, deniedAfter, policiesBefore } = simulation;
  const counts = CHANGES.map((kind) => `${countOf(simulation, kind)} ${title(kind)}`);
  const time = to === undefined ? `at ${timestamp(from)}` : `from ${timestamp(from)} to ${timestamp(to)}`;
  const left = skipped === 0 ? "" : `; ${skipped} skipped, for which Cluster API calls no hook`;
  const asked = requests === 0 ? "" : ` and ${counted(requests, "request")} at admission`;
  const without = policiesBefore === 0 ? " (without any policy)" : "";
  const denied = requests === 0 ? "" : `; denied at admission: ${deniedBefore} before, ${deniedAfter} after`;
  return [
    `${counts.join(", ")}: ${counted(operations, "operation")} of ${counted(clusters, "Cluster")}${asked} ${time}${left}`,
    `blocked at ${timestamp(from)}: ${blockedBefore} before${without}, ${blockedAfter} after${denied}`,
  ];
}

function notes(simulation: Simulation, times: Times): string[] {
  return [...rolloutNote(simulation), ...unseenNote(simulation), ...instantNote(simulation, times)];
}

/** What a rollout holds today hides that policies hold it no more. */
function rolloutNote({ heldByRolloutAlone: count }: Simulation): string[] {
  if (count === 0) return [];
  const held = count === 1 ? "1 Cluster is" : `${count} Clusters are`;
  return [
    `${held} held by a HookRollout alone after the change: policies no longer do, which is not newly allowed while the rollout holds`,
  ];
}

/** No difference is no proof that nothing was loosened. */
function unseenNote({ unseen }: Simulation): string[] {
  if (unseen.length === 0) return [];
  const what = "an approval, an object, a window or another version (--to-version) can show one";
  const plan = unseen.some((each) => each.startsWith("HookRollout "))
    ? "; for a rollout, hookpolicy rollout plan shows when each Cluster begins"
    : "";
  return [`changed, without a difference in any answer: ${firstNames(unseen, MAX_NAMED)}; ${what}${plan}`];
}

const WEEK = 7 * 24 * 3_600_000;

/** That windows can make a difference at other times. */
function instantNote({ windowed }: Simulation, { from, to }: Times): string[] {
  if (to !== undefined || windowed.length === 0) return [];
  const who = windowed.length === 1 ? `${windowed[0]} has` : `${windowed.length} policies have`;
  const span = `--from ${timestamp(from)} --to ${timestamp(later(from, WEEK))}`;
  return [`only this instant was compared, and ${who} windows: add ${span} to compare a week`];
}

export function simulationMarkdown(simulation: Simulation, times: Times): string {
  const groups = groupsOf(simulation);
  const [counts, blocked] = totals(simulation, times);
  const more = [...leftOut(groups), ...notes(simulation, times)].map((line) => `${markdownText(line)}\n\n`);
  const head = `### HookPolicy simulation\n\n${counts}\n\n${blocked}\n${more.length > 0 ? `\n${more.join("").trimEnd()}\n` : ""}`;
  const specs = specRows(simulation.specs);
  const objects =
    specs.length === 0 ? [] : ["\n", ...tableParts(["Object", "Field", "Before", "After"], specs)];
  const warnings = simulation.selectsNothing.map((line) => `\n**Warning**: ${markdownText(line)}\n`);
  const parts = [
    ...warnings,
    ...objects,
    ...(groups.length === 0 ? [] : ["\n", ...groupParts(groups, times)]),
    ...(simulation.tasks.length === 0 ? [] : [`\n${markdownBlock(taskLines(simulation))}`]),
  ];
  return markdownParts(head, parts, "rows");
}

function specRows(specs: readonly SpecChange[]): string[][] {
  const rows = specs.flatMap(({ object, change, fields }) =>
    change === "changed"
      ? fields.map(({ path, before, after }) => [object, path, valueText(before), valueText(after)])
      : [[object, change, "", ""]],
  );
  return rows.map((cells) => cells.map(markdownText));
}

function groupParts(groups: readonly Group[], times: Times): readonly string[] {
  const time = times.to === undefined ? [] : ["When"];
  const titles = ["Change", "Hook", ...time, "Before", "After", "Clusters"];
  const rows = groups.map(({ change, hook, before, after, because, clusters, first }) => [
    change,
    hook,
    ...(times.to === undefined ? [] : [when(first)]),
    ...[before, withReason(after, because), named(clusters)].map(markdownText),
  ]);
  return tableParts(titles, rows);
}

/** Headings are no part of their own, so that none stands without rows. */
function tableParts(titles: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const [names = "", line = "", first = "", ...lines] = markdownTable(titles, rows).split(/(?<=\n)/);
  return [`${names}${line}${first}`, ...lines];
}

/** Schema: schemas/output/simulate.json. */
export function simulationJson(simulation: Simulation, { from, to }: Times): object {
  const {
    changes,
    specs,
    unseen,
    selectsNothing,
    notEvaluable: _,
    windowed: _windowed,
    skippingMinor: _skipping,
    tasks,
    ...numbers
  } = simulation;
  const counts = CHANGES.map((kind) => {
    const name = kind.replaceAll(/-(.)/g, (__, letter: string) => letter.toUpperCase());
    return [name, countOf(simulation, kind)] as const;
  });
  return {
    from: timestamp(from),
    ...(to !== undefined && { to: timestamp(to) }),
    totals: { ...numbers, ...Object.fromEntries(counts) },
    objects: specs,
    unseen,
    selectsNothing,
    ...(tasks.length > 0 && { tasks }),
    changes: changes.map(({ from: first, seconds, ...change }) => ({
      ...change,
      ...(to !== undefined && { from: timestamp(first), seconds }),
    })),
  };
}
