/** The status of a HookRollout as a pure function of what is stored, of its members in memory and of the time. */

import { conditionOf } from "../api/meta.ts";
import { parse } from "semver";
import { entryOf } from "../lib/entry-of.ts";
import {
  CONDITION,
  type HookRolloutStatus,
  MAX_FAILED,
  MAX_ROW_MESSAGE,
  MAX_RUNNING,
  MAX_TARGETS,
  type RolloutCandidate,
  type RolloutClaim,
  type RolloutFailure,
  type RolloutTarget,
  REASON,
} from "../api/hook-policy.ts";
import { isCreationOver, upgradeHasBegun } from "../operations/hook-lives.ts";
import { isAhead } from "../operations/timers.ts";
import { hasWorkersBehind } from "../operations/workers-behind.ts";
import { durationText } from "../lib/duration.ts";
import { after, readTimestamp, timestamp } from "../lib/instant.ts";
import { printable } from "../lib/printable.ts";
import { truncate } from "../lib/truncate.ts";
import { isAtTarget, wants } from "./health.ts";
import { isMarkOf, whoBegins } from "./claim.ts";
import type { HeldRows } from "./rollout-entry.ts";
import { type Member, targetOf } from "./member.ts";
import type { CompiledRollout } from "./rollout.ts";
import { DEADLINE_EXCEEDED, endsSlot, isOverdue, UNCLAIMED, UNHEALTHY, VERSION_CHANGED } from "./slots.ts";
import {
  type ByStage,
  type MemberState,
  type ProgressInput,
  type SlotUsage,
  stagesOf,
} from "./rollout-progress.ts";
import { halted, readiness } from "./rollout-conditions.ts";
import { canHalt, hasPassed } from "./stages.ts";
import { newestFirst, sharedTargets } from "./target-shares.ts";
import { calls, withTransitions } from "../status/conditions.ts";
import type { NotCalled } from "../memory/memory.ts";

export interface RolloutInput extends Omit<ProgressInput, "soaksAnew">, HeldRows {
  /** The claims may be incomplete: nothing may begin yet. */
  readonly isRebuilding: boolean;
  readonly members: readonly MemberState[];
  /** The slots that a quorum read has shown to be free. */
  readonly ended: ReadonlySet<string>;
  /** Identifies the set of members: see scopeOf() in rollout.ts. */
  readonly scope: string;
  /** Cluster API also asks about a version that changes while an upgrade runs (up to 1.11). */
  readonly asksMidway?: boolean;
  readonly notCalled?: NotCalled;
  /** The first of the queue. */
  readonly next: readonly RolloutCandidate[];
}

export function computeRolloutStatus(given: RolloutInput, now: Date): HookRolloutStatus {
  const stored = withoutFuture(given, now);
  const { rollout, members, isRebuilding, scope, next, held, heldOmitted } = given;
  // By an invalid spec, no failure ends.
  const isPresent = given.isPresent && rollout.problem === undefined;
  const input = { ...given, stored, isPresent };
  const failures = failuresNow(input, now);
  const failed = failures.slice(0, MAX_FAILED);
  const running = runningNow(input, failures.slice(MAX_FAILED), now);
  const unknown = rollout.operation === "Upgrade" ? unknownOf(members) : [];
  const { targets, ...shown } = progressNow(input, { running, failed, unknown }, now);
  const selected = { isRebuilding, members: members.map(({ member }) => member), unknown };
  const findings = [
    ...readiness(rollout, selected),
    halted(rollout, { failed, targets }),
    ...calls(given.notCalled, stored?.conditions),
  ];
  return {
    observedGeneration: rollout.generation,
    conditions: withTransitions(findings, stored?.conditions, rollout.generation, now),
    scope,
    ...shown,
    ...(running.length > 0 && { running }),
    ...(targets.length > 0 && { targets }),
    ...(failed.length > 0 && { failed }),
    ...(stored?.turns !== undefined && { turns: stored.turns }),
    ...(next.length > 0 && { next: [...next] }),
    ...(held.length > 0 && { held: [...held] }),
    heldOmitted,
  };
}

function progressNow(
  input: RolloutInput,
  slots: SlotUsage,
  now: Date,
): ReturnType<typeof summaryOf> & { readonly targets: RolloutTarget[] } {
  const { rollout, stored, isRebuilding, scope } = input;
  const soaksAnew = isRebuilding && rollout.problem === undefined && !isRebuiltAs(stored, scope);
  const current = targetsNow({ ...input, soaksAnew }, slots, now);
  const kept = isRebuilding ? undefined : keptTargets(rollout, stored);
  const { stage } = kept ?? {};
  const summary = { ...summaryOf(rollout, current, now), ...(stage !== undefined && { stage }) };
  return { ...summary, targets: kept?.targets ?? current };
}

/** An invalid spec has no stages: what is known of those before, and how long they have soaked, stays until it is corrected. */
function keptTargets(
  { operation, problem, stages }: CompiledRollout,
  stored: HookRolloutStatus | undefined,
): HookRolloutStatus | undefined {
  if (problem === undefined || operation !== "Upgrade") return undefined;
  const known = (stored?.targets ?? []).flatMap((target) => target.stages);
  return known.every(({ name }) => stages.some((stage) => stage.name === name)) ? undefined : stored;
}

/** Whether soaks have begun anew since the members were these. */
function isRebuiltAs(stored: HookRolloutStatus | undefined, scope: string): boolean {
  const ready = conditionOf({ status: stored }, CONDITION.Ready);
  return stored?.scope === scope && ready?.reason === REASON.StatusLost;
}

const INSTANTS: ReadonlySet<string> = new Set(["claimedAt", "renewedAt", "markedAt", "soakingSince", "time"]);

/** An instant in the future was stored by a clock that was ahead. It becomes `now`, or a slot, soak or failure would last longer. */
function withoutFuture({ stored }: RolloutInput, now: Date): RolloutInput["stored"] {
  const sane = (field: string, value: unknown): unknown => {
    const at = typeof value === "string" && INSTANTS.has(field) ? readTimestamp(value) : undefined;
    return at !== undefined && isAhead(at, now) ? timestamp(now) : value;
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a copy of it
  return stored && (JSON.parse(JSON.stringify(stored), sane) as HookRolloutStatus);
}

/**
 * Claims that have not ended, and Clusters that show the mark without a claim. A claim past its deadline stays, without a
 * slot, until the status has room for its failure.
 */
function runningNow(
  { rollout, stored, members, ended, asksMidway }: RolloutInput,
  unlisted: readonly RolloutFailure[],
  now: Date,
): RolloutClaim[] {
  const byUID = namedIn(stored, members);
  const halting = new Set(unlisted.filter((failure) => canHalt(rollout, failure)).map(({ uid }) => uid));
  const kept = (stored?.running ?? [])
    .filter((claim) => !ended.has(claim.uid) && (halting.has(claim.uid) || !isOverdue(rollout, claim, now)))
    .filter(({ uid, claimed }) => claimed || isUnderWay(rollout, byUID.get(uid)))
    .map((claim) =>
      claim.markedAt === undefined && hasBegun(rollout, claim, byUID.get(claim.uid), asksMidway)
        ? begun(claim, now)
        : claim,
    );
  const known = new Set([
    ...(stored?.running ?? []).map(({ uid }) => uid),
    ...(stored?.failed ?? []).filter(endsSlot).map(({ uid }) => uid),
  ]);
  const unclaimed = members
    .filter(({ member }) => member.marked && !known.has(member.metadata.uid))
    .map((state) => unclaimedSlot(rollout, state, now));
  return [...kept, ...unclaimed].slice(0, Math.max(MAX_RUNNING, kept.length));
}

/** Tasks come before the operation, so they do not keep its slot any more. */
function begun({ tasks: _, ...claim }: RolloutClaim, now: Date): RolloutClaim {
  return { ...claim, markedAt: timestamp(now) };
}

function isUnderWay({ operation }: CompiledRollout, state: MemberState | undefined): boolean {
  if (state === undefined) return false;
  const { member, cluster } = state;
  return member.marked || (operation === "Create" && cluster.created && !isCreationOver(cluster));
}

/** The members that the status names, by uid. */
function namedIn(
  { running = [], failed = [] }: HookRolloutStatus = {},
  members: readonly MemberState[],
): ReadonlyMap<string, MemberState> {
  const named = new Set([...running, ...failed].map(({ uid }) => uid));
  const found = members.filter(({ member }) => named.has(member.metadata.uid));
  return new Map(found.map((state) => [state.member.metadata.uid, state]));
}

/** Memory can still show the mark of the previous upgrade. */
function hasBegun(
  rollout: CompiledRollout,
  claim: RolloutClaim,
  state: MemberState | undefined,
  asksMidway = false,
): boolean {
  const { operation } = rollout;
  const { target = "", markedAt } = claim;
  if (markedAt !== undefined) return true;
  // While its reference is written, the mark of a creation is away for a moment (isCreationOver).
  if (operation === "Create") return state?.cluster.created === true;
  if (state?.member.marked !== true) return false;
  if (operation !== "Upgrade") return true;
  const served = { marksUpgrades: !asksMidway };
  if (isMarkOf(rollout, claim, served)) return wants(state.cluster, target);
  // Of the present generation, the condition says it of no other version.
  return targetOf(operation, state.cluster) === target && upgradeHasBegun(state.cluster, served);
}

function unclaimedSlot(rollout: CompiledRollout, state: MemberState, now: Date): RolloutClaim {
  const at = timestamp(now);
  const who = whoIs(rollout, state);
  return { ...who, claimed: false, claimedAt: at, renewedAt: at, markedAt: at, attempts: 0 };
}

function whoIs(
  { operation }: CompiledRollout,
  { member, cluster }: MemberState,
): ReturnType<typeof whoBegins> {
  return whoBegins(member.metadata, { target: targetOf(operation, cluster), stage: member.stage });
}

/**
 * A failure is cleared when the Cluster succeeds, or is no longer a member. Those that the status has no room for are the last:
 * those that cannot halt the rollout before those that can, new ones before known ones.
 */
function failuresNow(
  { rollout, stored, members, ended, isPresent, asksMidway = false }: RolloutInput,
  now: Date,
): RolloutFailure[] {
  const byUID = namedIn(stored, members);
  const old = (stored?.failed ?? [])
    .filter((failure) => !isPresent || stillFailed(rollout, failure, byUID.get(failure.uid)))
    .map((failure) => withEnd(failure, byUID.get(failure.uid)));
  // A Cluster that never began has not failed; if it halted the rollout, it could never begin.
  const overdue = (stored?.running ?? [])
    .filter((claim) => isOverdue(rollout, claim, now) && !ended.has(claim.uid))
    .flatMap((claim) => {
      const state = byUID.get(claim.uid);
      if (state === undefined || !hasBegun(rollout, claim, state, asksMidway)) return [];
      const mayHalt = claim.claimed && !(asksMidway && awaitsAnother(rollout, claim, state));
      return [overdueFailure(rollout, claim, mayHalt ? DEADLINE_EXCEEDED : UNCLAIMED, now)];
    });
  // A deadline ends the slot, whatever has failed before.
  const failed = [...old.filter(({ uid }) => !overdue.some((each) => each.uid === uid)), ...overdue];
  const changed = (stored?.running ?? []).flatMap((claim) =>
    asksMidway || ended.has(claim.uid) || failed.some((failure) => isOf(failure, claim))
      ? []
      : changedFailure(rollout, claim, byUID.get(claim.uid), now),
  );
  const told = [...failed, ...changed];
  const unhealthy = members
    .filter(({ lastsUnhealthy }) => lastsUnhealthy)
    .filter(
      (state) =>
        state.wasHealthy === true || !isYoung(rollout, state, now) || byUID.has(state.member.metadata.uid),
    )
    .filter((state) => {
      const who = whoIs(rollout, state);
      return !told.some((failure) => isOf(failure, who));
    })
    .filter((state) => isBeforePass(rollout, state, stored, now))
    .map((state) => ({
      ...whoIs(rollout, state),
      reason: UNHEALTHY,
      time: timestamp(now),
      message: "it has the version, and healthyWhen is not met",
    }));
  const later = [...changed, ...unhealthy];
  const earlier = failed.filter(({ uid }) => !later.some((each) => each.uid === uid));
  const all = [...earlier, ...later].map((failure) => inKnownStage(rollout, failure, byUID.get(failure.uid)));
  return [true, false].flatMap((halts) => all.filter((failure) => canHalt(rollout, failure) === halts));
}

/** It may still be on its way through its creation, which no rollout of upgrades has begun. */
function isYoung({ progressDeadlineMs }: CompiledRollout, { cluster }: MemberState, now: Date): boolean {
  const created = readTimestamp(cluster.metadata.creationTimestamp);
  return created !== undefined && after(created, progressDeadlineMs) > now;
}

/** Nothing is upgraded in it, whatever its condition says. */
function isBeingCreated(rollout: CompiledRollout, state: MemberState, now: Date): boolean {
  const { cluster, isAwaited } = state;
  return !isAwaited && (!cluster.created || (!isCreationOver(cluster) && isYoung(rollout, state, now)));
}

/** A failure at an earlier version hides none at this one. */
function isOf(
  failure: Pick<RolloutFailure, "uid" | "target">,
  { uid, target }: { readonly uid: string; readonly target?: string | undefined },
): boolean {
  return failure.uid === uid && failure.target === target;
}

/** Once the operation that took too long has ended, and the Cluster waits for the next one, that has to use a slot. */
function withEnd(failure: RolloutFailure, state: MemberState | undefined): RolloutFailure {
  if (failure.reason !== DEADLINE_EXCEEDED || state?.member.marked !== false) return failure;
  return wants(state.cluster, failure.target ?? "") && targetOf("Upgrade", state.cluster) !== failure.target
    ? { ...failure, reason: UNHEALTHY, message: "it took longer than progressDeadline, and has ended since" }
    : failure;
}

/** Once the rollout has no stage of that name, a failure counts in the stage that the Cluster is in now. */
function inKnownStage(
  { stages }: CompiledRollout,
  failure: RolloutFailure,
  state: MemberState | undefined,
): RolloutFailure {
  const stage = state?.member.stage;
  if (stage === undefined || stages.some(({ name }) => name === failure.stage)) return failure;
  return { ...failure, stage: stage.name };
}

function stillFailed(
  rollout: CompiledRollout,
  { target, reason }: RolloutFailure,
  state: MemberState | undefined,
): boolean {
  if (state === undefined) return false;
  const { member, cluster, health } = state;
  if (member.marked) return true;
  if (reason === UNCLAIMED || rollout.operation !== "Upgrade") return false;
  // A failure names no version that a status has no room for.
  return !(isAtTarget(cluster, target ?? cluster.topology?.version ?? "") && health === "Healthy");
}

/**
 * Whether Cluster API asks about another version than that of the claim, which cannot end before: if it halted the rollout, the
 * rollout would wait for a Cluster that it holds.
 */
function awaitsAnother(
  { operation }: CompiledRollout,
  { target = "" }: RolloutClaim,
  { cluster, isAwaited }: MemberState,
): boolean {
  return isAwaited && targetOf(operation, cluster) !== target;
}

function overdueFailure(
  { progressDeadlineMs }: CompiledRollout,
  claim: RolloutClaim,
  reason: string,
  now: Date,
): RolloutFailure {
  const { claimedAt } = claim;
  return failureOf(claim, {
    reason,
    time: timestamp(now),
    message: `it began at ${claimedAt} and has not ended within ${durationText(progressDeadlineMs)} (progressDeadline)`,
  });
}

/** Cluster API asks no hook about a version that changes while an upgrade runs: see passesUnasked(). */
function changedFailure(
  rollout: CompiledRollout,
  claim: RolloutClaim,
  state: MemberState | undefined,
  now: Date,
): RolloutFailure[] {
  if (rollout.operation !== "Upgrade" || !claim.claimed || state?.member.marked !== true) return [];
  const [{ target = "" }, version = ""] = [claim, state.cluster.topology?.version];
  // Memory can still show the mark of the previous upgrade.
  if (!hasBegun(rollout, claim, state) || version === target) return [];
  const text = `its version changed from ${target} to ${version} while it was upgraded, and it has no slot for that`;
  const message = truncate(printable(text), MAX_ROW_MESSAGE);
  return [failureOf(claim, { reason: VERSION_CHANGED, time: timestamp(now), message })];
}

function failureOf(
  { namespace, name, uid, target, stage }: RolloutClaim,
  why: Pick<RolloutFailure, "reason" | "time" | "message">,
): RolloutFailure {
  return {
    namespace,
    name,
    uid,
    ...(target !== undefined && { target }),
    ...(stage !== undefined && { stage }),
    ...why,
  };
}

/** Not while its stage has passed, which is closed once it needs the Cluster. */
function isBeforePass(
  { operation }: CompiledRollout,
  { member: { stage, marked }, cluster }: MemberState,
  stored: HookRolloutStatus | undefined,
  now: Date,
): boolean {
  if (operation !== "Upgrade" || stage === undefined || marked) return false;
  return (stored?.targets ?? []).some(
    ({ version = "", stages: known }) => isAtTarget(cluster, version) && !hasPassed(stage, known, now),
  );
}

/** A target appears when a member that exists waits for it or is upgraded to it, and stays while a member wants it. */
function targetsNow(input: RolloutInput & ProgressInput, slots: SlotUsage, now: Date): RolloutTarget[] {
  const { rollout, stored, members } = input;
  if (rollout.operation !== "Upgrade") return [withoutVersion(input, slots)];
  const known = (stored?.targets ?? []).map(({ version = "" }) => version);
  const wanted = new Set<string>();
  const active = new Map<string, Set<string>>();
  const follow = (version: string, namespace = ""): void => {
    entryOf(active, version, () => new Set()).add(namespace);
  };
  for (const { target = "", namespace } of slots.running) follow(target, namespace);
  for (const state of members) {
    const { cluster, hasReached } = state;
    const target = targetOf("Upgrade", cluster);
    wanted.add(target);
    if (isBeingCreated(rollout, state, now)) continue;
    if (!hasReached || hasWorkersBehind(cluster, target)) follow(target, cluster.metadata.namespace);
  }
  const rest = known.filter((version) => !active.has(version) && wanted.has(version));
  const versions = [
    ...sharedTargets(active, MAX_TARGETS),
    ...rest.filter((version) => parse(version) !== null),
  ];
  const byStage: ByStage = Map.groupBy(members, ({ member }) => member.stage);
  return versions
    .slice(0, MAX_TARGETS)
    .toSorted(newestFirst)
    .map((version) => ({ version, stages: stagesOf(input, { ...slots, byStage }, version, now) }));
}

/** The Clusters that may be members: see Member.mayBeIn. */
function unknownOf(members: readonly MemberState[]): readonly Member[] {
  return members.map(({ member }) => member).filter(({ mayBeIn }) => mayBeIn !== undefined);
}

/** Creations and deletions have no version, and their stages never pass: only the slots limit them. */
function withoutVersion({ rollout, members }: RolloutInput, { running, failed }: SlotUsage): RolloutTarget {
  const runs = new Set(running.map(({ uid }) => uid));
  const waits = ({ member: { metadata, marked }, cluster }: MemberState): boolean =>
    !marked &&
    !runs.has(metadata.uid) &&
    (rollout.operation === "Create" ? !cluster.created : metadata.deletionTimestamp !== undefined);
  return {
    stages: rollout.stages.map(({ name }) => ({
      name,
      members: members.length,
      notAsked: 0,
      waiting: members.filter(waits).length,
      running: runs.size,
      succeeded: 0,
      failed: failed.filter(({ reason }) => reason !== UNCLAIMED).length,
      passed: false,
    })),
  };
}

/** The summary of the newest target with something left to do, or else of the newest. */
function summaryOf(
  { stages }: CompiledRollout,
  targets: readonly RolloutTarget[],
  now: Date,
): Pick<HookRolloutStatus, "target" | "stage" | "summary"> {
  const open = targets.find((target) => target.stages.some(({ waiting, running }) => waiting + running > 0));
  const current = open ?? targets[0];
  if (current === undefined) return { summary: { running: 0, succeeded: 0, failed: 0, waiting: 0 } };
  const sum = (what: "running" | "succeeded" | "failed" | "waiting"): number =>
    current.stages.reduce((total, stage) => total + stage[what], 0);
  const next = stages.find((stage) => !hasPassed(stage, current.stages, now));
  return {
    ...(current.version !== undefined && { target: current.version }),
    stage: (next ?? stages.at(-1))?.name ?? "",
    summary: {
      running: sum("running"),
      succeeded: sum("succeeded"),
      failed: sum("failed"),
      waiting: sum("waiting"),
    },
  };
}
