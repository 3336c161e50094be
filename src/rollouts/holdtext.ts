/** The text on a held Cluster, without counts: Cluster API would write every waiting Cluster at each change of it. */

import type { RolloutHold } from "../policy/decision.ts";
import type { HoldReason } from "./claim.ts";
import { WHOLE } from "./rollout.ts";

export interface Hold extends RolloutHold {
  readonly reason: HoldReason | "NotConfirmed";
  readonly retryAfterSeconds: number;
  /** Says what a gate of the stage waits for. */
  readonly wanted?: string;
}

export function holdText({ rollout, reason, stage = WHOLE, wanted = "" }: Hold): string {
  const status = `(hookpolicy rollout status ${rollout})`;
  const place = stage === WHOLE || reason === "StageClosed" ? "" : `, stage ${stage}`;
  return `HookRollout ${rollout}${place}: ${reason === "GateOpen" ? wanted : WHY[reason](stage)} ${status}`;
}

const WHY: Readonly<Record<Exclude<Hold["reason"], "GateOpen">, (stage: string) => string>> = {
  InvalidSpec: () => "its spec is invalid, so it holds every Cluster that it may select",
  NotReady: () => "waits until the operator has read the state of the rollout",
  Paused: () => "is paused",
  Halted: () => "is halted because Clusters failed",
  NoStage: () => "no stage selects the Cluster",
  StageClosed: (stage) => `waits for stage ${stage}`,
  TooManyTargets: () => "waits until fewer versions are being rolled out",
  NoFreeSlot: () => "waits for a free slot",
  NotItsTurn: () => "waits for a free slot",
  ClaimExpires: () => "had a slot and did not begin, so it waits until that slot is free again",
  NotConfirmed: () => "could not take a slot from the API server",
};
