/** Prints the plan of a rollout: as tables, as JSON, and as a picture. */

import { namespacedName } from "../../lib/keys.ts";
import { counted } from "../../lib/counted.ts";
import { durationText } from "../../lib/duration.ts";
import type { PlannedStage } from "../../rollouts/plan.ts";
import { MAX_AWAITED } from "../../api/hook-policy.ts";
import { waitsForText } from "./stage-text.ts";
import { tableLines } from "../terminal/table.ts";
import { escapeXml } from "../terminal/xml.ts";
import type { FleetPlan } from "./fleet-plan.ts";
import { NO_POLICY } from "./plan-doubts.ts";

const MAX_LISTED = 20;

export function planLines(plan: FleetPlan, durationMs: number): string[] {
  const { rollout, from, stages, clusters, noStage, later, target } = plan;
  const never = plan.never.filter((name) => !noStage.includes(name) && !plan.past.includes(name));
  const isUnknown = hasUnknown(plan);
  const needy = clusters.filter(({ needsAction }) => needsAction).length;
  const rows = stages.map((stage) => [
    stage.name,
    String(stage.clusters),
    String(stage.succeeded),
    ...timesOf(stage, plan.from, isUnknown),
  ]);
  const to = target === undefined ? "" : ` to ${target}`;
  const heading = `HookRollout ${rollout.name}${to} from ${minute(from)} on, if every operation takes ${durationText(durationMs)} and none fails:`;
  const { true: last = [], false: grave = [] } = Object.groupBy(
    plan.doubts,
    (text) => `${text === NO_POLICY}`,
  );
  const first = [...plan.impossible, ...grave];
  if (selectsNothing(plan)) return [...first, ...restLines(plan)];
  return [
    ...first,
    heading,
    ...tableLines(["STAGE", "CLUSTERS", "SUCCEEDED", "BEGINS", "ENDS", "PASSES"], rows),
    lastLine(plan),
    ...last,
    ...assumptions(plan),
    ...pauseLines(plan),
    ...stages.flatMap((stage) => awaitedLine(stage) ?? []),
    ...told(later, "waits for that", "wait for that"),
    needy > 0 &&
      `${counted(needy, "Cluster")} must be released by an action first, such as an approval; the plan assumes that.`,
    ...told(never, "never begins", "never begin"),
    ...(plan.stageUnknown.length > 0 ? [] : emptyStage(stages)),
    ...restLines(plan),
  ].filter((line) => line !== false);
}

const MAX_PAUSES = 10;

function pauseLines({ pauses }: FleetPlan): string[] {
  const shown = pauses
    .slice(0, MAX_PAUSES)
    .map(
      ({ from, to, by, clusters }) =>
        `From ${minute(from)} to ${minute(to)}, whatever slots are free, ${counted(clusters, "Cluster")} wait${clusters === 1 ? "s" : ""} for ${by}`,
    );
  const more = pauses.length - shown.length;
  return more > 0 ? [...shown, `${counted(more, "more such wait")} (-o json lists all)`] : shown;
}

function restLines({ noStage, stageUnknown, stand, outside, withoutTopology, rollout }: FleetPlan): string[] {
  const operation = rollout.operation.toLowerCase();
  return [
    ...told(noStage, "that no stage selects never begins", "that no stage selects never begin"),
    ...told(
      stageUnknown,
      "whose stage is unknown without its Namespace, with labels, among the files",
      "whose stage is unknown without their Namespaces, with labels, among the files",
    ),
    ...told(stand, "that the plan leaves out, because they failed, are unhealthy or paused"),
    ...told(
      outside,
      `in no ${operation} rollout, which begins without a slot`,
      `in no ${operation} rollout, which begin without a slot`,
    ),
    ...told(withoutTopology, "without spec.topology, about which Cluster API asks nothing"),
  ];
}

function selectsNothing({ stages, noStage, stageUnknown }: FleetPlan): boolean {
  return noStage.length + stageUnknown.length === 0 && stages.every(({ clusters }) => clusters === 0);
}

/** Whether a time that the plan does not give may come all the same: it is no "never". */
function hasUnknown({ later, closed, stageUnknown, stages }: FleetPlan): boolean {
  const isAwaited = stages.some(({ waitsFor }) => waitsFor.length > 0);
  return isAwaited || [later, closed, stageUnknown].some(({ length }) => length > 0);
}

function lastLine(plan: FleetPlan): string {
  const { from, later, never, closed, stageUnknown, stand, stages, impossible } = plan;
  const end = endOf(plan);
  if (end === undefined) {
    if (impossible.length > 0) return "No Cluster begins.";
    const { length } = [...never, ...closed, ...stageUnknown, ...stand];
    if (length === 0 && stages.every(({ clusters, succeeded }) => clusters === succeeded))
      return "Every Cluster has succeeded.";
    return hasUnknown(plan) ? "No Cluster begins at a time that is known." : "No Cluster ever begins.";
  }
  const after = `at ${minute(end)}, after ${durationText(end.getTime() - from.getTime())}`;
  if (later.length > 0) return `The last Cluster whose time is known is done ${after}.`;
  const rest = [...never, ...closed, ...stageUnknown, ...stand].length;
  if (impossible.length > 0) return `Otherwise, the last Cluster would be done ${after}.`;
  if (rest === 0) return `The last Cluster is done ${after}.`;
  const begins = `The last of ${counted(plan.clusters.length, "Cluster")} that begin`;
  return `${begins} is done ${after}; ${rest === 1 ? "1 other does" : `${rest} others do`} not begin.`;
}

/** Before any Cluster is asked, that is not worth saying. */
function assumptions({ rollout, halted, unasked, stages }: FleetPlan): string[] {
  const all = stages.reduce((sum, { clusters }) => sum + clusters, 0);
  const { name, paused } = rollout;
  return [
    halted && `The rollout is halted, so nothing begins: hookpolicy rollout status ${name}`,
    paused && "The rollout is paused; the plan assumes that it is resumed.",
    ...told(
      unasked.length < all ? unasked : [],
      "is not asked for this version yet; the plan assumes that it is",
      "are not asked for this version yet; the plan assumes that they are",
    ),
  ].filter((line) => line !== false);
}

function awaitedLine({ waitsFor, ...stage }: PlannedStage): string | undefined {
  const shown = waitsFor.slice(0, MAX_AWAITED);
  const text = waitsForText({ ...stage, waitsFor: shown });
  return text === undefined ? undefined : `Stage ${text}. The plan has no time for what comes after that.`;
}

function emptyStage(stages: readonly PlannedStage[]): string[] {
  const end = stages.findIndex(({ passed, passes }) => !passed && passes === undefined);
  const stage = stages[end];
  if (stage === undefined || stage.clusters > 0 || end === stages.length - 1) return [];
  return [
    `Stage ${stage.name} has no Cluster, so the next one never begins: label Clusters for it, or set its minSucceeded to 0.`,
  ];
}

function timesOf(stage: PlannedStage, from: Date, isUnknown: boolean): string[] {
  const { begins, ends, passes } = stage;
  const isDone = stage.succeeded === stage.clusters;
  const unknown = isUnknown ? "unknown" : "never";
  const times = [begins, ends].map((at) => (at === undefined ? (isDone ? "-" : unknown) : minute(at)));
  return [...times, stage.passed ? "passed" : passes === undefined ? unknown : passText(passes, from)];
}

function passText(passes: Date, from: Date): string {
  return passes.getTime() === from.getTime() ? "at once" : minute(passes);
}

function endOf({ clusters }: FleetPlan): Date | undefined {
  const last = Math.max(...clusters.map(({ ends }) => ends.getTime()));
  return Number.isFinite(last) ? new Date(last) : undefined;
}

/** "2 Clusters that no stage selects never begin: a, b" */
function told(names: readonly string[], ofOne: string, ofMany = ofOne): string[] {
  if (names.length === 0) return [];
  return [`${counted(names.length, "Cluster")} ${names.length === 1 ? ofOne : ofMany}: ${listed(names)}`];
}

function listed(names: readonly string[]): string {
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more (-o json lists all)` : "";
  return `${names.slice(0, MAX_LISTED).join(", ")}${more}`;
}

function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16)}Z`;
}

/** Schema: schemas/output/rolloutplan.json. */
export function planJson({ rollout, target, ...plan }: FleetPlan): object {
  return { rollout: rollout.name, ...(target !== undefined && { target }), ...plan };
}

const WIDTH = 960;
const LEFT = 160;
const ROW = 6;
const GAP = 26;
const COLOURS = ["#2f6fde", "#1a8a5a", "#b5651d", "#8a4fbf"];

export function planSvg(plan: FleetPlan): string {
  const { rollout, from, stages, clusters } = plan;
  const spanMs = Math.max(1, (endOf(plan)?.getTime() ?? 0) - from.getTime());
  const x = (at: Date): string =>
    (LEFT + (Math.max(0, at.getTime() - from.getTime()) / spanMs) * (WIDTH - LEFT - 20)).toFixed(1);
  let y = 40;
  const lanes = stages.map((stage, index) => {
    const own = clusters.filter((each) => each.stage === stage.name);
    const top = y;
    y += Math.max(1, own.length) * ROW + GAP;
    const colour = COLOURS[index % COLOURS.length] ?? "";
    const bars = own.map((each, row) => {
      const [left, right] = [x(each.begins), x(each.ends)];
      const width = Math.max(1, Number(right) - Number(left)).toFixed(1);
      const title = `${namespacedName(each)}: ${minute(each.begins)} to ${minute(each.ends)}`;
      return `<rect x="${left}" y="${top + row * ROW}" width="${width}" height="${ROW - 1}" fill="${colour}"><title>${escapeXml(title)}</title></rect>`;
    });
    const label = `<text x="8" y="${top + ROW + 4}">${escapeXml(`${stage.name} (${stage.clusters})`)}</text>`;
    return [label, ...bars].join("");
  });
  const title = `HookRollout ${rollout.name}, ${minute(from)} to ${minute(endOf(plan) ?? from)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 10}" font-family="sans-serif" font-size="12" role="img" aria-label="${escapeXml(title)}">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="8" y="20" font-size="14">${escapeXml(title)}</text>`,
    ...lanes,
    "</svg>",
    "",
  ].join("\n");
}
