/** The status of a HookRollout as a pure function of what is stored, of its members in memory and of the time. */

import { parse } from "semver";
import { entryOf } from "../lib/entry-of.ts";
import { namespacedName } from "../lib/keys.ts";
import {
  CONDITION,
  type HookRollout,
  type HookRolloutStatus,
  MAX_FAILED,
  MAX_RUNNING,
  MAX_TARGETS,
  REASON,
  type RolloutCandidate,
  type RolloutClaim,
  type RolloutFailure,
  type RolloutStageStatus,
  type RolloutTarget,
} from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import { isCreationOver } from "../operations/shows.ts";
import { durationText } from "../policy/duration.ts";
import { after, readTimestamp, timestamp } from "../policy/instant.ts";
import { type Health, isAtTarget, wants } from "./health.ts";
import { whoBegins } from "./claim.ts";
import { neededOf, needsNone, toleratedOf } from "./limit.ts";
import { type Member, targetOf } from "./member.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";
import { DEADLINE_EXCEEDED, isOverdue, UNCLAIMED, UNHEALTHY, VERSION_CHANGED } from "./slots.ts";
import { countingFailures, haltingStage, hasPassed } from "./stages.ts";
import { newestFirst, sharedTargets } from "./target-shares.ts";
import { failing, type Finding, withTransitions } from "../status/conditions.ts";
import { withoutFuture } from "./rollout-instants.ts";

/** A member as memory knows it. */
export interface MemberState {
  readonly member: Member;
  readonly cluster: Cluster;
  readonly health: Health;
  /** Whether it has the version of its topology, or had it when it was last seen to succeed. */
  readonly hasReached: boolean;
  /** Whether it has been unhealthy for long enough to count as failed. */
  readonly lastsUnhealthy: boolean;
}

export interface RolloutInput {
  readonly rollout: CompiledRollout;
  /** The status that was just read; the computed one replaces it under the same resourceVersion. */
  readonly stored: HookRollout["status"];
  readonly members: readonly MemberState[];
  /** The slots that a consistent read has shown to be free. */
  readonly ended: ReadonlySet<string>;
  /** The claims may be incomplete: nothing may begin yet. */
  readonly isRebuilding: boolean;
  /** Identifies the set of members: see scope.ts. */
  readonly scope: string;
  /** The first of the queue. */
  readonly next: readonly RolloutCandidate[];
}

export function computeRolloutStatus(given: RolloutInput, now: Date): HookRolloutStatus {
  const input = { ...given, stored: withoutFuture(given.stored, now) };
  const { rollout, stored, scope, next } = input;
  const running = runningNow(input, now);
  const failed = failedNow(input, now);
  const targets = targetsNow(input, { running, failed }, now);
  const findings = [...readiness(input), halted(rollout, { failed, targets })];
  return {
    observedGeneration: rollout.generation,
    conditions: withTransitions(findings, stored?.conditions, rollout.generation, now),
    scope,
    ...summaryOf(rollout, targets, now),
    ...(running.length > 0 && { running }),
    ...(targets.length > 0 && { targets }),
    ...(failed.length > 0 && { failed }),
    ...(stored?.turns !== undefined && { turns: stored.turns }),
    ...(next.length > 0 && { next: [...next] }),
  };
}

/** Claims that have not ended, and Clusters that show the mark without a claim. */
function runningNow({ rollout, stored, members, ended }: RolloutInput, now: Date): RolloutClaim[] {
  const byUID = namedIn(stored, members);
  const kept = (stored?.running ?? [])
    .filter((claim) => !ended.has(claim.uid) && !isOverdue(rollout, claim, now))
    .filter(({ uid, claimed }) => claimed || isUnderWay(rollout, byUID.get(uid)))
    .map((claim) =>
      claim.markedAt === undefined && hasBegun(rollout, claim, byUID.get(claim.uid))
        ? { ...claim, markedAt: timestamp(now) }
        : claim,
    );
  const known = new Set([
    ...(stored?.running ?? []).map(({ uid }) => uid),
    ...(stored?.failed ?? []).filter(({ reason }) => reason !== UNHEALTHY).map(({ uid }) => uid),
  ]);
  const unclaimed = members
    .filter(({ member }) => member.marked && !known.has(member.metadata.uid))
    .map((state) => unclaimedSlot(rollout, state, now));
  return [...kept, ...unclaimed].slice(0, Math.max(MAX_RUNNING, kept.length));
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
  { operation }: CompiledRollout,
  { target = "" }: RolloutClaim,
  state: MemberState | undefined,
): boolean {
  // While its reference is written, the mark of a creation is away for a moment (isCreationOver).
  if (operation === "Create") return state?.cluster.created === true;
  if (state?.member.marked !== true) return false;
  return operation !== "Upgrade" || wants(state.cluster, target);
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

/** A failure is cleared when the Cluster succeeds, or is no member any more. */
function failedNow({ rollout, stored, members, ended }: RolloutInput, now: Date): RolloutFailure[] {
  const byUID = namedIn(stored, members);
  const old = (stored?.failed ?? []).filter((failure) =>
    stillFailed(rollout, failure, byUID.get(failure.uid)),
  );
  // A Cluster that never began has not failed; if it halted the rollout, it could never begin.
  const overdue = (stored?.running ?? [])
    .filter((claim) => isOverdue(rollout, claim, now) && !ended.has(claim.uid))
    .filter((claim) => {
      const state = byUID.get(claim.uid);
      return state !== undefined && (claim.markedAt !== undefined || hasBegun(rollout, claim, state));
    })
    .map((claim) => overdueFailure(rollout, claim, now));
  // A deadline ends the slot, whatever has failed before.
  const failed = [...overdue, ...old.filter(({ uid }) => !overdue.some((each) => each.uid === uid))];
  const changed = (stored?.running ?? []).flatMap((claim) =>
    ended.has(claim.uid) || failed.some(({ uid }) => uid === claim.uid)
      ? []
      : changedFailure(rollout, claim, byUID.get(claim.uid), now),
  );
  const known = new Set([...changed, ...failed].map(({ uid }) => uid));
  const unhealthy = members
    .filter(({ lastsUnhealthy, member }) => lastsUnhealthy && !known.has(member.metadata.uid))
    .filter((state) => isBeforePass(rollout, state, stored, now))
    .map((state) => ({
      ...whoIs(rollout, state),
      reason: UNHEALTHY,
      time: timestamp(now),
      message: "it has the version, and healthyWhen does not hold",
    }));
  return [...unhealthy, ...changed, ...failed].slice(0, MAX_FAILED);
}

function stillFailed(
  rollout: CompiledRollout,
  { target = "", reason }: RolloutFailure,
  state: MemberState | undefined,
): boolean {
  if (state === undefined) return false;
  const { member, cluster, health } = state;
  if (member.marked) return true;
  if (reason === UNCLAIMED || rollout.operation !== "Upgrade") return false;
  return !(isAtTarget(cluster, target) && health === "Healthy");
}

function overdueFailure(
  { progressDeadlineMs }: CompiledRollout,
  claim: RolloutClaim,
  now: Date,
): RolloutFailure {
  const { claimed, claimedAt } = claim;
  return failureOf(claim, {
    reason: claimed ? DEADLINE_EXCEEDED : UNCLAIMED,
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
  const [{ target = "" }, version] = [claim, targetOf("Upgrade", state.cluster)];
  // Memory can still show the mark of the previous upgrade.
  const isSeen = claim.markedAt !== undefined || hasBegun(rollout, claim, state);
  if (!isSeen || version === target) return [];
  const message = `its version changed from ${target} to ${version} while it was upgraded, and it has no slot for that`;
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

/** A stage that has passed is not judged again. */
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

interface Slots {
  readonly running: readonly RolloutClaim[];
  readonly failed: readonly RolloutFailure[];
}

/** A target appears when a member waits for it or is upgraded to it, and stays while a member wants it. */
function targetsNow(input: RolloutInput, slots: Slots, now: Date): RolloutTarget[] {
  const { rollout, stored, members } = input;
  if (rollout.operation !== "Upgrade") return [withoutVersion(input, slots)];
  const known = (stored?.targets ?? []).map(({ version = "" }) => version);
  const wanted = new Set<string>();
  const active = new Map<string, Set<string>>();
  const follow = (version: string, namespace = ""): void => {
    entryOf(active, version, () => new Set()).add(namespace);
  };
  for (const { target = "", namespace } of slots.running) follow(target, namespace);
  for (const { cluster, hasReached } of members) {
    const target = targetOf("Upgrade", cluster);
    wanted.add(target);
    if (!hasReached) follow(target, cluster.metadata.namespace);
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

type ByStage = ReadonlyMap<CompiledStage | undefined, readonly MemberState[]>;

function stagesOf(
  { rollout, stored, isRebuilding }: RolloutInput,
  slots: Slots & { readonly byStage: ByStage },
  version: string,
  now: Date,
): RolloutStageStatus[] {
  const before = stored?.targets?.find((target) => target.version === version)?.stages ?? [];
  return rollout.stages.map((stage) => {
    const own = slots.byStage.get(stage) ?? [];
    const { needed, ...counts } = countStage(own, slots, { version, stage, rollout });
    const isMet = counts.succeeded >= needed && (own.length > 0 || needsNone(stage.minSucceeded));
    const since = before.find(({ name }) => name === stage.name)?.soakingSince;
    const soakingSince = isMet ? ((isRebuilding ? undefined : since) ?? timestamp(now)) : undefined;
    const soaked = readTimestamp(soakingSince);
    return {
      name: stage.name,
      ...counts,
      ...(soakingSince !== undefined && { soakingSince }),
      passed: soaked !== undefined && after(soaked, stage.minSuccessTimeMs) <= now,
    };
  });
}

type Counts = Omit<RolloutStageStatus, "name" | "soakingSince" | "passed"> & { readonly needed: number };

/** Failures that are ignored or tolerated do not count among the members of which `minSucceeded` is a share. */
function countStage(
  own: readonly MemberState[],
  { running, failed }: Slots,
  {
    version,
    stage,
    rollout,
  }: { readonly version: string; readonly stage: CompiledStage; readonly rollout: CompiledRollout },
): Counts {
  const runs = new Set(running.filter(({ target }) => target === version).map(({ uid }) => uid));
  const hasFailed = new Set(
    failed.filter(({ target, reason }) => target === version && reason !== UNCLAIMED).map(({ uid }) => uid),
  );
  const counts = { notAsked: 0, waiting: 0, running: 0, succeeded: 0, failed: 0 };
  for (const state of own) counts[stateOf(state)] += 1;
  const counting = countingFailures(rollout, failed, stage.name).filter(
    ({ target }) => target === version,
  ).length;
  const tolerated = toleratedOf(stage.maxFailures, own.length);
  const ignored = counts.failed - Math.min(counting, counts.failed);
  const judged = own.length - ignored - Math.min(counting, tolerated);
  return { members: own.length, ...counts, needed: neededOf(stage.minSucceeded, Math.max(0, judged)) };

  function stateOf({ member, cluster, health, hasReached }: MemberState): keyof typeof counts {
    const { uid } = member.metadata;
    if (hasFailed.has(uid)) return "failed";
    if (runs.has(uid) || (member.marked && targetOf("Upgrade", cluster) === version)) return "running";
    if (!wants(cluster, version)) return "notAsked";
    return hasReached && health === "Healthy" ? "succeeded" : "waiting";
  }
}

/** Creations and deletions have no version, and their stages never pass: only the slots limit them. */
function withoutVersion({ rollout, members }: RolloutInput, { running, failed }: Slots): RolloutTarget {
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

function readiness({ rollout: { problem, tooLarge, mode, paused }, isRebuilding }: RolloutInput): Finding[] {
  if (problem !== undefined) {
    const message = `Holds every Cluster that it may select: ${problem}`;
    const reason = tooLarge === true ? REASON.TooLarge : REASON.InvalidSpec;
    return failing(CONDITION.Ready, CONDITION.Stalled, { reason, message });
  }
  if (isRebuilding) {
    const message =
      "Its members have changed, its status was lost, or no operator ran: for 3 minutes nothing begins, until every Cluster that had begun shows it";
    return failing(CONDITION.Ready, CONDITION.Reconciling, { reason: REASON.StatusLost, message });
  }
  const message =
    mode === "Audit" ? "Records, and holds nothing" : paused ? "Paused: nothing more begins" : "In force";
  const reason = mode === "Enforce" && paused ? REASON.Paused : REASON.Loaded;
  return [{ type: CONDITION.Ready, status: "True", reason, message }];
}

function halted(rollout: CompiledRollout, slots: Pick<HookRolloutStatus, "failed" | "targets">): Finding {
  const stage = haltingStage(rollout, slots);
  if (stage === undefined) {
    return {
      type: CONDITION.Halted,
      status: "False",
      reason: REASON.NoFailures,
      message: "No stage has more failures than it tolerates",
    };
  }
  const failed = countingFailures(rollout, slots.failed, stage.name);
  const names = failed.slice(0, 3).map(namespacedName);
  const more = failed.length > names.length ? ` and ${failed.length - names.length} more` : "";
  const message = `Stage ${stage.name}: ${names.join(", ")}${more} failed. Nothing more begins until they are healthy, or until \`hookpolicy rollout resume ${rollout.name}\``;
  return { type: CONDITION.Halted, status: "True", reason: REASON.TooManyFailures, message };
}
