/** Converts a decision to the answer that a simulation compares. */

import type { AdmissionDecision } from "../../policy/admission.ts";
import { blockedFirst, type Decision, type Verdict } from "../../policy/decision.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { decidingGates, findings, reasonOf } from "../suite/expect.ts";

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

/** Answers with the same key count as equal. */
export function keyOf({ verdict, holds, rules }: SimulatedAnswer): string {
  return JSON.stringify([verdict, holds, rules]);
}

export function answerOf(decision: Decision): SimulatedAnswer {
  const { verdict, holds, retryAfterSeconds, message } = decision;
  const decides = holds || verdict !== "Allowed" ? findings(decision) : [];
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
