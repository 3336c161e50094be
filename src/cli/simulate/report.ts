/** Prints the result of a simulation as text, JSON and Markdown. */

import { isFields } from "../../lib/fields.ts";
import { counted } from "../../lib/counted.ts";
import { firstNames } from "../../lib/first-names.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { DAY_MS, durationText } from "../../lib/duration.ts";
import { after as later, timestamp } from "../../lib/instant.ts";
import { PLAIN } from "../terminal/colour.ts";
import { markdownReport } from "../terminal/markdown.ts";
import type { SimulatedEffect } from "../../page/wire.ts";
import type { AnswerRule, Doubt, SimulatedAnswer } from "./answer.ts";
import type { FieldChange, SpecChange } from "./spec-changes.ts";
import { type SimulatedChange, type ChangeKind, CHANGES, type Effect } from "./change.ts";
import type { Times } from "./request-turns.ts";
import { taskEffect } from "./simulated-tasks.ts";
import type { Simulation } from "./simulation.ts";
import { indented, paragraphs, wrapped } from "../terminal/tree.ts";

/** The totals come last on a terminal, and first in Markdown. */
function partsOf(simulation: Simulation, times: Times, terminal: Terminal): string[][] {
  const wrap = (lines: readonly string[]): string[] =>
    lines.flatMap((line) => wrapped(line, terminal.columns, "    "));
  return [
    ...simulation.specs.map(specLines).map(wrap),
    ...effectsOf(simulation, times).map((effect) => effectLines(effect, terminal)),
    wrap([...totals(simulation, times), ...notes(simulation, times)]),
  ];
}

export function simulationLines(simulation: Simulation, times: Times, terminal: Terminal): string[] {
  return paragraphs(partsOf(simulation, times, terminal));
}

export function simulationMarkdown(simulation: Simulation, times: Times): string {
  const parts = partsOf(simulation, times, { colour: PLAIN });
  const warnings = simulation.selectsNothing.map((line) => `warning: ${line}`);
  return markdownReport("HookPolicy simulation", [...parts.splice(-1), warnings, ...parts]);
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

function effectLines(
  { title, tone, hook, facts, clusters }: SimulatedEffect,
  { colour, columns }: Terminal,
): string[] {
  const details = facts.map(([label, text]) => ({ label, text }));
  return [
    `${(tone === "held" ? colour.red : colour.yellow)(title)}: ${hook}`,
    ...indented([...details, { label: "clusters", text: named(clusters) }], columns),
  ];
}

/** The hook, or the request at admission. */
function subjectOf({ hook, request }: SimulatedChange): string {
  return request === undefined ? hook : `${request} at admission`;
}

function countOf({ changes }: Simulation, kind: ChangeKind): number {
  return changes.filter(({ change }) => change === kind).length;
}

function wordsOf(kind: ChangeKind): string {
  return kind.replace("-", " ");
}

/** Those that differ only in the Cluster are one. Changes come first, by their kinds, then by the number of Clusters. */
export function effectsOf({ changes, tasks }: Simulation, { to }: Times): readonly SimulatedEffect[] {
  const ofChanges = CHANGES.flatMap((kind) => {
    const own = changes.filter(({ change }) => change === kind);
    return merged(own.map((change) => changeEffect(change, to))).toSorted(
      (a, b) => b.clusters.length - a.clusters.length,
    );
  });
  return [...ofChanges, ...merged(tasks.map(taskEffect))];
}

function merged(all: readonly Effect[]): readonly SimulatedEffect[] {
  const alike = Map.groupBy(all, ({ cluster: _, ...effect }) => JSON.stringify(effect));
  return [...alike.values()].flatMap((same) =>
    same
      .slice(0, 1)
      .map(({ cluster: _, ...effect }) => ({ ...effect, clusters: same.map(({ cluster }) => cluster) })),
  );
}

const TONES = {
  "newly-blocked": "held",
  "newly-allowed": "audit",
  "changed-reason": "busy",
  unknown: "audit",
} as const satisfies Readonly<Record<ChangeKind, SimulatedEffect["tone"]>>;

function changeEffect(change: SimulatedChange, to: Date | undefined): Effect {
  const { before, after, cluster, change: kind, doubts } = change;
  const why = doubts === undefined ? "" : `; unknown because ${doubts.map(doubtText).join("; ")}`;
  return {
    title: wordsOf(kind),
    tone: TONES[kind],
    hook: subjectOf(change),
    facts: [
      ["before", answerText(before, after)],
      ["after", `${answerText(after, before)}${why}`],
      ...(to === undefined ? [] : [["when", when(change)] as const]),
    ],
    cluster,
  };
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

function ruleText({ policy, rule, gate, reason }: AnswerRule): string {
  return `${policy} ${[rule, ...(gate === undefined ? [] : [gate])].join("/")} (${reason})`;
}

function named(clusters: readonly string[]): string {
  const names = firstNames(clusters);
  return clusters.length === 1 ? names : `${clusters.length}: ${names}`;
}

function when({ from, seconds }: SimulatedChange): string {
  return `${timestamp(from)}, ${durationText(seconds * 1000)} in all`;
}

export function totals(simulation: Simulation, { from, to }: Times): readonly [string, string] {
  const { clusters, operations, skipped, blockedBefore, blockedAfter } = simulation.totals;
  const { requests, deniedBefore, deniedAfter, policiesBefore } = simulation.totals;
  const counts = CHANGES.map((kind) => `${countOf(simulation, kind)} ${wordsOf(kind)}`);
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

const WEEK = 7 * DAY_MS;

/** No difference is no proof that nothing was loosened. */
function notes(
  { changes, tasks, totals: { heldByRolloutAlone }, unseen, windowed }: Simulation,
  { from, to }: Times,
): string[] {
  const week = `--from ${timestamp(from)} --to ${timestamp(later(from, WEEK))}`;
  const told = [
    [changes.length > 0, "-o json lists every Cluster and every rule"],
    [tasks.length > 0, "-o yaml shows what each task creates, applies or deletes"],
    [
      heldByRolloutAlone > 0,
      `held by a HookRollout alone after the change: ${counted(heldByRolloutAlone, "Cluster")}; policies no longer do, which is not newly allowed while the rollout holds`,
    ],
    [
      unseen.length > 0,
      `changed, without a difference in any answer: ${firstNames(unseen)}; an approval, an object, a window or another version (--to-version) can show one, and hookpolicy rollout plan what a rollout does`,
    ],
    [
      to === undefined && windowed.length > 0,
      `only this instant was compared, and windows can change the answer of ${firstNames(windowed)}: add ${week} to compare a week`,
    ],
  ] as const;
  return told.flatMap(([is, line]) => (is ? [line] : []));
}

/** Schema: schemas/output/simulate.json. */
export function simulationJson(simulation: Simulation, { from, to }: Times): object {
  const { changes, specs, unseen, selectsNothing, tasks } = simulation;
  const counts = CHANGES.map((kind) => {
    const name = kind.replaceAll(/-(.)/g, (__, letter: string) => letter.toUpperCase());
    return [name, countOf(simulation, kind)] as const;
  });
  return {
    from: timestamp(from),
    ...(to !== undefined && { to: timestamp(to) }),
    totals: { ...simulation.totals, ...Object.fromEntries(counts) },
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
