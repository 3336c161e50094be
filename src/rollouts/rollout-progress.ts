/** How far the stages of an upgrade are to one version, and which Clusters they wait for. */

import {
  type HookRolloutStatus,
  MAX_AWAITED,
  MAX_ROW_MESSAGE,
  type RolloutAwaited,
  type RolloutClaim,
  type RolloutFailure,
  type RolloutStageStatus,
} from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import { compareText } from "../lib/compare-text.ts";
import { namespacedName } from "../lib/keys.ts";
import { printable } from "../lib/printable.ts";
import { hasWorkersBehind, pinnedBehind } from "../operations/workers-behind.ts";
import { after, timestamp } from "../lib/instant.ts";
import { truncate } from "../lib/truncate.ts";
import { type Health, wants } from "./health.ts";
import { neededOf, needsNone, toleratedOf } from "./limit.ts";
import { type Member, targetOf } from "./member.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";
import { UNCLAIMED } from "./slots.ts";
import { canHalt, hasSoaked, knownStages } from "./stages.ts";

/** A member as memory knows it. */
export interface MemberState {
  readonly member: Member;
  readonly cluster: Cluster;
  readonly health: Health;
  /** Whether it has the version of its topology, or had it when it was last seen to succeed. */
  readonly hasReached: boolean;
  /** Whether it has been unhealthy for long enough to count as failed. */
  readonly lastsUnhealthy: boolean;
  /** Whether this leader has seen it healthy. */
  readonly wasHealthy?: boolean;
  /** Whether it shows that Cluster API waits for an answer about it. */
  readonly isAwaited: boolean;
}

/** Whether it shows how far it is, as a Cluster of a file, which often has no status, does not. */
export function isShown({ cluster, member }: MemberState): boolean {
  return member.marked || cluster.progress !== undefined;
}

/** It counts as one that has succeeded with the version that it asks for: nothing begins for it. */
export function asSucceeded(state: MemberState): MemberState {
  return isShown(state) ? state : { ...state, hasReached: true, health: "Healthy" };
}

export interface SlotUsage {
  readonly running: readonly RolloutClaim[];
  readonly failed: readonly RolloutFailure[];
  /** The Clusters that may be members. */
  readonly unknown: readonly Member[];
}

export type ByStage = ReadonlyMap<CompiledStage | undefined, readonly MemberState[]>;

export interface ProgressInput {
  readonly rollout: CompiledRollout;
  /** The status that was just read; the computed one replaces it under the same resourceVersion. */
  readonly stored: HookRolloutStatus | undefined;
  /** A read has proven that memory shows the members as they are: a stage may pass, and a failure end. */
  readonly isPresent: boolean;
  readonly soaksAnew: boolean;
}

export function stagesOf(
  input: ProgressInput,
  slots: SlotUsage & { readonly byStage: ByStage },
  version: string,
  now: Date,
): RolloutStageStatus[] {
  const { rollout, stored, soaksAnew } = input;
  const before = knownStages(stored, version);
  let mayWait = true;
  return rollout.stages.map((stage) => {
    const known = before.find(({ name }) => name === stage.name);
    const own = slots.byStage.get(stage) ?? [];
    const unknown = slots.unknown.filter(({ mayBeIn }) => mayBeIn?.includes(stage) === true).length;
    const { counts, isMet, awaited } = countStage(own, slots, { version, stage, rollout, unknown });
    const { name } = stage;
    const closed = soaksAnew ? undefined : closedStage(stage, known, now);
    // One that is closed stays so: who takes its unhealthy Cluster away opens nothing.
    const isLeft = closed !== undefined && known?.passed === true && own.length + unknown === 0;
    if (!isMet && !isLeft) {
      const waitsFor = mayWait ? awaited().slice(0, MAX_AWAITED) : [];
      mayWait = false;
      return { name, ...counts, ...(waitsFor.length > 0 && { waitsFor }), ...closed, passed: false };
    }
    const met = metStage(input, stage, known, now);
    mayWait &&= met.passed;
    return { name, ...counts, ...(!met.passed && closed), ...met };
  });
}

type KnownStage = RolloutStageStatus | undefined;

function metStage(
  { isPresent, soaksAnew }: ProgressInput,
  stage: CompiledStage,
  known: KnownStage,
  now: Date,
): Pick<RolloutStageStatus, "soakingSince" | "passed"> {
  const mayPass = isPresent || known?.passed === true;
  const before = soaksAnew ? undefined : known;
  const soakingSince = soakedSince(stage, before, mayPass, now) ?? timestamp(now);
  return { soakingSince, passed: mayPass && hasSoaked(stage, soakingSince, now) };
}

/** One that was closed does not soak again, unless for longer, and the time for which it was closed is none of a soak. */
function soakedSince(
  stage: CompiledStage,
  known: KnownStage,
  mayPass: boolean,
  now: Date,
): string | undefined {
  const since = known?.soakingSince;
  if (known?.closed !== true) return since;
  if (!hasSoaked(stage, since, now)) return undefined;
  return mayPass ? timestamp(after(now, -stage.minSuccessTimeMs)) : since;
}

/** What stays of one that had passed, so that it does not soak again; `undefined`: it had not, for as long as it soaks now. */
function closedStage(
  stage: CompiledStage,
  known: KnownStage,
  now: Date,
): Pick<RolloutStageStatus, "soakingSince" | "closed"> | undefined {
  if (known?.soakingSince === undefined || !(known.passed || known.closed === true)) return undefined;
  const { soakingSince } = known;
  return hasSoaked(stage, soakingSince, now) ? { soakingSince, closed: true } : undefined;
}

export type MemberProgress = "notAsked" | "waiting" | "running" | "succeeded" | "failed";

interface StageCount {
  readonly counts: Pick<RolloutStageStatus, MemberProgress | "members">;
  /** How many have to succeed. */
  readonly needed: number;
  /** Whether they have. */
  readonly isMet: boolean;
  readonly progress: ReadonlyMap<MemberState, MemberProgress>;
  /** Those that waiting alone does not bring there. */
  readonly awaited: () => readonly RolloutAwaited[];
}

interface StageInput {
  readonly version: string;
  readonly stage: CompiledStage;
  readonly rollout: CompiledRollout;
  /** How many Clusters may be in the stage. */
  readonly unknown: number;
}

/**
 * Failures that are ignored or tolerated do not count among the members of which `minSucceeded` is a share: one success is needed
 * all the same, unless its spec needs none. Clusters that may be members count, and have not succeeded.
 */
export function countStage(
  own: readonly MemberState[],
  { running, failed }: SlotUsage,
  { version, stage, rollout, unknown }: StageInput,
): StageCount {
  const runs = new Set(running.filter(({ target }) => target === version).map(({ uid }) => uid));
  const hasFailed = new Set(
    failed.filter(({ target, reason }) => target === version && reason !== UNCLAIMED).map(({ uid }) => uid),
  );
  // One on its way to a newer version is not asked for this one.
  const progressOf = ({ member, cluster, health, hasReached }: MemberState): MemberProgress => {
    const { uid } = member.metadata;
    if (hasFailed.has(uid)) return "failed";
    if (runs.has(uid) || (member.marked && targetOf("Upgrade", cluster) === version)) return "running";
    if (!wants(cluster, version)) return "notAsked";
    if (hasReached)
      return health === "Healthy" && !hasWorkersBehind(cluster, version) ? "succeeded" : "waiting";
    return targetOf("Upgrade", cluster) === version ? "waiting" : "notAsked";
  };
  const counts = { members: own.length, notAsked: 0, waiting: 0, running: 0, succeeded: 0, failed: 0 };
  const progress = new Map(own.map((state) => [state, progressOf(state)]));
  for (const each of progress.values()) counts[each] += 1;
  const members = new Set(own.map(({ member }) => member.metadata.uid));
  const counting = failed.filter(
    (failure) => failure.target === version && members.has(failure.uid) && canHalt(rollout, failure),
  ).length;
  const tolerated = toleratedOf(stage.maxFailures, own.length);
  const ignored = counts.failed - Math.min(counting, counts.failed);
  const judged = own.length - ignored - Math.min(counting, tolerated);
  const share = neededOf(stage.minSucceeded, Math.max(0, judged) + unknown);
  const needed = needsNone(stage.minSucceeded) ? 0 : Math.max(1, share);
  return {
    counts,
    needed,
    isMet: counts.succeeded >= needed,
    progress,
    awaited: () =>
      awaitedOf(progress, { version, failuresCount: counting > tolerated || counts.failed === own.length }),
  };
}

const AWAITED = ["Failed", "Unhealthy", "WorkersPinned", "NotCalled", "NotAsked"] as const;
type AwaitedReason = (typeof AWAITED)[number];

interface Target {
  readonly version: string;
  /** Failures that are tolerated keep no stage from passing that has other Clusters. */
  readonly failuresCount: boolean;
}

function awaitedOf(progress: ReadonlyMap<MemberState, MemberProgress>, target: Target): RolloutAwaited[] {
  const found = [...progress].flatMap(([state, each]) => {
    const reason = whyAwaited(state, each, target);
    if (reason === undefined) return [];
    const { namespace = "", name } = state.cluster.metadata;
    const pins = reason === "WorkersPinned" ? pinsText(state, target.version) : undefined;
    return [{ namespace, name, reason, ...(pins !== undefined && { message: pins }) }];
  });
  return found.toSorted(
    (a, b) =>
      AWAITED.indexOf(a.reason) - AWAITED.indexOf(b.reason) ||
      compareText(namespacedName(a), namespacedName(b)),
  );
}

/** Why the Cluster does not succeed with the version until a user acts, although nothing fails; `undefined`: it does. */
export function pinsText({ cluster }: MemberState, version: string): string | undefined {
  const text = pinnedBehind(cluster, version);
  return text === undefined ? undefined : truncate(printable(text), MAX_ROW_MESSAGE);
}

function whyAwaited(
  { member, cluster, health, hasReached, isAwaited }: MemberState,
  progress: MemberProgress,
  { version, failuresCount }: Target,
): AwaitedReason | undefined {
  if (progress === "failed") return failuresCount ? "Failed" : undefined;
  if (progress === "running" || progress === "succeeded") return undefined;
  if (!wants(cluster, version)) return "NotAsked";
  if (!hasReached) return isAwaited || member.marked || !cluster.created ? undefined : "NotCalled";
  if (health !== "Healthy") return "Unhealthy";
  // The machines follow a pin that was raised.
  return pinnedBehind(cluster, version) === undefined ? undefined : "WorkersPinned";
}
