import type { HookCall } from "../../api/runtimehooks.ts";
import { covers, isActive, type Override } from "../../policy/override.ts";
import { targetVersion } from "../../policy/targetversion.ts";
import type { Situation } from "../../rollouts/promotion.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";

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
