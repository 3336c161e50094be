/** Says what has to happen before a rollout releases a Cluster that it holds, and who can do it. */

import type { HookRolloutStatus, RolloutStageStatus } from "../../api/hook-policy.ts";
import { timestamp } from "../../policy/instant.ts";
import type { Hold } from "../../rollouts/hold.ts";
import { needsNone } from "../../rollouts/limit.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";

export interface RolloutRelease {
  /** Continues "released". */
  readonly released: string;
  /** Whether it takes a user: no time, and no other Cluster, changes it. */
  readonly needsUser: boolean;
}

interface HoldSituation {
  readonly compiled: CompiledRollout;
  readonly status: HookRolloutStatus;
  readonly hold: Hold;
  readonly target: string;
  /** Whether its limit is no slot at all. */
  readonly hasNoSlots?: boolean | undefined;
  /** Whether its stage is unknown because its Namespace is. */
  readonly lacksNamespace?: boolean | undefined;
}

export function rolloutRelease(held: HoldSituation): RolloutRelease {
  if (held.lacksNamespace === true)
    return { released: "unknown without the Cluster's Namespace", needsUser: false };
  const need = needOf(held);
  return need === undefined
    ? { released: waitOf(held), needsUser: false }
    : { released: `only after ${need}`, needsUser: true };
}

/** `undefined`: it can be released without a user. */
function needOf({ compiled, status, hold, target, hasNoSlots }: HoldSituation): string | undefined {
  const { name, stages } = compiled;
  const admin = `a user who may update HookRollout ${name} has`;
  if (hold.reason === "InvalidSpec") return `${admin} corrected its spec`;
  if (hold.reason === "Paused") return `${admin} resumed it: hookpolicy rollout resume ${name}`;
  if (hold.reason === "NoStage")
    return `a user has given the Cluster labels that a stage selects, or ${admin} added a stage for it`;
  if (hasNoSlots === true) return `${admin} raised maxConcurrency above 0`;
  if (hold.reason !== "StageClosed") return undefined;
  const stage = stages.find((each) => each.name === hold.stage);
  const row = rowOf(status, hold.stage, target);
  if (row?.members !== 0 || stage === undefined || needsNone(stage.minSucceeded)) return undefined;
  return `a user has given Clusters the labels of stage ${stage.name}, or ${admin} set its minSucceeded to 0`;
}

export function rowOf(
  { targets = [] }: HookRolloutStatus,
  stage: string | undefined,
  target: string,
): RolloutStageStatus | undefined {
  return targets.find(({ version = "" }) => version === target)?.stages.find(({ name }) => name === stage);
}

const THEN = "and a slot is free for it";

function waitOf({ compiled: { name }, hold: { reason, stage, soaksUntil } }: HoldSituation): string {
  if (reason === "StageClosed")
    return soaksUntil === undefined
      ? `when stage ${stage} has passed, ${THEN}`
      : `when stage ${stage} has soaked, at ${timestamp(soaksUntil)}, ${THEN}`;
  if (reason === "Halted")
    return `when the failed Clusters have succeeded, or after a user who may update HookRollout ${name} has resumed it: hookpolicy rollout resume ${name}`;
  if (reason === "GateOpen") return `when that gate is met, ${THEN}`;
  if (reason === "TooManyTargets") return `when fewer versions are being rolled out, ${THEN}`;
  if (reason === "NotReady" || reason === "NotConfirmed")
    return `when the operator has read the state of the rollout, ${THEN}`;
  return "when a slot is free for it, and it is its turn";
}
