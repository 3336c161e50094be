/** The objects that gates look at for one operation. */

import type { HookCall } from "../api/runtime-hooks.ts";
import type { CompiledPolicy, ObjectQuery } from "./policy.ts";
import { affordRule, withinBudgets } from "./budget.ts";
import { meter } from "./cel/meter.ts";
import type { World } from "./world.ts";

/** `undefined`: computing their names takes more steps than the decision has. */
export function objectQueries(
  policies: readonly CompiledPolicy[],
  world: World,
  call: HookCall,
  now: Date,
): readonly ObjectQuery[] | undefined {
  const situation = { world, call, now };
  const queries = withinBudgets(policies, ({ rules }) => {
    const found = rules
      .filter(({ hooks }) => hooks.has(call.hook))
      .flatMap(({ gates }) => (affordRule() ? gates.flatMap((gate) => gate.queries?.(situation) ?? []) : []));
    return meter.exhausted ? undefined : found;
  });
  return queries.includes(undefined) ? undefined : queries.flatMap((each) => each ?? []);
}
