/** Why a rollout holds a Cluster, and the text that the Cluster shows. */

import type { HookRolloutStatus } from "../api/hook-policy.ts";
import type { RolloutHold } from "../policy/decision.ts";
import { type Candidate, type HoldReason, claimRefusal } from "./claim.ts";
import { timestamp } from "../lib/instant.ts";
import type { Member, UnknownPlace } from "./member.ts";
import { unmetGate } from "./promotion.ts";
import { soakEnd } from "./stages.ts";
import { covers, isActive, type Override, type Situation, type World } from "../policy/world.ts";
import { type HookName, MAX_VERSION } from "../api/runtime-hooks.ts";
import { type CompiledRollout, type CompiledStage, WHOLE } from "./rollout.ts";

export interface Hold extends RolloutHold {
  readonly reason: HoldReason | "NotConfirmed" | UnknownPlace;
  readonly retryAfterSeconds: number;
  /** Says what a gate of the stage waits for. */
  readonly wanted?: string;
  /** Why that gate is not evaluable. */
  readonly problem?: string;
  /** When the stage that it waits for has soaked. */
  readonly soaksUntil?: Date;
}

/** The override that lifts the rollout for this operation; `undefined`: there is none. */
export function liftingOverride(
  { name }: Pick<CompiledRollout, "name">,
  { world: { overrides, cluster }, call: { hook }, now }: OverrideSituation,
): Override | undefined {
  return overrides.find(
    (each) => isActive(each, cluster, hook, now) && covers(each, { kind: "HookRollout", name }),
  );
}

interface OverrideSituation extends Pick<Situation, "now"> {
  readonly world: Pick<World, "cluster" | "overrides">;
  readonly call: { readonly hook: HookName };
}

/** Why the Cluster may not begin, whatever slots are free; `undefined`: it may begin once it has a slot. */
export function closedFor(
  rollout: CompiledRollout,
  status: HookRolloutStatus | undefined,
  candidate: Pick<Candidate, "target"> & Partial<Pick<Candidate, "stage">> & Pick<Member, "unknown">,
  situation: Situation,
): Hold | undefined {
  const { stage, unknown, target } = candidate;
  if (unknown !== undefined) return holdOf(rollout, { reason: unknown });
  const refusal = claimRefusal(rollout, status, { stage, target }, situation.now);
  if (refusal === undefined) return gateHold(rollout, stage, situation);
  const soaksUntil =
    refusal.reason === "StageClosed"
      ? soakEnd(rollout, status, { stage: refusal.stage, target }, situation.now)
      : undefined;
  return { ...holdOf(rollout, refusal), ...(soaksUntil !== undefined && { soaksUntil }) };
}

/** `undefined`: the Cluster meets every gate of the stage. */
function gateHold(
  rollout: CompiledRollout,
  stage: CompiledStage | undefined,
  situation: Situation,
): Hold | undefined {
  const unmet = stage && unmetGate(stage, situation);
  if (unmet === undefined) return undefined;
  const { gate, wanted, ...problem } = unmet;
  const hold = holdOf(rollout, { reason: "GateOpen", stage: stage?.name });
  return { ...hold, wanted: `gate ${gate} waits for ${wanted}`, ...problem };
}

export function holdOf(
  { name, retryAfterSeconds }: CompiledRollout,
  { reason, stage }: { readonly reason: Hold["reason"]; readonly stage?: string | undefined },
): Hold {
  return { rollout: name, retryAfterSeconds, reason, ...(stage !== undefined && { stage }) };
}

/** Has no counts: Cluster API would write every waiting Cluster at each change of it. */
export function holdText({ rollout, reason, stage = WHOLE, wanted = "", soaksUntil }: Hold): string {
  const status = `(hookpolicy rollout status ${rollout})`;
  const place = stage === WHOLE || reason === "StageClosed" ? "" : `, stage ${stage}`;
  const soak = soaksUntil === undefined ? "" : `, which soaks until ${timestamp(soaksUntil)}`;
  return `HookRollout ${rollout}${place}: ${reason === "GateOpen" ? wanted : WHY[reason](stage)}${soak} ${status}`;
}

const WHY: Readonly<Record<Exclude<Hold["reason"], "GateOpen">, (stage: string) => string>> = {
  InvalidSpec: () => "its spec is invalid, so it holds every Cluster that it may select",
  TooLarge: () =>
    "the labels of the Cluster or of its namespace are too large for memory, so it holds it as one that it may select",
  NamespaceUnknown: () => "waits until the operator has read the Namespace of the Cluster",
  NotReady: () => "waits until the operator has read the state of the rollout",
  Paused: () => "is paused",
  Halted: () => "is halted because Clusters failed",
  NoStage: () => "no stage selects the Cluster",
  StageClosed: (stage) => `waits for stage ${stage}`,
  InvalidVersion: () => `the version of the Cluster is no version of at most ${MAX_VERSION} characters`,
  TooManyTargets: () => "waits until fewer versions are being rolled out",
  NoFreeSlot: () => "waits for a free slot",
  NotItsTurn: () => "waits for a free slot",
  ClaimExpires: () => "had a slot and did not begin, so it waits until that slot is free again",
  NotConfirmed: () => "could not take a slot from the API server",
};
