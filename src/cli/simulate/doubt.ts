/** Finds what a simulation cannot evaluate, so that a changed rule gives no comparable answer. */

import type { GateResult } from "../../policy/policy.ts";
import type { PolicyTrace, RuleTrace } from "../../policy/decision.ts";
import { policyName } from "../../policy/policy-ref.ts";

/** A rule, or the stage of a rollout, of which a part is not evaluable. */
export interface Doubt {
  readonly policy: string;
  /** Empty: all rules of the policy. */
  readonly rule: string;
  readonly message: string;
}

/** Also of rules that another gate blocks, or that another rule hides. */
export function doubtsIn(trace: readonly PolicyTrace[]): readonly Doubt[] {
  return trace.flatMap(({ policy, rules, unread }) =>
    rules.flatMap((found) => {
      const message = doubtOf(found);
      const rule = unread === true ? "" : found.rule;
      return message === undefined ? [] : [{ policy: policyName(policy), rule, message }];
    }),
  );
}

function doubtOf({ verdict, message, gates }: RuleTrace): string | undefined {
  const [first] = gates.flatMap((gate) => problemsOf(gate).map((problem) => `gate ${gate.gate}: ${problem}`));
  return first ?? (verdict === "NotEvaluable" ? message : undefined);
}

function problemsOf({ met, observed, members = [] }: GateResult): readonly string[] {
  const below = members.flatMap(problemsOf);
  return below.length === 0 && met === undefined ? [observed] : below;
}

/** Whether the operation is held for certain, and not only by rules that are not evaluable. */
export function holdsForCertain(trace: readonly PolicyTrace[]): boolean {
  return trace.some(
    ({ holds, rules }) => holds && rules.some((rule) => rule.holds && rule.verdict === "Blocked"),
  );
}

/** As in changedRules(). */
export function ruleKey(holder: string, rule: string): string {
  return `${holder} ${rule}`;
}
