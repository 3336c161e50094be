/** Formats a decision: every policy that applies to the Cluster, its rules and their gates. */

import type { Decision, GateTrace, PolicyTrace, RuleTrace } from "../../policy/decision.ts";
import { timestamp } from "../../policy/instant.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { Colour } from "./colour.ts";

export function traceLines({ trace }: Decision, colour: Colour): string[] {
  const matched = trace.filter(({ matched: speaks }) => speaks);
  if (matched.length === 0) return ["no policy matches the Cluster"];
  return matched.flatMap((policy) => policyLines(policy, colour));
}

function policyLines(policy: PolicyTrace, colour: Colour): string[] {
  const { mode, verdict, overriddenBy, rules } = policy;
  const notes = [
    ...(mode === "Audit" ? ["mode Audit"] : []),
    ...(overriddenBy === undefined ? [] : [`overridden by ${overriddenBy}`]),
    ...(rules.length === 0 ? ["no rule on this hook"] : []),
  ];
  const head = [`${policyName(policy.policy)}: ${verdict}`, ...notes].join(", ");
  return [head, ...rules.flatMap((rule) => ruleLines(rule, colour)).map((line) => `  ${line}`)];
}

function ruleLines({ rule, verdict, reason, gates, deadlineAt }: RuleTrace, colour: Colour): string[] {
  const head = `rule ${rule}: ${verdict} (${reason})`;
  const deadline = deadlineAt === undefined ? [] : [`  deadline ${timestamp(deadlineAt)}`];
  return [head, ...gates.map((gate) => `  ${gateLine(gate, colour)}`), ...deadline];
}

function gateLine({ gate, holds, wanted, observed }: GateTrace, colour: Colour): string {
  const marks = {
    true: colour.green("holds"),
    false: colour.red("waits"),
    undefined: colour.yellow("unknown"),
  };
  return `gate ${gate} ${marks[`${holds}`]}: ${wanted}; ${observed}`;
}
