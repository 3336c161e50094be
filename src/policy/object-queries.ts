/** The objects that gates look at for one operation. */

import type { HookCall } from "../api/runtime-hooks.ts";
import type { CompiledPolicy, ObjectQuery } from "./policy.ts";
import { affordRule, Budgets } from "./budget.ts";
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
  const budgets = new Budgets();
  const queries = meter.decision(() =>
    policies.flatMap((policy) =>
      meter.within(budgets.of(policy.ref), () =>
        policy.rules
          .filter(({ hooks }) => hooks.has(call.hook))
          .flatMap(({ gates }) => {
            if (!affordRule()) return [];
            return gates.flatMap((gate) => gate.queries?.(situation) ?? []);
          }),
      ),
    ),
  );
  return policies.some(({ ref }) => budgets.of(ref).exhausted) ? undefined : queries;
}
