/**
 * What policies say at admission, before the API server stores a request: the rules that speak there, for decide().
 * Gates that count the time since a hook's first call are left out, because nothing has begun.
 */

import type { CompiledPolicy, CompiledRule } from "./policy.ts";

/** The policies that refuse a request; each with nothing but the rules that do. */
export function denying(policies: readonly CompiledPolicy[]): readonly CompiledPolicy[] {
  return withRules(policies, (rule, mode) => rule.admission === "Deny" && mode === "Enforce");
}

/** The policies that only warn, as if they were enforced, so that decide() describes what they wait for. */
export function warning(policies: readonly CompiledPolicy[]): readonly CompiledPolicy[] {
  const warns = withRules(
    policies,
    (rule, mode) => rule.admission !== undefined && (rule.admission === "Warn" || mode === "Audit"),
  );
  return warns.map((policy) => ({ ...policy, mode: "Enforce" }));
}

function withRules(
  policies: readonly CompiledPolicy[],
  speaks: (rule: CompiledRule, mode: CompiledPolicy["mode"]) => boolean,
): readonly CompiledPolicy[] {
  return policies.flatMap((policy) => {
    const rules = policy.rules.filter((rule) => speaks(rule, policy.mode)).map(withoutClocks);
    return rules.length === 0 ? [] : [{ ...policy, rules }];
  });
}

function withoutClocks({ deadline: _, ...rule }: CompiledRule): CompiledRule {
  return { ...rule, waits: [] };
}
