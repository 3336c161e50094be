/** Judges an operation under a HookRollout apart from its slots: overrides, refusals and the gates of stages. */

import type { HookRolloutStatus } from "../../api/hookpolicy.ts";
import type { HookCall } from "../../api/runtimehooks.ts";
import { covers, isActive, type Override } from "../../policy/override.ts";
import { targetVersion } from "../../policy/targetversion.ts";
import { refusalOf } from "../../rollouts/claim.ts";
import type { Hold } from "../../rollouts/holdtext.ts";
import { openGate, type Situation } from "../../rollouts/promotion.ts";
import type { CompiledRollout, CompiledStage } from "../../rollouts/rollout.ts";

/** The override that lifts the rollout for this operation; `undefined`: there is none. */
export function liftingOverride(
  { name }: CompiledRollout,
  { world: { overrides, cluster }, call, now }: Situation,
): Override | undefined {
  return overrides.find(
    (each) => isActive(each, cluster, call.hook, now) && covers(each, { kind: "HookRollout", name }),
  );
}

/** The version that an upgrade goes to; "" for other operations. */
export function targetOfCall({ operation }: CompiledRollout, call: HookCall): string {
  return operation === "Upgrade" ? (targetVersion(call) ?? "") : "";
}

/** Why the Cluster may not begin, whatever slots are free; `undefined`: it may begin once it has a slot. */
export function closedFor(
  rollout: CompiledRollout,
  status: HookRolloutStatus,
  stage: CompiledStage | undefined,
  situation: Situation,
): Hold | undefined {
  const target = targetOfCall(rollout, situation.call);
  const refusal = refusalOf(rollout, status, { stage, target }, situation.now);
  if (refusal !== undefined) return holdOf(rollout, refusal.reason, refusal.stage ?? stage?.name);
  const open = stage && openGate(stage, situation);
  if (open === undefined) return undefined;
  const wanted = `gate ${open.gate} waits for ${open.wanted}`;
  return { ...holdOf(rollout, "GateOpen", stage?.name), wanted };
}

export function holdOf(
  { name, retryAfterSeconds }: CompiledRollout,
  reason: Hold["reason"],
  stage: string | undefined,
): Hold {
  return { rollout: name, retryAfterSeconds, reason, ...(stage !== undefined && { stage }) };
}
