/** Prints the plan of a rollout: as tables, as JSON, and as a picture. */

import { namespacedName } from "../../lib/keys.ts";
import { counted } from "../../lib/counted.ts";
import { firstNames, MANY_SHOWN } from "../../lib/first-names.ts";
import { durationText } from "../../lib/duration.ts";
import type { PlannedStage } from "../../rollouts/plan.ts";
import { MAX_AWAITED } from "../../api/hook-policy.ts";
import { waitsForText } from "../../page/stage-text.ts";
import { type Advice, advice, adviceWords, type CommandWords, run } from "../terminal/printed-command.ts";
import { fittingLines } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { wrapped } from "../terminal/tree.ts";
import { escapeXml } from "../terminal/xml.ts";
import type { FleetPlan } from "./fleet-plan.ts";

export function planLines(plan: FleetPlan, durationMs: number, view: Terminal & CommandWords): string[] {
  const { rollout, from, stages, clusters, noStage, later, target } = plan;
  const warnings = [...plan.impossible, ...plan.doubts];
  const wrap = (texts: readonly Advice[]): string[] =>
    texts.flatMap((text) => wrapped(adviceWords(text, view), view.columns, "  "));
  if (selectsNothing(plan)) return wrap([...warnings, ...restLines(plan)]);
  const never = plan.never.filter((name) => !noStage.includes(name) && !plan.past.includes(name));
  const isUnknown = hasUnknown(plan);
  const needy = clusters.filter(({ needsAction }) => needsAction).length;
  const rows = stages.map((stage) => [
    stage.name,
    String(stage.clusters),
    String(stage.succeeded),
    ...timesOf(stage, from, isUnknown),
  ]);
  const to = target === undefined ? "" : ` to ${target}`;
  const title = `HookRollout ${rollout.name}${to} from ${minute(from)} on, if every operation takes ${durationText(durationMs)} and none fails:`;
  const below = [
    lastLine(plan),
    ...assumptions(plan),
    ...pauseLines(plan),
    ...stages.flatMap((stage) => awaitedLine(stage) ?? []),
    ...listed(plan.halted || isAwaited(plan) ? "Waiting for that" : "Waiting for an earlier stage", later),
    needy > 0 &&
      `${counted(needy, "Cluster")} must be released by an action first, such as an approval; the plan assumes that.`,
    ...listed("Never begun", never),
    ...restLines(plan),
  ].filter((line) => line !== false);
  const headings = ["STAGE", "CLUSTERS", "SUCCEEDED", "BEGINS", "ENDS", "PASSES"];
  return [...wrap([...warnings, title]), ...fittingLines(headings, rows, view), ...wrap(below)];
}

function pauseLines({ pauses }: FleetPlan): string[] {
  const shown = pauses
    .slice(0, MANY_SHOWN)
    .map(
      ({ from, to, by, clusters }) =>
        `From ${minute(from)} to ${minute(to)}, whatever slots are free: waiting for ${by} (${counted(clusters, "Cluster")})`,
    );
  const more = pauses.length - shown.length;
  return more > 0 ? [...shown, `${counted(more, "more such wait")} (-o json lists all)`] : shown;
}

function restLines({ noStage, stageUnknown, stand, outside, withoutTopology, rollout }: FleetPlan): string[] {
  return [
    ...listed("Selected by no stage, so never begun", noStage),
    ...listed("In an unknown stage, without their Namespaces, with labels, among the files", stageUnknown),
    ...listed("Left out, because they failed, are unhealthy or paused", stand),
    ...listed(`In no ${rollout.operation.toLowerCase()} rollout, so would begin without a slot`, outside),
    ...listed("Without spec.topology, so Cluster API asks nothing about them", withoutTopology),
  ];
}

function selectsNothing({ stages, noStage, stageUnknown }: FleetPlan): boolean {
  return noStage.length + stageUnknown.length === 0 && stages.every(({ clusters }) => clusters === 0);
}

/** Whether a time that the plan does not give may come all the same: it is no "never". */
function hasUnknown(plan: FleetPlan): boolean {
  const { later, closed, stageUnknown } = plan;
  return isAwaited(plan) || [later, closed, stageUnknown].some(({ length }) => length > 0);
}

function isAwaited({ stages }: FleetPlan): boolean {
  return stages.some(({ waitsFor }) => waitsFor.length > 0);
}

function lastLine(plan: FleetPlan): string {
  const { from, never, stand, stages, impossible, clusters } = plan;
  const end = endOf(plan);
  const isUnknown = hasUnknown(plan);
  const rest = never.length + stand.length;
  if (end === undefined) {
    if (impossible.length > 0) return "No Cluster begins.";
    if (isUnknown) return "No Cluster begins at a time that is known.";
    const isDone = rest === 0 && stages.every((stage) => stage.clusters === stage.succeeded);
    return isDone ? "Every Cluster has succeeded." : "No Cluster begins.";
  }
  const isDone = `is done at ${minute(end)}, after ${durationText(end.getTime() - from.getTime())}`;
  if (impossible.length > 0) return `Otherwise, the last Cluster ${isDone}.`;
  if (isUnknown) return `The last Cluster that begins at a known time ${isDone}.`;
  if (rest === 0) return `The last Cluster ${isDone}.`;
  const { length } = clusters;
  const last = length === 1 ? "The only Cluster that begins" : `The last of ${length} Clusters that begin`;
  return `${last} ${isDone}; ${rest === 1 ? "1 other does" : `${rest} others do`} not begin.`;
}

/** Before any Cluster is asked, that is not worth saying. */
function assumptions({ rollout, halted, unasked, stages }: FleetPlan): Advice[] {
  const all = stages.reduce((sum, { clusters }) => sum + clusters, 0);
  const { name, paused } = rollout;
  return [
    halted && advice`The rollout is halted, so nothing begins: ${run(`hookpolicy rollout status ${name}`)}`,
    paused && "The rollout is paused; the plan assumes that it is resumed.",
    ...listed(
      "Not asked for this version yet; the plan assumes that they are",
      unasked.length < all ? unasked : [],
    ),
  ].filter((line) => line !== false);
}

function awaitedLine({ waitsFor, ...stage }: PlannedStage): string | undefined {
  const shown = waitsFor.slice(0, MAX_AWAITED);
  const text = waitsForText({ ...stage, waitsFor: shown });
  return text === undefined ? undefined : `Stage ${text}. The plan has no time for what comes after that.`;
}

function timesOf(stage: PlannedStage, from: Date, isUnknown: boolean): string[] {
  const { begins, ends, passes } = stage;
  const isDone = stage.succeeded === stage.clusters;
  const unknown = isUnknown ? "unknown" : "never";
  const times = [begins, ends].map((at) => (at === undefined ? (isDone ? "-" : unknown) : minute(at)));
  const passText = passes === undefined ? unknown : passes <= from ? "at once" : minute(passes);
  return [...times, stage.passed ? "passed" : passText];
}

function endOf({ clusters }: FleetPlan): Date | undefined {
  const last = Math.max(...clusters.map(({ ends }) => ends.getTime()));
  return Number.isFinite(last) ? new Date(last) : undefined;
}

/** "Never begun: a, b" */
function listed(what: string, names: readonly string[]): string[] {
  const hint = names.length > MANY_SHOWN ? " (-o json lists all)" : "";
  return names.length === 0 ? [] : [`${what}: ${firstNames(names, MANY_SHOWN)}${hint}`];
}

function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16)}Z`;
}

/** Schema: schemas/output/rolloutplan.json. */
export function planJson({ rollout, ...plan }: FleetPlan): object {
  return { rollout: rollout.name, ...plan };
}

const WIDTH = 960;
const LEFT = 160;
const ROW = 6;
const BY_TIME = "#2f6fde";
const NEEDS_ACTION = "#c98a1b";
/** Its title and its legend are above. */
const TOP = 60;

/** A row for the name of each stage, a row for each of its Clusters, and some space. */
export function planSvg(plan: FleetPlan): string {
  const { rollout, from, stages, clusters } = plan;
  const end = endOf(plan) ?? from;
  const scale = (WIDTH - LEFT - ROW) / Math.max(1, end.getTime() - from.getTime());
  const x = (at: Date): number => LEFT + Math.max(0, at.getTime() - from.getTime()) * scale;
  const rows = stages.flatMap(({ name, clusters: count }) => [
    (y: number) => `<text x="8" y="${y + ROW}">${escapeXml(`${name} (${count})`)}</text>`,
    ...clusters
      .filter(({ stage }) => stage === name)
      .map((each) => (y: number) => {
        const width = Math.max(1, x(each.ends) - x(each.begins)).toFixed(1);
        const action = each.needsAction ? ", after an action such as an approval" : "";
        const title = `${namespacedName(each)}: ${minute(each.begins)} to ${minute(each.ends)}${action}`;
        const fill = each.needsAction ? NEEDS_ACTION : BY_TIME;
        return `<rect x="${x(each.begins).toFixed(1)}" y="${y}" width="${width}" height="${ROW - 1}" fill="${fill}"><title>${escapeXml(title)}</title></rect>`;
      }),
    ...Array.from({ length: 3 }, () => () => ""),
  ]);
  const title = escapeXml(`HookRollout ${rollout.name}, ${minute(from)} to ${minute(end)}`);
  const height = TOP + rows.length * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img" aria-label="${title}">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="8" y="20" font-size="14">${title}</text>`,
    ...legend(8, BY_TIME, "begins by itself"),
    ...legend(LEFT, NEEDS_ACTION, "begins after an action such as an approval"),
    ...rows.map((draw, row) => draw(TOP + row * ROW)).filter((text) => text !== ""),
    "</svg>",
    "",
  ].join("\n");
}

function legend(x: number, fill: string, words: string): string[] {
  return [
    `<rect x="${x}" y="32" width="10" height="10" fill="${fill}"/>`,
    `<text x="${x + 16}" y="41">${words}</text>`,
  ];
}
