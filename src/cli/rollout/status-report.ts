/** Prints how far rollouts are, from their statuses alone, so that every reader sees the same. */

import { namespacedName } from "../../lib/keys.ts";
import {
  CONDITION,
  type HookRollout,
  REASON,
  type RolloutClaim,
  type RolloutFailure,
  type RolloutTarget,
} from "../../api/hook-policy.ts";
import { conditionOf, type Condition } from "../../api/meta.ts";
import { lookup } from "../../api/selector.ts";
import { printable } from "../../lib/printable.ts";
import { isRenewable } from "../../rollouts/claim.ts";
import { type CompiledRollout, compileRollout } from "../../rollouts/rollout.ts";
import { canHalt } from "../../rollouts/stages.ts";
import { PAUSE_REASON } from "../fleet/kinds.ts";
import { since } from "../../lib/age.ts";
import { stageState, waitsForText } from "../../page/stage-text.ts";
import { type Advice, advice, adviceWords, type CommandWords, run } from "../terminal/printed-command.ts";
import { fittingLines } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { paragraphs, wrapped } from "../terminal/tree.ts";

export interface RolloutView extends Terminal, CommandWords {
  readonly now: Date;
}

type Rows = readonly (readonly string[])[];

export function rolloutLines(rollouts: readonly HookRollout[], view: RolloutView): string[] {
  return paragraphs(rollouts.map((rollout) => linesOf(rollout, view)));
}

function linesOf(rollout: HookRollout, view: RolloutView): string[] {
  const compiled = compileRollout(rollout);
  return paragraphs([
    wrapped(heading(rollout, view), view.columns, "  "),
    ...(rollout.status?.targets ?? []).map((target) => stageLines(rollout, target, view)),
    runningLines(rollout, compiled, view),
    failedLines(rollout, compiled, view),
    nextLines(rollout, view),
  ]);
}

function heading(rollout: HookRollout, view: RolloutView): string[] {
  const { metadata, spec } = rollout;
  const mode = spec.mode === "Audit" ? ", Audit" : "";
  const { state, colour } = rolloutState(rollout);
  const painted = adviceWords(state, view).map((word) =>
    colour === undefined ? word : view.colour[colour](word),
  );
  return [view.colour.bold(`HookRollout ${metadata.name}`), `(${spec.operation}${mode}):`, ...painted];
}

interface RolloutState {
  readonly state: Advice;
  readonly colour?: "red" | "yellow";
}

export function rolloutState(rollout: HookRollout): RolloutState {
  const problem = unseenProblem(rollout);
  if (problem !== undefined) return red(`holds every Cluster that it may select: ${problem}`);
  const ready = conditionOf(rollout, CONDITION.Ready);
  if (ready === undefined)
    return yellow(advice`the operator has not seen it yet; if that stays, ${run("hookpolicy doctor")}`);
  if (ready.status !== "True") return red(ready.message);
  return inForce(rollout, ready);
}

function inForce(rollout: HookRollout, ready: Pick<Condition, "reason" | "message">): RolloutState {
  const halted = conditionOf(rollout, CONDITION.Halted);
  const notCalled = conditionOf(rollout, CONDITION.NotCalled);
  if (notCalled?.status === "True") return yellow(notCalled.message);
  const { paused: isPaused, mode } = rollout.spec;
  const paused = isPaused === true && mode !== "Audit" ? pausedText(rollout) : undefined;
  if (halted?.status === "True")
    return red(
      paused === undefined
        ? `halted. ${halted.message}`
        : advice`halted. ${halted.message}. It is also ${paused}`,
    );
  if (paused !== undefined) return yellow(paused);
  return LIMITED.has(ready.reason) ? yellow(ready.message) : { state: "in force" };
}

/** Ready is True, and stages may not pass all the same. */
const LIMITED: ReadonlySet<string> = new Set([
  REASON.SelectsNothing,
  REASON.TooLarge,
  REASON.NamespaceUnknown,
]);

function red(state: Advice): RolloutState {
  return { state, colour: "red" };
}

function yellow(state: Advice): RolloutState {
  return { state, colour: "yellow" };
}

function pausedText({ metadata }: HookRollout): Advice {
  const reason = lookup(metadata.annotations, PAUSE_REASON);
  const why = reason === undefined ? "" : ` because: ${printable(reason)}`;
  return advice`paused${why}: nothing more begins before ${run(`hookpolicy rollout resume ${metadata.name}`)}`;
}

function unseenProblem(rollout: HookRollout): string | undefined {
  const isSeen = rollout.status?.observedGeneration === rollout.metadata.generation;
  return isSeen ? undefined : compileRollout(rollout).problem;
}

function stageLines({ spec }: HookRollout, { version, stages }: RolloutTarget, view: RolloutView): string[] {
  if (spec.operation !== "Upgrade") {
    const [stage] = stages;
    if (stage === undefined) return [];
    return [`${stage.running} running, ${stage.waiting} waiting, ${stage.failed} failed`];
  }
  const rows = stages.map((stage, index) => [
    stage.name,
    `${stage.succeeded}/${stage.members}`,
    ...[stage.running, stage.waiting, stage.notAsked, stage.failed].map(String),
    stageState(stages, index, spec.stages),
  ]);
  const headings = ["STAGE", "SUCCEEDED", "RUNNING", "WAITING", "NOT ASKED", "FAILED", "STATE"];
  const awaited = stages.flatMap((stage) => waitsForText(stage) ?? []);
  return [
    ...(version === undefined ? [] : [`To ${version}:`]),
    ...indentedTable(headings, rows, { ...view, lastWraps: true }),
    ...awaited.flatMap((text) => wrapped(`  ${text}`, view.columns, "    ").map(view.colour.yellow)),
  ];
}

function runningLines({ status, spec }: HookRollout, compiled: CompiledRollout, view: RolloutView): string[] {
  const begun = (claim: RolloutClaim): string => {
    if (claim.markedAt !== undefined) return claim.claimed ? "" : "began without this rollout";
    if (claim.tasks === true) return "its tasks run first";
    return isRenewable(claim, compiled, view.now)
      ? "may begin, and has not yet"
      : "has not begun in time, so its slot is freed soon";
  };
  const rows = (status?.running ?? []).map((claim) => [
    namespacedName(claim),
    claim.target ?? "",
    claim.stage ?? "",
    since(claim.claimedAt, view.now),
    begun(claim),
  ]);
  const title = `Running (at most ${spec.maxConcurrency ?? 1}):`;
  return section(title, ["CLUSTER", "TARGET", "STAGE", "SINCE", ""], rows, view);
}

function failedLines({ status }: HookRollout, compiled: CompiledRollout, view: RolloutView): string[] {
  const isIgnored = (failure: RolloutFailure): boolean =>
    compiled.problem === undefined && compiled.operation === "Upgrade" && !canHalt(compiled, failure);
  const rows = (status?.failed ?? []).map((failure) => [
    namespacedName(failure),
    failure.target ?? "",
    failure.stage ?? "",
    failure.reason,
    since(failure.time, view.now),
    `${failure.message}${isIgnored(failure) ? " (halts nothing)" : ""}`,
  ]);
  const headings = ["CLUSTER", "TARGET", "STAGE", "REASON", "SINCE", "MESSAGE"];
  return section(view.colour.red("Failed:"), headings, rows, view);
}

function nextLines({ status }: HookRollout, view: RolloutView): string[] {
  const rows = (status?.next ?? []).map(({ namespace, name, target = "", stage = "", since: at }) => [
    namespacedName({ namespace, name }),
    target,
    stage,
    since(at, view.now),
  ]);
  return section("Next:", ["CLUSTER", "TARGET", "STAGE", "WAITS"], rows, view);
}

function section(title: string, headings: readonly string[], rows: Rows, view: RolloutView): string[] {
  return rows.length === 0 ? [] : [title, ...indentedTable(headings, rows, view)];
}

export function indentedTable(
  headings: readonly string[],
  rows: Rows,
  { colour, columns = Infinity, lastWraps = false }: Terminal & { readonly lastWraps?: boolean },
): string[] {
  const lines = fittingLines(headings, rows, { colour, columns: columns - 2 }, { lastWraps });
  return lines.map((line) => `  ${line}`);
}
