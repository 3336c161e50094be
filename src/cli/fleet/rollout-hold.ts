/** Explains from the statuses of HookRollouts what they say about an operation that every policy releases. */

import { firstNames, SHOWN } from "../../lib/first-names.ts";
import { namespacedName } from "../../lib/keys.ts";
import {
  CONDITION,
  type HookRolloutStatus,
  REASON,
  type RolloutClaim,
  type RolloutStageStatus,
} from "../../api/hook-policy.ts";
import type { Condition } from "../../api/meta.ts";
import type { ObjectQuery } from "../../policy/policy.ts";
import { clusterKey } from "../../views/cluster.ts";
import { MAX_VERSION } from "../../api/runtime-hooks.ts";
import { targetVersion } from "../../api/target-version.ts";
import { isBegun, isRenewable } from "../../rollouts/claim.ts";
import { wanting } from "../../operations/operation.ts";
import { closedFor, type Hold, holdOf, holdText, liftingOverride } from "../../rollouts/hold.ts";
import { needsNone, slotsOf } from "../../rollouts/limit.ts";
import { lacksNamespace, type Member } from "../../rollouts/member.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import { asSucceeded, type MemberState } from "../../rollouts/rollout-progress.ts";
import { promotionQueries } from "../../rollouts/promotion.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { isOverdue } from "../../rollouts/slots.ts";
import { countingFailures, haltingStage, soakEnd } from "../../rollouts/stages.ts";
import type { Fleet, FleetRollout } from "./fleet.ts";
import { knownMember, presentStatus, statesOf } from "./rollout-state.ts";
import type { Situation } from "../../policy/world.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";
import { waitsForText } from "../../page/stage-text.ts";

export interface ExplainedRollout {
  readonly rollout: string;
  readonly mode: "Enforce" | "Audit";
  readonly holds: boolean;
  readonly reason: string;
  /** The stage of the Cluster; absent: none selects it. */
  readonly stage?: string | undefined;
  readonly retryAfterSeconds: number;
  /** The message as Cluster API shows it; empty if the Cluster may begin. */
  readonly message: string;
  readonly because: readonly string[];
  /** What has to happen before it releases the Cluster; absent: it does not hold it. */
  readonly released?: Advice | undefined;
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
  return asking(fleet, situation).map((request) => {
    const known = live ? request.known : withStatus(request.known, fleet, situation);
    const status = afterSoaks(known, asOf, situation.now);
    return explainRollout({ ...request, known: { ...known, status } }, situation);
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
  return { ...known, status: presentStatus(known, fleet, states, { at: now }) };
}

function asked(state: MemberState, version: string | undefined): MemberState {
  const { cluster } = state;
  if (version === undefined || cluster.topology === undefined) return state;
  return { ...state, cluster: wanting(cluster, version), hasReached: false, isAwaited: true };
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

/** The objects that the gates of policies and stages look at for this Cluster. */
export function gateQueries(fleet: Fleet, situation: Situation): readonly ObjectQuery[] {
  const { world, call, now } = situation;
  const ofStages = asking(fleet, situation).flatMap(({ member: { stage } }) =>
    stage === undefined ? [] : promotionQueries(stage, situation),
  );
  return [...fleet.queries(world, call, now), ...ofStages];
}

interface SlotRequest {
  readonly known: FleetRollout;
  readonly member: Member;
  /** "" for a creation or a deletion. */
  readonly target: string;
}

/** To the rollouts that select the Cluster for this operation. */
function asking({ rollouts, served }: Fleet, { world, call }: Situation): readonly SlotRequest[] {
  const { cluster, namespace } = world;
  const target = targetVersion(call) ?? "";
  if (cluster.topology === undefined) return [];
  return rollouts.flatMap((known) => {
    if (BEGINS[known.compiled.operation] !== call.hook) return [];
    const member = knownMember(known.compiled, cluster, namespace);
    if (member === undefined) return [];
    const { compiled: rollout, status } = known;
    const marked = isBegun({ rollout, status }, { ...member, target }, served);
    return [{ known, member: { ...member, marked }, target }];
  });
}

function explainRollout(request: SlotRequest, situation: Situation): ExplainedRollout {
  const { known, member, target } = request;
  const { compiled, status } = known;
  const lifting = liftingOverride(compiled, situation);
  if (lifting !== undefined)
    return passes(compiled, "Overridden", `overridden by HookOverride ${lifting.name}`);
  if (member.marked) return passes(compiled, "Running", "its operation runs already");
  const hold = closedFor(compiled, status, { stage: member.stage, target }, situation);
  if (hold === undefined) return turnOf(request, situation.now);
  return held(request, hold, outlookOf(request, hold, situation));
}

function passes({ name: rollout, mode }: CompiledRollout, reason: string, because: string): ExplainedRollout {
  const holds = { holds: false, retryAfterSeconds: 0, message: "", needsUser: false };
  return { rollout, mode, reason, because: [because], ...holds };
}

interface Outlook extends Partial<Pick<ExplainedRollout, "because" | "needsUser">> {
  /** What has to happen before the Cluster may begin. */
  readonly released: Advice;
}

function held({ known, member: { stage } }: SlotRequest, hold: Hold, outlook: Outlook): ExplainedRollout {
  const { name: rollout, mode, retryAfterSeconds } = known.compiled;
  const { because = [], released, needsUser = false } = outlook;
  const holds = mode === "Enforce";
  return {
    rollout,
    reason: hold.reason,
    stage: stage?.name,
    mode,
    holds,
    because,
    retryAfterSeconds: holds ? retryAfterSeconds : 0,
    message: holdText(hold),
    released: holds ? released : undefined,
    needsUser: holds && needsUser,
  };
}

/** No time, and no other Cluster, changes it. */
function byUser(deed: Advice, because: readonly string[] = []): Outlook {
  return { released: advice`only after ${deed}`, needsUser: true, because };
}

function adminOf({ name }: CompiledRollout): string {
  return `a user who may update HookRollout ${name} has`;
}

function outlookOf(request: SlotRequest, { reason, stage }: Hold, { world }: Situation): Outlook {
  const { compiled, status, pauseReason } = request.known;
  const admin = adminOf(compiled);
  const resumed = advice`${admin} resumed it: ${run(`hookpolicy rollout resume ${compiled.name}`)}`;
  if (reason === "InvalidSpec") return byUser(`${admin} corrected its spec`, [compiled.problem ?? ""]);
  if (reason === "Paused")
    return byUser(resumed, pauseReason === undefined ? [] : [`it was paused because: ${pauseReason}`]);
  if (reason === "NoStage")
    return lacksNamespace(compiled, request.member, world.namespace)
      ? { released: "unknown without the Cluster's Namespace" }
      : byUser(`a user has given the Cluster labels that a stage selects, or ${admin} added a stage for it`);
  if (reason === "InvalidVersion")
    return byUser(`a user has set spec.topology.version to one of at most ${MAX_VERSION} characters`);
  if (reason === "StageClosed") return afterStage(request, stage ?? "");
  if (reason === "Halted") {
    const released = advice`when the failed Clusters have succeeded, or after ${resumed}`;
    return { because: failures(compiled, status), released };
  }
  return {
    because: reason === "NotReady" ? readyMessages(status, (ready) => ready.status !== "True") : [],
    released: "when that is over, and a slot is free for it",
  };
}

/** Another stage has to pass first. */
function afterStage({ known: { compiled, status }, target }: SlotRequest, name: string): Outlook {
  const released = `when stage ${name} has passed, and a slot is free for it`;
  const row = stagesOf(status, target)?.find((each) => each.name === name);
  if (row === undefined)
    return {
      because: [`no Cluster is asked for ${target} yet, so stage ${name} has not begun for it`],
      released,
    };
  const { members, succeeded, running, failed, notAsked, soakingSince, closed } = row;
  const stage = compiled.stages.find((each) => each.name === name);
  if (members === 0) {
    const because = [`stage ${name} selects no Cluster: check its selectors and the labels`];
    if (stage === undefined || needsNone(stage.minSucceeded)) return { because, released };
    const deed = `a user has given Clusters the labels of stage ${name}, or ${adminOf(compiled)} set its minSucceeded to 0 and its minSuccessTime to 0s`;
    return byUser(deed, because);
  }
  const waiting = waitsForText(row);
  const soak = closed === true ? "had passed, and does not soak again" : `soaks since ${soakingSince}`;
  return {
    because: [
      `stage ${name} to ${target}: ${succeeded} of ${members} succeeded, ${running} running, ${failed} failed, ${notAsked} not asked`,
      ...(soakingSince === undefined ? [] : [`stage ${name} ${soak}`]),
      ...(waiting === undefined ? [] : [`stage ${waiting}`]),
      ...readyMessages(
        status,
        ({ reason }) => reason === REASON.TooLarge || reason === REASON.NamespaceUnknown,
      ),
    ],
    released,
  };
}

function turnOf(request: SlotRequest, at: Date): ExplainedRollout {
  const { known, member, target } = request;
  const { compiled, status } = known;
  const { metadata } = member;
  const claims = (status.running ?? []).filter((claim) => !isOverdue(compiled, claim, at));
  const others = claims.filter(({ uid }) => uid !== metadata.uid);
  const own = claims.find(({ uid }) => uid === metadata.uid);
  const queue = status.next ?? [];
  // The queue names Clusters without their uid.
  const place = queue.findIndex(
    ({ namespace, name }) => metadata.namespace === namespace && metadata.name === name,
  );
  const line =
    place < 0 ? "it is not among the first of the queue" : `it is number ${place + 1} of the queue`;
  const hold = (reason: Hold["reason"], outlook: Partial<Outlook>): ExplainedRollout =>
    held(request, holdOf(compiled, { reason, stage: member.stage?.name }), {
      released: "when a slot is free for it, and it is its turn",
      ...outlook,
    });
  const current = claims.find((claim) => claim.uid === metadata.uid && isFor(claim, target));
  if (current !== undefined)
    return isRenewable(current, compiled, at) ? hasSlot(compiled, current) : hold("ClaimExpires", {});
  const limits = limitsOf(request, others);
  const full = limits.find(({ used, limit }) => used.length >= limit);
  if (full !== undefined) {
    const because = [inUse(full), line];
    const deed = `${adminOf(compiled)} raised maxConcurrency above 0`;
    return hold("NoFreeSlot", full.limit === 0 ? byUser(deed, because) : { because });
  }
  // For another version: it gives that slot for the new one.
  if (own !== undefined) return hasSlot(compiled, own);
  const free = Math.min(...limits.map(({ used, limit }) => limit - used.length));
  const isFirst = place < 0 ? queue.length === 0 : place < free;
  if (isFirst && compiled.spread.length === 0) return passes(compiled, "SlotFree", "a slot is free for it");
  return hold("NotItsTurn", { because: [`${free} free, and ${line}`, ...spreadNote(compiled)] });
}

function hasSlot(rollout: CompiledRollout, { tasks }: RolloutClaim): ExplainedRollout {
  const begins = tasks === true ? "its tasks are done" : "Cluster API asks again";
  return passes(rollout, "HasSlot", `it has a slot, and may begin when ${begins}`);
}

function isFor(claim: RolloutClaim, target: string): boolean {
  return (claim.target ?? "") === target;
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
  // A stage has the same members for each version.
  const rows = stagesOf(status, target) ?? status.targets?.[0]?.stages ?? [];
  const all = rows.reduce((sum, { members }) => sum + members, 0);
  const total = { used: claims, limit: slotsOf(compiled.maxConcurrency, all), what: "all slots" };
  const { name: stage, maxConcurrency: own } = member.stage ?? {};
  if (own === undefined) return [total];
  const members = rows.find(({ name }) => name === stage)?.members ?? 0;
  const used = claims.filter((claim) => claim.stage === stage);
  return [total, { used, limit: slotsOf(own, members), what: `all slots of stage ${stage}` }];
}

function spreadNote({ spread }: CompiledRollout): string[] {
  const keys = spread
    .map(({ labelKey, from }) => (from === "Namespace" ? `${labelKey} of the Namespace` : labelKey))
    .join(", ");
  return spread.length === 0 ? [] : [`only so many Clusters with the same value of ${keys} run at once`];
}

function stagesOf({ targets }: HookRolloutStatus, target: string): readonly RolloutStageStatus[] | undefined {
  return targets?.find(({ version = "" }) => version === target)?.stages;
}

function inUse({ used, limit, what }: UsedLimit): string {
  if (limit === 0) return "maxConcurrency is 0, so nothing begins";
  return `${what} (${limit}) are in use, by ${firstNames(used.map(namespacedName))}`;
}

function readyMessages(
  { conditions = [] }: HookRolloutStatus,
  isMeant: (ready: Condition) => boolean,
): readonly string[] {
  return conditions
    .filter((condition) => condition.type === CONDITION.Ready && isMeant(condition))
    .map(({ message }) => message);
}

function failures(compiled: CompiledRollout, status: HookRolloutStatus): readonly string[] {
  const stage = haltingStage(compiled, status);
  const failed = stage === undefined ? [] : countingFailures(compiled, status.failed, stage.name);
  const more = failed.length - SHOWN;
  return [
    ...failed
      .slice(0, SHOWN)
      .map(({ namespace, name, reason, time }) => `${namespace}/${name} failed at ${time} (${reason})`),
    ...(more > 0 ? [`and ${more} more failed`] : []),
  ];
}
