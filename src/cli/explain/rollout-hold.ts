/** Explains from the statuses of HookRollouts what they say about an operation that every policy releases. */

import { firstNames } from "../../lib/first-names.ts";
import { namespacedName } from "../../lib/keys.ts";
import {
  CONDITION,
  type HookRolloutStatus,
  type RolloutClaim,
  type RolloutStageStatus,
} from "../../api/hook-policy.ts";
import type { ObjectQuery } from "../../policy/policy.ts";
import { clusterKey } from "../../views/cluster.ts";
import { timestamp } from "../../lib/instant.ts";
import { targetVersion } from "../../api/target-version.ts";
import { closedFor, type Hold, holdOf, holdText, liftingOverride } from "../../rollouts/hold.ts";
import { needsNone, slotsOf } from "../../rollouts/limit.ts";
import { BEGINS, lacksNamespace, type Member, memberOf } from "../../rollouts/member.ts";
import { asSucceeded, type MemberState } from "../../rollouts/rollout-progress.ts";
import { promotionQueries } from "../../rollouts/promotion.ts";
import { isOverdue } from "../../rollouts/slots.ts";
import { countingFailures, haltingStage, soakEnd } from "../../rollouts/stages.ts";
import type { Fleet, FleetRollout } from "../fleet/fleet.ts";
import { presentStatus, statesOf } from "../fleet/rollout-state.ts";
import type { Situation } from "../../policy/world.ts";
import { soakEndText, waitsForText } from "../rollout/stage-text.ts";

export interface ExplainedRollout {
  readonly rollout: string;
  readonly mode: "Enforce" | "Audit";
  readonly holds: boolean;
  readonly reason: string;
  /** The stage of the Cluster; absent: none selects it. */
  readonly stage?: string;
  readonly retryAfterSeconds: number;
  /** The message as Cluster API shows it; empty if the Cluster may begin. */
  readonly message: string;
  readonly because: readonly string[];
  /** What has to happen before it releases the Cluster; absent: it does not hold it. */
  readonly released?: string;
  readonly needsUser: boolean;
}

export interface StatusTime {
  /** The instant of the statuses; absent: that of the situation. */
  readonly asOf?: Date;
  /** Whether the statuses are the operator's. Otherwise one that is not about the spec is as the operator would write it. */
  readonly live: boolean;
}

/**
 * Sorted by name, the order in which the operator asks them. A stage that soaks at `asOf`, and whose soak ends before the
 * situation, has passed in it; slots and the queue are as they are in the statuses.
 */
export function explainRollouts(
  fleet: Fleet,
  situation: Situation,
  { asOf = situation.now, live }: StatusTime,
): readonly ExplainedRollout[] {
  return asking(fleet, situation).map(({ known: stored, member }) => {
    const known = live ? stored : withStatus(stored, fleet, situation);
    const status = afterSoaks(known, asOf, situation.now);
    const target = targetVersion(situation.call) ?? "";
    return explainRollout({ known: { ...known, status }, member, target }, situation);
  });
}

/** The rollout of a file, which no operator has seen: as if the Cluster were asked for the version of the call. */
function withStatus(known: FleetRollout, fleet: Fleet, { world, call, now }: Situation): FleetRollout {
  const { compiled, status } = known;
  if (status.observedGeneration === compiled.generation && status.conditions !== undefined) return known;
  const key = clusterKey(world.cluster);
  const states = statesOf(compiled, fleet, now).map((state) =>
    clusterKey(state.cluster) === key ? asked(state, targetVersion(call)) : asSucceeded(state),
  );
  return { ...known, status: presentStatus(compiled, status, states, now) };
}

function asked(state: MemberState, version: string | undefined): MemberState {
  const { cluster } = state;
  if (version === undefined || cluster.topology === undefined) return state;
  const topology = { ...cluster.topology, version };
  return { ...state, cluster: { ...cluster, topology }, hasReached: false, isAwaited: true };
}

function afterSoaks({ compiled, status }: FleetRollout, asOf: Date, at: Date): HookRolloutStatus {
  if (status.targets === undefined || at <= asOf) return status;
  const targets = status.targets.map((target) => ({
    ...target,
    stages: target.stages.map((stage) => {
      const end = soakEnd(compiled, status, { stage: stage.name, target: target.version ?? "" }, asOf);
      return end !== undefined && end <= at ? { ...stage, passed: true } : stage;
    }),
  }));
  return { ...status, targets };
}

export function soakEnds(rollouts: readonly FleetRollout[], asOf: Date): readonly Date[] {
  return rollouts.flatMap(({ compiled, status }) =>
    (status.targets ?? []).flatMap(({ version = "", stages }) =>
      stages.flatMap(({ name }) => soakEnd(compiled, status, { stage: name, target: version }, asOf) ?? []),
    ),
  );
}

/** The objects that the gates of stages look at for this Cluster. */
export function rolloutQueries(fleet: Fleet, situation: Situation): readonly ObjectQuery[] {
  return asking(fleet, situation).flatMap(({ member: { stage } }) =>
    stage === undefined ? [] : promotionQueries(stage, situation),
  );
}

/** The rollouts that select the Cluster for this operation. */
function asking(
  { rollouts }: Fleet,
  { world, call }: Situation,
): readonly { readonly known: FleetRollout; readonly member: Member }[] {
  const { cluster, namespace } = world;
  if (cluster.topology === undefined) return [];
  return rollouts.flatMap((known) => {
    if (BEGINS[known.compiled.operation] !== call.hook) return [];
    const member = memberOf(known.compiled, cluster, namespace);
    return member === undefined ? [] : [{ known, member }];
  });
}

interface SlotRequest {
  readonly known: FleetRollout;
  readonly member: Member;
  /** "" for a creation or a deletion. */
  readonly target: string;
}

interface Answer {
  readonly reason: string;
  readonly because: readonly string[];
  /** Absent: the Cluster may begin. */
  readonly hold?: Hold;
  /** What has to happen before it may; continues "released". */
  readonly released?: string;
  /** Whether that takes a user: no time, and no other Cluster, changes it. */
  readonly needsUser?: boolean;
}

function explainRollout(request: SlotRequest, situation: Situation): ExplainedRollout {
  const { known, member } = request;
  const { name: rollout, mode, retryAfterSeconds } = known.compiled;
  const { reason, because, hold, released, needsUser = false } = answerOf(request, situation);
  if (hold === undefined)
    return { rollout, mode, holds: false, reason, because, retryAfterSeconds: 0, message: "", needsUser };
  const stage = member.stage?.name;
  const holds = mode === "Enforce";
  return {
    rollout,
    reason,
    ...(stage !== undefined && { stage }),
    mode,
    holds,
    because,
    retryAfterSeconds: holds ? retryAfterSeconds : 0,
    message: holdText(hold),
    ...(holds && released !== undefined && { released }),
    needsUser: holds && needsUser,
  };
}

function answerOf(request: SlotRequest, situation: Situation): Answer {
  const { known, member, target } = request;
  const { compiled, status } = known;
  const lifting = liftingOverride(compiled, situation);
  if (lifting !== undefined) return passes("Overridden", `overridden by HookOverride ${lifting.name}`);
  if (member.marked) return passes("Running", "its operation runs already");
  const { stage } = member;
  const hold = closedFor(compiled, status, { stage, target }, situation);
  if (hold?.reason === "NoStage" && lacksNamespace(compiled, member, situation.world.namespace))
    return { ...held(hold, []), released: "unknown without the Cluster's Namespace" };
  if (hold !== undefined) return { ...held(hold, why(request, hold)), ...releaseOf(request, hold) };
  return turnOf(request, situation.now);
}

function passes(reason: string, because: string): Answer {
  return { reason, because: [because] };
}

function held(hold: Hold, because: readonly string[]): Answer {
  return { reason: hold.reason, hold, because };
}

function turnOf(request: SlotRequest, at: Date): Answer {
  const { known, member, target } = request;
  const { compiled, status } = known;
  const { metadata } = member;
  const claims = (status.running ?? []).filter((claim) => !isOverdue(compiled, claim, at));
  if (claims.some(({ uid, target: its = "" }) => uid === metadata.uid && its === target))
    return passes("HasSlot", "it has a slot, and may begin when Cluster API asks again");
  const stage = member.stage?.name;
  const queue = status.next ?? [];
  // The queue names Clusters without their uid.
  const place = queue.findIndex(
    ({ namespace, name }) => metadata.namespace === namespace && metadata.name === name,
  );
  const line =
    place < 0 ? "it is not among the first of the queue" : `it is number ${place + 1} of the queue`;
  const limits = limitsOf(request, claims);
  const full = limits.find(({ used, limit }) => used.length >= limit);
  if (full !== undefined) {
    const hold = holdOf(compiled, { reason: "NoFreeSlot", stage });
    const release =
      full.limit === 0
        ? byUser(`${adminOf(compiled)} raised maxConcurrency above 0`)
        : releaseOf(request, hold);
    return { ...held(hold, [inUse(full), line]), ...release };
  }
  const free = Math.min(...limits.map(({ used, limit }) => limit - used.length));
  const isFirst = place < 0 ? queue.length === 0 : place < free;
  if (isFirst && compiled.spread.length === 0) return passes("SlotFree", "a slot is free for it");
  const hold = holdOf(compiled, { reason: "NotItsTurn", stage });
  return {
    ...held(hold, [`${free} free, and ${line}`, ...spreadNote(compiled)]),
    ...releaseOf(request, hold),
  };
}

interface UsedLimit {
  readonly used: readonly RolloutClaim[];
  readonly limit: number;
  readonly what: string;
}

/** The limits of the rollout and of the stage. The limits of a spread are unknown, because the status has no labels. */
function limitsOf(
  { known: { compiled, status }, member, target }: SlotRequest,
  claims: readonly RolloutClaim[],
): readonly UsedLimit[] {
  const rows = status.targets?.find(({ version = "" }) => version === target)?.stages ?? [];
  const all = rows.reduce((sum, { members }) => sum + members, 0);
  const total = { used: claims, limit: slotsOf(compiled.maxConcurrency, all), what: "all slots" };
  const { name: stage, maxConcurrency: own } = member.stage ?? {};
  if (own === undefined) return [total];
  const members = rows.find(({ name }) => name === stage)?.members ?? 0;
  const used = claims.filter((claim) => claim.stage === stage);
  return [total, { used, limit: slotsOf(own, members), what: `all slots of stage ${stage}` }];
}

function spreadNote({ spread }: FleetRollout["compiled"]): string[] {
  const keys = spread
    .map(({ labelKey, from }) => (from === "Namespace" ? `${labelKey} of the Namespace` : labelKey))
    .join(", ");
  return spread.length === 0 ? [] : [`only so many Clusters with the same value of ${keys} run at once`];
}

const SHOWN = 5;

function inUse({ used, limit, what }: UsedLimit): string {
  if (limit === 0) return "maxConcurrency is 0, so nothing begins";
  return `${what} (${limit}) are in use, by ${firstNames(used.map(namespacedName), SHOWN)}`;
}

type Release = Pick<Answer, "released" | "needsUser">;

function byUser(deed: string): Release {
  return { released: `only after ${deed}`, needsUser: true };
}

function adminOf({ name }: FleetRollout["compiled"]): string {
  return `a user who may update HookRollout ${name} has`;
}

const THEN = "and a slot is free for it";

type Words = Readonly<Partial<Record<Hold["reason"], (admin: string, name: string) => string>>>;

const DEEDS: Words = {
  InvalidSpec: (admin) => `${admin} corrected its spec`,
  Paused: (admin, name) => `${admin} resumed it: hookpolicy rollout resume ${name}`,
  NoStage: (admin) =>
    `a user has given the Cluster labels that a stage selects, or ${admin} added a stage for it`,
};

const WAITS: Words = {
  Halted: (admin, name) =>
    `when the failed Clusters have succeeded, or after ${admin} resumed it: hookpolicy rollout resume ${name}`,
  GateOpen: () => `when that gate is met, ${THEN}`,
  TooManyTargets: () => `when fewer versions are being rolled out, ${THEN}`,
  NotReady: () => `when the operator has read the state of the rollout, ${THEN}`,
  NotConfirmed: () => `when the operator has read the state of the rollout, ${THEN}`,
};

function releaseOf(request: SlotRequest, { reason, stage, soaksUntil }: Hold): Release {
  const { compiled } = request.known;
  const admin = adminOf(compiled);
  const deed =
    reason === "StageClosed" && isEmptyForEver(request, stage)
      ? `a user has given Clusters the labels of stage ${stage}, or ${admin} set its minSucceeded to 0`
      : DEEDS[reason]?.(admin, compiled.name);
  if (deed !== undefined) return byUser(deed);
  if (reason !== "StageClosed")
    return {
      released: WAITS[reason]?.(admin, compiled.name) ?? "when a slot is free for it, and it is its turn",
    };
  const passed =
    soaksUntil === undefined
      ? `when stage ${stage} has passed`
      : `when stage ${stage} has soaked, at ${timestamp(soaksUntil)}`;
  return { released: `${passed}, ${THEN}` };
}

function isEmptyForEver({ known, target }: SlotRequest, name: string | undefined): boolean {
  const stage = known.compiled.stages.find((each) => each.name === name);
  const isEmpty = rowOf(known.status, name, target)?.members === 0;
  return isEmpty && stage !== undefined && !needsNone(stage.minSucceeded);
}

function rowOf(
  { targets = [] }: HookRolloutStatus,
  stage: string | undefined,
  target: string,
): RolloutStageStatus | undefined {
  return targets.find(({ version = "" }) => version === target)?.stages.find(({ name }) => name === stage);
}

function why(request: SlotRequest, { reason, stage }: Hold): readonly string[] {
  const { compiled, status, pauseReason } = request.known;
  if (reason === "InvalidSpec") return [compiled.problem ?? ""];
  if (reason === "Paused") return pauseReason === undefined ? [] : [`it was paused because: ${pauseReason}`];
  if (reason === "Halted") return failures(compiled, status);
  if (reason === "NotReady") return unready(status);
  return reason === "StageClosed" ? progress(request, stage) : [];
}

function progress({ known, target }: SlotRequest, stage: string | undefined): readonly string[] {
  const row = rowOf(known.status, stage, target);
  if (row === undefined)
    return [`no Cluster is asked for ${target} yet, so stage ${stage} has not begun for it`];
  const { members, succeeded, running, failed, notAsked, soakingSince } = row;
  if (members === 0) return [`stage ${stage} selects no Cluster: check its selectors and the labels`];
  const soakMs = known.compiled.stages.find(({ name }) => name === stage)?.minSuccessTimeMs ?? 0;
  const waiting = waitsForText(row);
  return [
    `stage ${stage} to ${target}: ${succeeded} of ${members} succeeded, ${running} running, ${failed} failed, ${notAsked} not asked`,
    ...(soakingSince === undefined
      ? []
      : [`stage ${stage} soaks since ${soakingSince}${soakEndText(soakingSince, soakMs)}`]),
    ...(waiting === undefined ? [] : [`stage ${waiting}`]),
  ];
}

function unready({ conditions = [] }: HookRolloutStatus): readonly string[] {
  return conditions
    .filter(({ type, status }) => type === CONDITION.Ready && status !== "True")
    .map(({ message }) => message);
}

function failures(compiled: FleetRollout["compiled"], status: HookRolloutStatus): readonly string[] {
  const stage = haltingStage(compiled, status);
  const failed = stage === undefined ? [] : countingFailures(compiled, status.failed, stage.name);
  return failed
    .slice(0, SHOWN)
    .map(({ namespace, name, reason, time }) => `${namespace}/${name} failed at ${time} (${reason})`);
}
