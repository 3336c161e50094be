/** Evaluates one rule for one operation: match conditions, gates, waits, the deadline and tasks, in this order. */

import { type ExpressionResult, STEPS_EXCEEDED } from "./cel/meter.ts";
import { type RuleFinding, changesAtEarliest } from "./decision.ts";
import { after, earliest, timestamp, wholeSecond } from "../lib/instant.ts";
import {
  canHoldAt,
  CAUSE,
  type CompiledGate,
  type CompiledPolicy,
  type CompiledRule,
  type GateTrace,
  inParentheses,
  wantedInMessage,
} from "./policy.ts";
import { affordRule, evaluateGate } from "./budget.ts";
import { BUDGET_EXHAUSTED, strictestOf } from "./strict-reasons.ts";
import { judgeWait } from "./gates/wait.ts";
import { observeWithTasks } from "./tasks/after-initialized.ts";
import { withTasks } from "./tasks/rule-tasks.ts";
import { type RuleTimers, type Situation, timerKey } from "./world.ts";

export function judgeRule(policy: CompiledPolicy, rule: CompiledRule, situation: Situation): RuleFinding {
  if (rule.problem !== undefined) return notEvaluable(rule, rule.broken ?? "InvalidSpec", rule.problem);
  const { state } = situation.world;
  const before = state?.rules.get(timerKey(policy.uid, rule.name)) ?? {};
  const mismatch = affordRule(rule) ? judgeConditions(rule, situation) : outOfSteps(rule);
  if (mismatch !== undefined)
    return { ...mismatch, ...timers(rule, { ...before, gatesMetSince: undefined }) };
  if (!canHoldAt(rule, situation.call.hook)) {
    const observed = withoutGates(rule, "Observed", "Observed", "");
    return rule.tasks.length === 0 ? observed : observeWithTasks(policy, rule, situation, observed);
  }
  const gates = rule.gates.map((gate) => judgeGate(gate, situation));
  const finding = judgeGates(rule, gates, situation.now, before);
  return withTasks(policy, rule, situation, finding);
}

function withoutGates(
  { name, retryAfterSeconds }: CompiledRule,
  verdict: RuleFinding["verdict"],
  reason: string,
  message: string,
): RuleFinding {
  return { rule: name, verdict, reason, message, retryAfterSeconds, gates: [] };
}

export function notEvaluable(rule: CompiledRule, reason: string, message: string): RuleFinding {
  return withoutGates(rule, "NotEvaluable", reason, message);
}

function outOfSteps(rule: CompiledRule): RuleFinding {
  return notEvaluable(rule, BUDGET_EXHAUSTED, STEPS_EXCEEDED);
}

/** `undefined`: the rule applies to the operation. */
function judgeConditions(rule: CompiledRule, { world, call, now }: Situation): RuleFinding | undefined {
  const { cluster, namespace } = world;
  const results = rule.matchConditions.map(({ expression }) =>
    expression.evaluate({ cluster, namespace, call, now }),
  );
  const finding = judgeResults(rule, results);
  const usesNow = rule.matchConditions.some(({ expression }) => expression.usesNow);
  return finding && { ...finding, ...(usesNow && { changesAt: "Unknown" }) };
}

/** As in ValidatingAdmissionPolicy: a false condition decides even if others fail; otherwise a failed one does. */
function judgeResults(rule: CompiledRule, results: readonly ExpressionResult[]): RuleFinding | undefined {
  const nameAt = (index: number): string => rule.matchConditions[index]?.name ?? "";
  const mismatch = results.findIndex((result) => result.ok && result.value === false);
  if (mismatch >= 0)
    return { ...withoutGates(rule, "Skipped", "MatchConditionFalse", ""), condition: nameAt(mismatch) };
  if (results.some((result) => !result.ok && result.exhausted)) return outOfSteps(rule);
  const index = results.findIndex((result) => !result.ok || result.value !== true);
  const failed = results[index];
  if (failed === undefined) return undefined;
  const problem = failed.ok ? "it gives no boolean" : failed.problem;
  const message = `match condition ${nameAt(index)} cannot be evaluated (${problem})`;
  return notEvaluable(rule, "MatchConditionError", message);
}

/** A gate never makes decide() fail. An exception makes its rule not evaluable. */
function judgeGate(gate: CompiledGate, situation: Situation): GateTrace {
  try {
    return { gate: gate.name, ...evaluateGate(gate, situation) };
  } catch (error) {
    return {
      [CAUSE]: error,
      gate: gate.name,
      met: undefined,
      reason: "InternalError",
      wanted: "an evaluation without an internal error",
      observed: "the gate threw an error",
    };
  }
}

function judgeGates(
  rule: CompiledRule,
  gatesWithoutWaits: readonly GateTrace[],
  now: Date,
  before: RuleTimers,
): RuleFinding {
  const allMet = gatesWithoutWaits.every(({ met }) => met === true);
  const gatesMetSince = allMet ? (before.gatesMetSince ?? wholeSecond(now)) : undefined;
  const gates = [...gatesWithoutWaits, ...rule.waits.map((wait) => judgeWait(wait, gatesMetSince, now))];
  const unmet = gates.filter(({ met }) => met !== true);
  const blocked = unmet.some(({ met }) => met === false);
  const blockedSince = before.blockedSince ?? (blocked ? wholeSecond(now) : undefined);
  const deadline = judgeDeadline(rule, blockedSince, unmet, now);
  const finding = {
    rule: rule.name,
    retryAfterSeconds: rule.retryAfterSeconds,
    gates,
    ...timers(rule, { blockedSince, gatesMetSince }),
    ...(deadline !== undefined && { deadlineAt: deadline.at, deadlineReleases: deadline.releases }),
    ...changesAtEarliest([
      ...gates.map(({ changesAt }) => changesAt),
      deadline?.passed === false ? deadline.at : undefined,
    ]),
  };
  if (unmet.length === 0) return { ...finding, verdict: "Allowed", reason: "GatesHold", message: "" };
  if (deadline?.passed === true && deadline.releases) {
    return { ...finding, verdict: "Allowed", reason: "DeadlineExpired", message: "" };
  }
  return { ...finding, ...describeUnmet(rule, unmet, deadline, now) };
}

function describeUnmet(
  rule: CompiledRule,
  unmet: readonly GateTrace[],
  deadline: DeadlineState | undefined,
  now: Date,
): Pick<RuleFinding, "verdict" | "reason" | "said" | "message" | "answer" | "retryAfterSeconds"> {
  const waiting = unmet.find(({ met }) => met === false);
  const first = waiting ?? strictestOf(unmet);
  const told = unmet.filter((gate) => !looksAtObjects(rule, gate));
  const describe = (gates: readonly GateTrace[]): string => {
    const texts = gates.map(describeGate);
    if (waiting !== undefined && deadline !== undefined) texts.push(describeDeadline(deadline, rule));
    return texts.join(", ");
  };
  const edges = [...unmet.map(({ changesAt }) => changesAt), deadline?.at];
  return {
    // All gates must be met, so one that is not decides, whatever the gates that are not evaluable would say.
    verdict: waiting === undefined ? "NotEvaluable" : "Blocked",
    reason: first?.reason ?? "",
    ...(rule.message !== undefined && { said: rule.message }),
    message: describe(unmet),
    // If only object gates are unmet, the answer itself already reveals their result.
    ...(told.length > 0 && told.length < unmet.length && { answer: describe(told) }),
    retryAfterSeconds: soonest(rule.retryAfterSeconds, edges, now),
  };
}

function looksAtObjects({ gates }: CompiledRule, { gate }: GateTrace): boolean {
  return gates.some((each) => each.name === gate && each.demands !== undefined);
}

interface DeadlineState {
  readonly at: Date;
  readonly passed: boolean;
  readonly releases: boolean;
}

/** A deadline never releases a gate that is not evaluable, nor its rule. */
function judgeDeadline(
  { deadline }: CompiledRule,
  blockedSince: Date | undefined,
  unmet: readonly GateTrace[],
  now: Date,
): DeadlineState | undefined {
  if (deadline === undefined || blockedSince === undefined) return undefined;
  const at = after(blockedSince, deadline.afterMs);
  const evaluable = unmet.every(({ met }) => met === false);
  return { at, passed: now >= at, releases: deadline.onExpiry === "Allow" && evaluable };
}

/** Keeps only the state that a wait or a deadline needs. */
function timers(
  rule: CompiledRule,
  { blockedSince, gatesMetSince }: { readonly [K in keyof RuleTimers]: RuleTimers[K] | undefined },
): { timers?: RuleTimers } {
  const kept: RuleTimers = {
    ...(rule.deadline !== undefined && blockedSince !== undefined && { blockedSince }),
    ...(rule.waits.length > 0 && gatesMetSince !== undefined && { gatesMetSince }),
  };
  return rule.deadline === undefined && rule.waits.length === 0 ? {} : { timers: kept };
}

function describeGate(trace: GateTrace): string {
  const { gate, met, observed } = trace;
  if (met === undefined) return `gate ${gate} cannot be evaluated (${observed})`;
  return `gate ${gate} waits for ${wantedInMessage(trace)}${inParentheses(trace)}`;
}

function describeDeadline({ at, passed, releases }: DeadlineState, { tasks }: CompiledRule): string {
  if (passed) return `the deadline passed at ${timestamp(at)}`;
  if (!releases) return `deadline ${timestamp(at)}`;
  return tasks.length > 0
    ? `from ${timestamp(at)} on, this rule waits for its tasks alone`
    : `this rule releases it at ${timestamp(at)}`;
}

/** The rule's own retry, or less if time alone changes something earlier: ceil(next edge − now), 1..300. */
function soonest(
  retryAfterSeconds: number,
  instants: readonly (Date | "Unknown" | undefined)[],
  now: Date,
): number {
  const next = earliest(instants.filter((instant) => instant instanceof Date && instant > now));
  const untilEdge = next instanceof Date ? Math.ceil((next.getTime() - now.getTime()) / 1000) : Infinity;
  return Math.min(Math.max(Math.min(retryAfterSeconds, untilEdge), 1), 300);
}
