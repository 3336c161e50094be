/** Computes how long a decision stays valid if only the time changes. */

import type { Decision } from "./decision.ts";
import { after, earliest } from "../lib/instant.ts";
import type { CompiledPolicy, CompiledRule } from "./policy.ts";

/** Whether a decision is still the one that would be made now. */
export interface ValidityCheck {
  (now: Date): boolean;
  /** Whether every call about the operation gets it, because no rule reads other fields of a call. */
  readonly forAnyCall: boolean;
}

/**
 * Until when the same request gets the same answer, to the second of its retry, which shrinks ahead of an edge;
 * "Never": it never changes. `undefined`: unknown, because an expression reads the clock, a gate looks at objects, or a rule has
 * tasks.
 * `policies` are those of the decision, in its order.
 */
export function validUntil(
  policies: readonly CompiledPolicy[],
  { trace, retryAfterSeconds }: Decision,
): Date | "Never" | undefined {
  if (appliedRules(policies, trace).some(isVolatile)) return undefined;
  const edge = earliest(trace.map(({ changesAt }) => changesAt));
  if (edge === "Unknown") return undefined;
  return edge === undefined ? "Never" : after(edge, -retryAfterSeconds * 1000);
}

/** Whether a rule reads more of a call than its hook and the version of the operation. */
export function readsCall(policies: readonly CompiledPolicy[], { trace }: Decision): boolean {
  return appliedRules(policies, trace).some(({ matchConditions, gates }) =>
    [...matchConditions.map(({ expression }) => expression), ...gates].some(
      ({ requestFields }) => requestFields.has("settings") || requestFields.has("fromKubernetesVersion"),
    ),
  );
}

function appliedRules(
  policies: readonly CompiledPolicy[],
  trace: Decision["trace"],
): readonly CompiledRule[] {
  return trace.flatMap(({ rules }, index) =>
    (policies[index]?.rules ?? []).filter((rule) => rules.some(({ rule: name }) => name === rule.name)),
  );
}

function isVolatile({ matchConditions, gates, tasks }: CompiledRule): boolean {
  return (
    tasks.length > 0 ||
    matchConditions.some(({ expression }) => expression.usesNow) ||
    gates.some(({ usesNow, demands }) => usesNow === true || demands !== undefined)
  );
}
