/** Explains what one policy says about an operation, or about a request at admission. */

import type { PolicyTrace, RuleTrace } from "../../policy/decision.ts";
import { remember } from "../../operations/timers.ts";
import type { CompiledPolicy } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { withFalseParts } from "./false-parts.ts";
import { mismatchOf } from "./match.ts";
import { compareStatus, type StatusComparison, type StatusContext } from "./stored-status.ts";
import { isSinceKnown, type Release, releaseOf, type ExplainedSituation, withApproval } from "./way-out.ts";

export interface ExplainedPolicy extends PolicyTrace {
  /** Why the policy does not apply to the Cluster; empty if it does. */
  readonly mismatch: readonly string[];
  readonly release: Release;
  readonly rules: readonly ExplainedRule[];
  /** How many rules it has on other hooks. */
  readonly otherRules: number;
  readonly status?: StatusComparison;
  /** When the override ends that lifts the policy. */
  readonly liftedUntil?: Date;
}

export interface ExplainedRule extends RuleTrace {
  readonly release: Release;
  /** Whether the start of the block is known: the rule's deadline counts from there. */
  readonly isSinceKnown: boolean;
  readonly deadlineMs?: number;
  /** The rule's effect at admission; absent: none. */
  readonly admission?: "Warn" | "Deny";
}

interface PolicySituation extends ExplainedSituation {
  readonly fleet: Fleet;
  /** For the comparison with the operator's status; absent: there is none, or it is about another time. */
  readonly status?: StatusContext | undefined;
}

/** `policy` has the rules that the trace was made of. */
export function explainPolicy(
  trace: PolicyTrace,
  policy: CompiledPolicy | undefined,
  situation: PolicySituation,
): ExplainedPolicy {
  if (policy === undefined) return { ...trace, mismatch: [], release: undefined, rules: [], otherRules: 0 };
  const { fleet, world, call, status: context } = situation;
  const name = policyName(policy.ref);
  const known = fleet.policies.find(({ compiled }) => policyName(compiled.ref) === name);
  const pending = context?.pending && remember(context.pending, [policy], [trace]);
  const status = context && known && compareStatus(known, trace, { ...context, pending });
  const lifting = fleet.overrides.find((override) => override.name === trace.overriddenBy);
  return {
    ...trace,
    mismatch: trace.matched ? [] : mismatchOf(known?.raw, world),
    release: releaseIfHeld(policy, trace.rules, situation),
    rules: trace.rules.map((rule) =>
      withFalseParts(
        withApproval(explainRule(trace, rule, policy, situation), situation),
        known?.raw["spec"],
        situation,
      ),
    ),
    otherRules: policy.rules.filter(({ hooks }) => !hooks.has(call.hook)).length,
    ...(status !== undefined && { status }),
    ...(lifting !== undefined && { liftedUntil: lifting.expiresAt }),
  };
}

function explainRule(
  { overriddenBy }: PolicyTrace,
  rule: RuleTrace,
  policy: CompiledPolicy,
  situation: ExplainedSituation,
): ExplainedRule {
  const rules = policy.rules.filter(({ name }) => name === rule.rule);
  const { deadline, admission } = rules[0] ?? {};
  const isLifted = overriddenBy !== undefined;
  return {
    ...rule,
    release: isLifted ? undefined : releaseIfHeld({ ...policy, rules }, [rule], situation),
    isSinceKnown: isSinceKnown(policy, rule, situation),
    ...(deadline !== undefined && { deadlineMs: deadline.afterMs }),
    ...(admission !== undefined && { admission }),
  };
}

/** An Audit policy counts as if it were enforced. */
function releaseIfHeld(
  policy: CompiledPolicy,
  rules: readonly RuleTrace[],
  situation: ExplainedSituation,
): Release {
  if (!rules.some(({ holds }) => holds)) return undefined;
  return releaseOf([{ ...policy, mode: "Enforce" }], [{ holds: true, rules }], situation);
}
