/**
 * Takes a slot. Pure: decides from a status and members that were just read. The result counts only once the API server has
 * stored it under the same resourceVersion.
 */

import { CONDITION, MAX_TARGETS, type HookRolloutStatus, type RolloutClaim } from "../api/hook-policy.ts";
import { conditionOf, type ObjectMeta } from "../api/meta.ts";
import { readTimestamp, timestamp } from "../lib/instant.ts";
import type { ServedUpgrades } from "../operations/hook-lives.ts";
import type { Member } from "./member.ts";
import { withTurn } from "./order.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";
import { closedBy, haltingStage } from "./stages.ts";
import { isOverdue, type Slots, UNCLAIMED } from "./slots.ts";

export interface Candidate extends Pick<Member, "metadata" | "values"> {
  /** Cluster API has begun the operation: see isBegun(). */
  readonly begun: boolean;
  /** A version; "" if the operation has none. */
  readonly target: string;
  readonly stage: CompiledStage | undefined;
  /** The slot is for tasks of policies, and the Cluster is not released yet. */
  readonly forTasks?: boolean;
  /** The claim must say that the Cluster shows no mark: see isMarkOf(). */
  readonly unmarked?: boolean;
}

export type HoldReason =
  | "InvalidSpec"
  | "NotReady"
  | "Paused"
  | "Halted"
  | "NoStage"
  | "StageClosed"
  | "GateOpen"
  | "InvalidVersion"
  | "TooManyTargets"
  | "NoFreeSlot"
  | "NotItsTurn"
  | "ClaimExpires";

export type ClaimResult =
  /** `status` has to be stored before the Cluster is released; absent: nothing to store. */
  | { readonly begins: true; readonly status?: HookRolloutStatus }
  | { readonly begins: false; readonly reason: HoldReason; readonly stage?: string };

/**
 * A Cluster that took its slot this long ago and has not begun cannot renew its claim, and waits until the claim has ended.
 * Until then each call renews it, because Cluster API has to find the slot when it calls again.
 */
export const RENEWABLE_MS = 60_000;
/** A call may take nearly this long. */
const GRACE_MS = 10_000;

/** How long a Cluster stays in the queue without a call. */
export function graceOf({ retryAfterSeconds }: Pick<CompiledRollout, "retryAfterSeconds">): number {
  return 2 * retryAfterSeconds * 1000 + GRACE_MS;
}

interface Round {
  readonly rollout: CompiledRollout;
  readonly status: HookRolloutStatus | undefined;
  readonly slots: Slots;
  readonly now: Date;
}

/** Adds the claim to `slots`. */
export function claim(round: Round, candidate: Candidate): ClaimResult {
  const { rollout, status, now } = round;
  if (rollout.mode === "Audit" || candidate.begun) return { begins: true };
  const refusal = claimRefusal(rollout, status, candidate, now);
  if (refusal !== undefined) return refusal;
  const { stage } = candidate;
  if (status === undefined || stage === undefined) return { begins: false, reason: "NotReady" };
  const { uid, namespace = "" } = candidate.metadata;
  const own = ownClaim({ rollout, status, now }, candidate);
  const others = (status.running ?? []).filter((each) => each.uid !== uid);
  const taken = own !== undefined ? renewed(own, round, candidate) : newClaim(round, { ...candidate, stage });
  if ("begins" in taken) return taken;
  if (taken === own) return { begins: true };
  const turns = own === undefined && { turns: withTurn(status.turns, namespace) };
  return { begins: true, status: { ...status, running: [...others, taken], ...turns } };
}

/**
 * Whether Cluster API has begun the operation, so that no rollout holds it any more. Up to 1.11, BeforeClusterUpgrade is called about
 * another version while the mark of an upgrade is there: then only a slot of which it is the mark, or a failure after one, says
 * that this one began.
 */
export function isBegun(
  { rollout, status }: Pick<Round, "rollout" | "status">,
  { marked, metadata: { uid }, target }: Pick<Member, "marked" | "metadata"> & Pick<Candidate, "target">,
  served: ServedUpgrades,
): boolean {
  if (!marked || !asksMidway(rollout, served)) return marked;
  const { running = [], failed = [] } = status ?? {};
  const begun = [
    ...running.filter((each) => each.claimed && isMarkOf(rollout, each, served)),
    ...failed.filter(({ reason }) => reason !== UNCLAIMED),
  ];
  return begun.some((each) => each.uid === uid && each.target === target);
}

export function asksMidway({ operation }: CompiledRollout, { marksUpgrades }: ServedUpgrades): boolean {
  return !marksUpgrades && operation === "Upgrade";
}

/**
 * Whether the Cluster's mark says that the operation of the claim has begun. Where Cluster API asks midway, it can be that of an
 * earlier upgrade, unless it came after the slot, or the Cluster was seen to have begun; a slot for tasks comes before both.
 */
export function isMarkOf(
  rollout: CompiledRollout,
  { claimed, tasks, unmarked, markedAt }: RolloutClaim,
  served: ServedUpgrades,
): boolean {
  if (!asksMidway(rollout, served) || !claimed) return true;
  return tasks !== true && (unmarked === true || markedAt !== undefined);
}

/** What was granted to the candidate for the same target, which can be renewed even if no slot is free. */
export function ownClaim(
  { rollout, status, now }: Omit<Round, "slots">,
  { metadata: { uid }, target }: Pick<Candidate, "metadata" | "target">,
): RolloutClaim | undefined {
  return status?.running?.find(
    (each) =>
      each.uid === uid && each.claimed && (each.target ?? "") === target && !isOverdue(rollout, each, now),
  );
}

/** The claims of `before` that have ended, and were not used. One that ends sooner than it can be renewed was not left unused. */
export function leftUnused(
  before: HookRolloutStatus | undefined,
  status: HookRolloutStatus | undefined,
  now: Date,
): readonly RolloutClaim[] {
  const kept = new Set(status?.running?.map(({ uid }) => uid));
  return (before?.running ?? []).filter(
    ({ uid, markedAt, renewedAt }) =>
      !kept.has(uid) && markedAt === undefined && now.getTime() - Date.parse(renewedAt) >= RENEWABLE_MS,
  );
}

/** It gives the slot of an upgrade to another version, which shows the mark or has ended. One for tasks is for this version. */
export function keepsSlot(
  round: Omit<Round, "slots">,
  { marked, metadata, target }: Pick<Member, "marked" | "metadata"> & Pick<Candidate, "target">,
): boolean {
  if (ownClaim(round, { metadata, target }) !== undefined) return true;
  const before = round.status?.running?.find(({ uid }) => uid === metadata.uid);
  return !marked && before?.markedAt === undefined;
}

export type ClaimRefusal = ClaimResult & { readonly begins: false };

/** Whether a Cluster that has not begun keeps its slot when Cluster API calls again; afterwards it is held. */
export function isRenewable(
  { claimedAt, tasks }: Pick<RolloutClaim, "claimedAt" | "tasks">,
  rollout: Pick<CompiledRollout, "retryAfterSeconds">,
  now: Date,
): boolean {
  // The leader ends it by what HookTasks say.
  if (tasks === true) return true;
  const since = readTimestamp(claimedAt);
  const renewableMs = Math.max(RENEWABLE_MS, graceOf(rollout));
  return since !== undefined && now.getTime() - since.getTime() <= renewableMs;
}

/** The same claim if tasks still need it. Once they do not, the operation begins, and its time counts from here. */
function renewed(
  own: RolloutClaim,
  { rollout, now }: Pick<Round, "rollout" | "now">,
  { forTasks = false }: Pick<Candidate, "forTasks">,
): RolloutClaim | ClaimRefusal {
  if (own.tasks === true && forTasks) return own;
  if (!isRenewable(own, rollout, now)) return { begins: false, reason: "ClaimExpires" };
  const { tasks, ...known } = own;
  const renewedAt = timestamp(now);
  const begun = { ...known, attempts: own.attempts + 1, renewedAt };
  if (forTasks) return { ...begun, tasks: true };
  return tasks === true ? { ...begun, claimedAt: renewedAt } : begun;
}

/** How a status names a Cluster, and what it begins. */
export function whoBegins(
  { namespace = "", name, uid }: ObjectMeta,
  { target, stage }: Pick<Candidate, "target" | "stage">,
): Pick<RolloutClaim, "namespace" | "name" | "uid" | "target" | "stage"> {
  return {
    namespace,
    name,
    uid,
    ...(target !== "" && { target }),
    ...(stage !== undefined && { stage: stage.name }),
  };
}

/** Replaces a claim of the Cluster for another target. */
function newClaim(
  { slots, now }: Round,
  { metadata, stage, values, target, forTasks, unmarked }: Candidate & { readonly stage: CompiledStage },
): RolloutClaim | ClaimRefusal {
  const { uid } = metadata;
  if (!slots.exchange(uid, { stage, values }))
    return { begins: false, reason: "NoFreeSlot", stage: stage.name };
  const at = timestamp(now);
  const who = whoBegins(metadata, { target, stage });
  return {
    ...who,
    claimed: true,
    claimedAt: at,
    renewedAt: at,
    attempts: 1,
    ...(forTasks === true && { tasks: true }),
    ...(unmarked === true && { unmarked }),
  };
}

/** Why the Cluster may not begin, whatever slots are free. */
export function claimRefusal(
  rollout: CompiledRollout,
  status: HookRolloutStatus | undefined,
  { stage, target }: Pick<Candidate, "stage" | "target">,
  now: Date,
): ClaimRefusal | undefined {
  if (rollout.problem !== undefined) return { begins: false, reason: "InvalidSpec" };
  if (!isReady(rollout, status)) return { begins: false, reason: "NotReady" };
  if (rollout.paused) return { begins: false, reason: "Paused" };
  if (haltingStage(rollout, status) !== undefined) return { begins: false, reason: "Halted" };
  if (stage === undefined) return { begins: false, reason: "NoStage" };
  return rollout.operation === "Upgrade"
    ? upgradeRefusal(rollout, status, { stage, target }, now)
    : undefined;
}

function upgradeRefusal(
  rollout: CompiledRollout,
  status: HookRolloutStatus | undefined,
  { stage, target }: { readonly stage: CompiledStage; readonly target: string },
  now: Date,
): ClaimRefusal | undefined {
  if (target === "") return { begins: false, reason: "InvalidVersion" };
  const targets = status?.targets ?? [];
  if (targets.length >= MAX_TARGETS && !targets.some(({ version }) => version === target))
    return { begins: false, reason: "TooManyTargets" };
  const closing = closedBy(rollout, status, { stage, target }, now);
  return closing === undefined ? undefined : { begins: false, reason: "StageClosed", stage: closing.name };
}

/** Whether the status describes this spec and has every claim: see "StatusLost" in rollout-status.ts. */
function isReady({ generation }: CompiledRollout, status: HookRolloutStatus | undefined): boolean {
  const ready = conditionOf({ status }, CONDITION.Ready);
  return status?.observedGeneration === generation && ready?.status === "True";
}
