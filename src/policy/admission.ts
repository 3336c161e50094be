/**
 * Selects the rules that speak at admission, before the API server stores a request, for decide().
 * Gates that count the time since a hook's first call are left out, and so are tasks, because nothing has begun.
 */

import type { HookCall } from "../api/runtime-hooks.ts";
import { decide } from "./decide.ts";
import type { Decision } from "./decision.ts";
import type { CompiledPolicy, CompiledRule } from "./policy.ts";
import type { World } from "./world.ts";

export const ADMISSION_VERDICTS = ["Denied", "Warned", "Passed"] as const;

/** The policies' answer to a request, where nothing has to be confirmed first. */
export interface AdmissionDecision {
  readonly verdict: (typeof ADMISSION_VERDICTS)[number];
  /** The decision of the policies that refuse. */
  readonly denial: Decision;
  /** The decision of those that warn; the API server gets it only for a request that none refuses. */
  readonly warning: Decision;
}

export function admit(
  policies: readonly CompiledPolicy[],
  world: World,
  call: HookCall,
  now: Date,
): AdmissionDecision {
  const denial = decide(denying(policies), world, call, now);
  const warned = decide(warningOnly(policies), world, call, now);
  const verdict = denial.holds ? "Denied" : warned.holds ? "Warned" : "Passed";
  return { verdict, denial, warning: warned };
}

/** The policies that refuse a request, with only the rules that refuse it. */
export function denying(policies: readonly CompiledPolicy[]): readonly CompiledPolicy[] {
  return withRules(policies, (rule, mode) => rule.admission === "Deny" && mode === "Enforce");
}

/** The policies that only warn, as if they were enforced, so that decide() describes what they wait for. */
export function warningOnly(policies: readonly CompiledPolicy[]): readonly CompiledPolicy[] {
  const warns = withRules(
    policies,
    (rule, mode) => rule.admission !== undefined && (rule.admission === "Warn" || mode === "Audit"),
  );
  return warns.map((policy) => ({ ...policy, mode: "Enforce" }));
}

function withRules(
  policies: readonly CompiledPolicy[],
  includes: (rule: CompiledRule, mode: CompiledPolicy["mode"]) => boolean,
): readonly CompiledPolicy[] {
  return policies.flatMap((policy) => {
    const rules = policy.rules
      .filter((rule) => includes(rule, policy.mode))
      .map(({ deadline: _, ...rule }): CompiledRule => ({ ...rule, waits: [], tasks: [] }));
    return rules.length === 0 ? [] : [{ ...policy, rules }];
  });
}
