/** Computes how long a decision stands if only the time changes. */

import type { Decision } from "./decision.ts";
import { after, earliest } from "./instant.ts";
import type { CompiledPolicy, CompiledRule } from "./policy.ts";

/**
 * Until when the same request gets the same answer, to the second of its retry, which shrinks ahead of an edge;
 * "Never": it never changes. `undefined`: unknown, because an expression reads the clock, or a gate looks at objects.
 * `policies` are those of the decision, in its order.
 */
export function standsUntil(
  policies: readonly CompiledPolicy[],
  { trace, retryAfterSeconds }: Decision,
): Date | "Never" | undefined {
  const volatile = trace.some(({ rules }, index) =>
    policies[index]?.rules.some(
      (rule) => isVolatile(rule) && rules.some(({ rule: name }) => name === rule.name),
    ),
  );
  if (volatile) return undefined;
  const edge = earliest(trace.map(({ changesAt }) => changesAt));
  if (edge === "Unknown") return undefined;
  return edge === undefined ? "Never" : after(edge, -retryAfterSeconds * 1000);
}

function isVolatile({ matchConditions, gates }: CompiledRule): boolean {
  return (
    matchConditions.some(({ expression }) => expression.usesNow) ||
    gates.some(({ usesNow, demands }) => usesNow === true || demands !== undefined)
  );
}
