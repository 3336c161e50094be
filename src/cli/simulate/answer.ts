/** Converts a decision to what a simulation compares: the answer, and what cannot be evaluated. */

import { isDeepStrictEqual } from "node:util";
import type { AdmissionDecision } from "../../policy/admission.ts";
import {
  blockedFirst,
  decidingGates,
  decidingRules,
  type Decision,
  type PolicyTrace,
  reasonOf,
  type RuleTrace,
  type Verdict,
} from "../../policy/decision.ts";
import type { GateResult } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";

/** The answer to Cluster API, or to a request, with the rules that caused it. */
export interface SimulatedAnswer {
  readonly verdict: Verdict | AdmissionDecision["verdict"];
  readonly holds: boolean;
  readonly retryAfterSeconds: number;
  readonly message: string;
  /** If the answer releases: only the rules of Audit policies and those that only observe. */
  readonly rules: readonly AnswerRule[];
}

export interface AnswerRule {
  readonly policy: string;
  readonly rule: string;
  readonly gate?: string;
  readonly reason: string;
}

/** Whether nothing differs but texts and the time to the next call. */
export function isSameAnswer(a: SimulatedAnswer, b: SimulatedAnswer): boolean {
  return isDeepStrictEqual([a.verdict, a.holds, a.rules], [b.verdict, b.holds, b.rules]);
}

export function answerOf(decision: Decision): SimulatedAnswer {
  const { verdict, holds, retryAfterSeconds, message } = decision;
  const decides = holds || verdict !== "Allowed" ? decidingRules(decision) : [];
  const rules = decides
    .toSorted((a, b) => blockedFirst(a.rule, b.rule))
    .map((finding): AnswerRule => {
      const gate = finding.rule.verdict === "Observed" ? undefined : decidingGates(finding)[0]?.gate;
      return {
        policy: policyName(finding.policy.policy),
        rule: finding.rule.rule,
        ...(gate !== undefined && { gate }),
        reason: reasonOf(finding),
      };
    });
  return { verdict, holds, retryAfterSeconds, message, rules };
}

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
