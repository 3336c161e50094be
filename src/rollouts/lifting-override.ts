/** Break-glass for rollouts. */

import { covers, isActive, type Override } from "../policy/override.ts";
import type { Situation } from "../policy/world.ts";
import type { CompiledRollout } from "./rollout.ts";

/** The override that lifts the rollout for this operation; `undefined`: there is none. */
export function liftingOverride(
  { name }: CompiledRollout,
  { world: { overrides, cluster }, call, now }: Situation,
): Override | undefined {
  return overrides.find(
    (each) => isActive(each, cluster, call.hook, now) && covers(each, { kind: "HookRollout", name }),
  );
}
