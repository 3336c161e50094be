/** Compares what a step expects with the decision. */

import { RE2JS } from "@bufbuild/re2";
import {
  type DecidingRule,
  type Decision,
  decidingGates,
  decidingRules,
  reasonOf,
} from "../../policy/decision.ts";
import { earliest, timestamp } from "../../lib/instant.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { checkNames, namesPolicy } from "./check-names.ts";
import type { AdmissionAnswer } from "../fleet/admission-request.ts";
import type { ExpectSpec, SpanSpec } from "./spec.gen.ts";
import { isDone } from "../../policy/tasks/judge-tasks.ts";
import type { Span } from "../../operations/timeline.ts";
import { policyName } from "../../policy/policy-ref.ts";

export interface FieldComparison {
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
  readonly same: boolean;
}

/** The answer to a hook; or admission's answer, with the decision that led to it. */
export interface StepAnswer {
  readonly decision: Decision;
  readonly admission?: Omit<AdmissionAnswer, "decision">;
}

/** Compares every expected field. The name of a policy or rollout that the suite does not have is an error. */
export function compare(expect: ExpectSpec, answered: StepAnswer, fleet: Fleet): FieldComparison[] {
  checkNames(expect, fleet);
  const expected: Texts = {
    ...expect,
    retryAfterSeconds: expect.retryAfterSeconds?.toString(),
    nextChange: normal(expect.nextChange),
  };
  return comparedFields(expected, actualFields(expected, answered));
}

/** The values of the fields that a step can expect. */
type Texts = Readonly<Record<string, string | undefined>>;

/** Every field that there is, of the rule that fits the expectation best. */
function actualFields(expected: Texts, { decision, admission }: StepAnswer): Texts {
  const { verdict, message } = admission ?? decision;
  const { rollout: hold } = decision;
  return {
    verdict,
    ...partsOf(likeliest(expected, decidingRules(decision)), expected),
    ...(hold && { reason: hold.reason }),
    rollout: hold?.rollout,
    stage: hold?.stage,
    retryAfterSeconds: admission === undefined ? String(decision.retryAfterSeconds) : undefined,
    message,
    nextChange: nextChange(decision),
  };
}

function comparedFields(expected: Texts, actual: Texts): FieldComparison[] {
  return Object.entries(actual).flatMap(([field, found = ""]) => {
    const wanted = expected[field];
    if (wanted === undefined) return [];
    const shown = field === "message" ? `/${wanted}/` : wanted;
    return [{ field, expected: shown, actual: found || NONE, same: isSame(field, wanted, found) }];
  });
}

function isSame(field: string, expected: string, actual: string): boolean {
  if (field === "policy") return namesPolicy(expected, actual);
  return field === "message" ? RE2JS.compile(expected).test(actual) : expected === actual;
}

/** Shown for an absent value. */
export const NONE = "-";

/** The deciding rule that fits the expectation best; the first if several fit equally. */
function likeliest(expected: Texts, candidates: readonly DecidingRule[]): DecidingRule | undefined {
  const fits = (finding: DecidingRule): number =>
    comparedFields(expected, partsOf(finding, expected)).filter(({ same }) => same).length;
  return candidates.toSorted((a, b) => fits(b) - fits(a))[0];
}

const NO_PARTS = { policy: undefined, rule: undefined, gate: undefined, task: undefined, reason: undefined };

/** The named gate or task, if the rule waits for it, or else the first. */
function partsOf(finding: DecidingRule | undefined, expected: Texts): Texts {
  if (finding === undefined) return NO_PARTS;
  const { policy, rule } = finding;
  const gates = decidingGates(finding);
  const gate = gates.find((each) => each.gate === expected["gate"]) ?? gates[0];
  const left = (rule.tasks ?? []).filter((each) => !isDone(each));
  const task = left.find((each) => each.task === expected["task"]) ?? left[0];
  const reasons = { gate: gate?.reason, task: task?.reason, rule: reasonOf(finding) };
  const part = (["gate", "task"] as const).find((each) => expected[each] !== undefined) ?? "rule";
  return {
    policy: policyName(policy.policy),
    rule: rule.rule,
    gate: gate?.gate,
    task: task?.task,
    reason: reasons[part],
  };
}

export function comparedText(field: string, expected: string | undefined, actual = NONE): FieldComparison[] {
  return expected === undefined ? [] : [{ field, expected, actual, same: expected === actual }];
}

/** When time alone changes the result of a policy. */
function nextChange({ trace }: Decision): string {
  const at = earliest(trace.map(({ changesAt }) => changesAt));
  if (at === undefined) return "Never";
  return at === "Unknown" || isSearchEnd(trace, at) ? "Unknown" : timestamp(at);
}

/** Whether the search for a window's next opening ended at this instant without a result. */
function isSearchEnd(trace: Decision["trace"], at: Date): boolean {
  return trace
    .flatMap(({ rules }) => rules)
    .flatMap(({ gates }) => gates.flatMap((gate) => [gate, ...(gate.members ?? [])]))
    .some((gate) => gate.isSearchEnd === true && Number(gate.changesAt) === at.getTime());
}

/** Converts an instant to UTC without a fraction, so that equal instants have equal texts. */
function normal(instant: string | undefined): string | undefined {
  const at = new Date(instant ?? NaN);
  return Number.isNaN(at.getTime()) ? instant : timestamp(at);
}

/** The spans of each named verdict must be exactly the listed ones. */
export function compareTimeline(
  expected: readonly SpanSpec[],
  actual: readonly Span[],
  from: Date,
  to: Date,
): FieldComparison[] {
  const named = new Set(expected.map(({ verdict }) => verdict));
  const wanted = expected.map((span) => ({
    verdict: span.verdict,
    from: span.from === undefined ? from : new Date(span.from),
    to: span.to === undefined ? to : new Date(span.to),
  }));
  const found = actual.filter(({ verdict }) => named.has(verdict)).map(spanText);
  const listed = wanted.map(spanText);
  const rows = found.map((text) => [listed.includes(text) ? text : NONE, text] as const);
  const missing = listed.filter((text) => !found.includes(text)).map((text) => [text, NONE] as const);
  return [...rows, ...missing].flatMap(([expect, span]) => comparedText("timeline", expect, span));
}

function spanText({ verdict, from, to }: Span): string {
  return `${verdict} from ${timestamp(from)} to ${timestamp(to)}`;
}

/** Adds the fields without an expectation that have a value. */
export function fullComparison(
  compared: readonly FieldComparison[],
  answered: StepAnswer,
): readonly FieldComparison[] {
  const known = new Map(compared.map((each) => [each.field, each]));
  const expected = Object.fromEntries(compared.map((each) => [each.field, each.expected]));
  const ofDecision = Object.entries(actualFields(expected, answered)).flatMap(([field, actual = ""]) => {
    const own = actual === "" ? [] : [{ field, expected: "", actual, same: true }];
    return known.get(field) ?? own;
  });
  return [...ofDecision, ...compared.filter((each) => !ofDecision.includes(each))];
}
