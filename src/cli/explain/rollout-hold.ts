/** Explains from the statuses of HookRollouts what they say about an operation that every policy releases. */

import { CONDITION, type HookRolloutStatus, type RolloutStageStatus } from "../../api/hook-policy.ts";
import type { ObjectQuery } from "../../policy/policy.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { targetVersion } from "../../policy/target-version.ts";
import { closedFor, type Hold, holdOf, holdText, liftingOverride } from "../../rollouts/hold.ts";
import { BEGINS, lacksNamespace, type Member, memberOf } from "../../rollouts/member.ts";
import { asSucceeded, type MemberState } from "../../rollouts/rollout-progress.ts";
import { promotionQueries } from "../../rollouts/promotion.ts";
import { countingFailures, haltingStage, soakEnd } from "../../rollouts/stages.ts";
import type { Fleet, FleetRollout } from "../fleet/fleet.ts";
import { presentStatus, statesOf } from "../fleet/rollout-state.ts";
import type { Situation } from "../../policy/world.ts";
import { soakEndText, waitsForText } from "../rollout/stage-text.ts";
import { rolloutRelease, rowOf } from "./rollout-release.ts";
import { type RolloutAnswer, passes, turnOf } from "./rollout-turn.ts";

export interface ExplainedRollout {
  readonly rollout: string;
  readonly mode: "Enforce" | "Audit";
  readonly holds: boolean;
  /** CamelCase constant. */
  readonly reason: string;
  /** The stage of the Cluster; absent: none selects it. */
  readonly stage?: string;
  readonly retryAfterSeconds: number;
  /** The message as Cluster API shows it; empty if the Cluster may begin. */
  readonly message: string;
  /** Further lines from the status. */
  readonly because: readonly string[];
  /** What has to happen before it releases the Cluster; absent: it does not hold it. */
  readonly released?: string;
  /** Whether that takes a user. */
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
    return explainRollout({ ...known, status }, member, situation);
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

/** When stages of these rollouts have soaked. */
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

function explainRollout(known: FleetRollout, member: Member, situation: Situation): ExplainedRollout {
  const { name, mode, retryAfterSeconds } = known.compiled;
  const found = findingOf(known, member, situation);
  if (!found.holds)
    return { rollout: name, mode, ...found, retryAfterSeconds: 0, message: "", needsUser: false };
  const { hold, because, hasNoSlots, lacksNamespace: lacks } = found;
  const stage = member.stage?.name;
  const holds = mode === "Enforce";
  const target = targetVersion(situation.call) ?? "";
  const { released, needsUser } = rolloutRelease({
    ...known,
    hold,
    target,
    hasNoSlots,
    lacksNamespace: lacks,
  });
  return {
    rollout: name,
    reason: hold.reason,
    ...(stage !== undefined && { stage }),
    mode,
    holds,
    because,
    retryAfterSeconds: holds ? retryAfterSeconds : 0,
    message: holdText(hold),
    ...(holds && { released }),
    needsUser: holds && needsUser,
  };
}

function findingOf(known: FleetRollout, member: Member, situation: Situation): RolloutAnswer {
  const { metadata, stage, marked } = member;
  const { compiled, status } = known;
  const lifting = liftingOverride(compiled, situation);
  if (lifting !== undefined) return passes("Overridden", `overridden by HookOverride ${lifting.name}`);
  if (marked) return passes("Running", "its operation runs already");
  const target = targetVersion(situation.call) ?? "";
  const hold = closedFor(compiled, status, { stage, target }, situation);
  const { namespace } = situation.world;
  if (hold?.reason === "NoStage")
    return { holds: true, hold, because: [], lacksNamespace: lacksNamespace(compiled, member, namespace) };
  if (hold !== undefined) return { holds: true, hold, because: why(known, hold, target) };
  if (stage === undefined) return { holds: true, hold: holdOf(compiled, { reason: "NoStage" }), because: [] };
  return turnOf(known, { metadata, stage: stage.name, target, at: situation.now });
}

function why(
  { compiled, status, pauseReason }: FleetRollout,
  { reason, stage }: Hold,
  target: string,
): readonly string[] {
  if (reason === "InvalidSpec") return [compiled.problem ?? ""];
  if (reason === "Paused") return pauseReason === undefined ? [] : [`it was paused because: ${pauseReason}`];
  if (reason === "Halted") return failures(compiled, status);
  if (reason === "NotReady") return unready(status);
  return reason === "StageClosed" ? progress({ compiled, status }, stage, target) : [];
}

function progress(
  { compiled, status }: Pick<FleetRollout, "compiled" | "status">,
  stage: string | undefined,
  target: string,
): readonly string[] {
  const row = rowOf(status, stage, target);
  if (row === undefined)
    return [`no Cluster is asked for ${target} yet, so stage ${stage} has not begun for it`];
  const { members, succeeded, running, failed, notAsked, soakingSince } = row;
  if (members === 0) return [`stage ${stage} selects no Cluster: check its selectors and the labels`];
  return [
    `stage ${stage} to ${target}: ${succeeded} of ${members} succeeded, ${running} running, ${failed} failed, ${notAsked} not asked`,
    ...(soakingSince === undefined
      ? []
      : [`stage ${stage} soaks since ${soakingSince}${soakEndOf(compiled, row)}`]),
    ...[waitsForText(row)].flatMap((text) => (text === undefined ? [] : [`stage ${text}`])),
  ];
}

function soakEndOf(
  { stages }: FleetRollout["compiled"],
  { name, soakingSince = "" }: RolloutStageStatus,
): string {
  const soakMs = stages.find((stage) => stage.name === name)?.minSuccessTimeMs ?? 0;
  return soakEndText(soakingSince, soakMs);
}

function unready({ conditions = [] }: FleetRollout["status"]): readonly string[] {
  return conditions
    .filter(({ type, status }) => type === CONDITION.Ready && status !== "True")
    .map(({ message }) => message);
}

const SHOWN = 5;

function failures(compiled: FleetRollout["compiled"], status: FleetRollout["status"]): readonly string[] {
  const stage = haltingStage(compiled, status);
  const failed = stage === undefined ? [] : countingFailures(compiled, status.failed, stage.name);
  return failed
    .slice(0, SHOWN)
    .map(({ namespace, name, reason, time }) => `${namespace}/${name} failed at ${time} (${reason})`);
}
