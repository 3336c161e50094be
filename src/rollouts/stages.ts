/** Which stages have passed for a target, and whether failures halt the rollout, by the status. */

import {
  type HookRolloutStatus,
  MAX_FAILED,
  type RolloutFailure,
  type RolloutStageStatus,
} from "../api/hook-policy.ts";
import { after, readTimestamp } from "../lib/instant.ts";
import { toleratedOf } from "./limit.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";
import { deadlineOf, UNCLAIMED } from "./slots.ts";

/** The first stage before `stage` that has not passed for the target; `undefined`: the stage is open. */
export function closedBy(
  { stages }: CompiledRollout,
  status: Pick<HookRolloutStatus, "targets"> | undefined,
  { stage, target }: { readonly stage: CompiledStage; readonly target: string },
  now: Date,
): CompiledStage | undefined {
  const known = knownStages(status, target);
  const first = stages.find((each) => each === stage || !hasPassed(each, known, now));
  return first === stage ? undefined : first;
}

/** When the stage has soaked; `undefined`: it does not soak for the target, or has to be judged again. */
export function soakEnd(
  rollout: CompiledRollout,
  status: Pick<HookRolloutStatus, "targets"> | undefined,
  { stage, target }: { readonly stage: string | undefined; readonly target: string },
  now: Date,
): Date | undefined {
  const known = knownStages(status, target).find(({ name }) => name === stage);
  const end = known && soakedAt(rollout, known);
  return end !== undefined && end > now ? end : undefined;
}

function soakedAt(
  { stages }: CompiledRollout,
  { name, soakingSince, closed }: RolloutStageStatus,
): Date | undefined {
  const stage = stages.find((each) => each.name === name);
  const since = closed === true ? undefined : readTimestamp(soakingSince);
  return stage && since && after(since, stage.minSuccessTimeMs);
}

export function hasSoaked(
  { minSuccessTimeMs }: CompiledStage,
  soakingSince: string | undefined,
  now: Date,
): boolean {
  const since = readTimestamp(soakingSince);
  return since !== undefined && after(since, minSuccessTimeMs) <= now;
}

/** How far each stage is to the target, by the status. */
export function knownStages(
  status: Pick<HookRolloutStatus, "targets"> | undefined,
  target: string,
): readonly RolloutStageStatus[] {
  return status?.targets?.find(({ version = "" }) => version === target)?.stages ?? [];
}

/** `known`: the stages of one target. `passed` alone is not enough: the soak may have become longer since. */
export function hasPassed(
  stage: CompiledStage,
  known: readonly RolloutStageStatus[] | undefined,
  now: Date,
): boolean {
  const status = known?.find(({ name }) => name === stage.name);
  return status?.passed === true && hasSoaked(stage, status.soakingSince, now);
}

/**
 * The first stage with more failures than it tolerates, or with any, once the status may have no room for more of them.
 * Creations and deletions never halt a rollout, because one that hangs does not concern the others.
 */
export function haltingStage(
  rollout: CompiledRollout,
  status: Pick<HookRolloutStatus, "failed" | "targets"> | undefined,
): CompiledStage | undefined {
  if (rollout.operation !== "Upgrade") return undefined;
  const isFull = (status?.failed ?? []).filter((each) => canHalt(rollout, each)).length >= MAX_FAILED;
  return rollout.stages.find((stage) => {
    const failed = countingFailures(rollout, status?.failed, stage.name);
    const sizes = (status?.targets ?? []).flatMap(({ stages }) =>
      stages.filter(({ name }) => name === stage.name),
    );
    const members = Math.min(...sizes.map((each) => each.members));
    const tolerated = isFull ? 0 : toleratedOf(stage.maxFailures, Number.isFinite(members) ? members : 0);
    return failed.length > tolerated;
  });
}

/** The failures of a stage that can halt the rollout. */
export function countingFailures(
  rollout: CompiledRollout,
  failed: readonly RolloutFailure[] = [],
  stage: string,
): readonly RolloutFailure[] {
  return failed.filter((failure) => failure.stage === stage && canHalt(rollout, failure));
}

export function canHalt(
  { operation, stages, ignoreFailuresBefore }: CompiledRollout,
  failure: RolloutFailure,
): boolean {
  return (
    operation === "Upgrade" &&
    failure.reason !== UNCLAIMED &&
    stages.some(({ name }) => name === failure.stage) &&
    !isIgnored(failure, ignoreFailuresBefore)
  );
}

function isIgnored({ time }: RolloutFailure, before: Date | undefined): boolean {
  const at = readTimestamp(time);
  return before !== undefined && at !== undefined && at < before;
}

/** Whether a stage passes or a failure ends, so that more Clusters may begin. */
export function opens(now: HookRolloutStatus, before: HookRolloutStatus | undefined): boolean {
  const had = passedOf(before);
  const failed = new Set(now.failed?.map(({ uid }) => uid));
  const ends = before?.failed?.some(({ uid }) => !failed.has(uid)) === true;
  return ends || [...passedOf(now)].some((stage) => !had.has(stage));
}

function passedOf({ targets = [] }: Pick<HookRolloutStatus, "targets"> = {}): ReadonlySet<string> {
  const all = targets.flatMap(({ version, stages }) =>
    stages.filter(({ passed }) => passed).map(({ name }) => JSON.stringify([version, name])),
  );
  return new Set(all);
}

/** Milliseconds from `now` until the next deadline of a slot passes, or the next soak is over; `Infinity`: none. */
export function untilDue(
  rollout: CompiledRollout,
  { running = [], targets = [] }: HookRolloutStatus = {},
  now: Date,
): number {
  const deadlines = running.map((claim) => deadlineOf(rollout, claim));
  const soaks = targets
    .flatMap((target) => target.stages.filter(({ passed }) => !passed))
    .map((known) => soakedAt(rollout, known));
  const due = [...deadlines, ...soaks].flatMap((at) =>
    at === undefined ? [] : at.getTime() - now.getTime(),
  );
  return Math.min(...due.filter((ms) => ms > 0));
}
