/** Explains what one policy says about an operation or a request, and whether its status says the same. */

import { type Fields, fieldsOf, isFields, named, nonEmptyText } from "../../lib/fields.ts";
import { remember } from "../../operations/timers.ts";
import { falseParts } from "../../policy/cel/conjuncts.ts";
import type { PolicyTrace, RuleTrace } from "../../policy/decision.ts";
import type { CompiledPolicy, GateTrace } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import {
  compileSelector,
  describeSelector,
  type Labels,
  labelsOfNamespace,
  lookup,
} from "../../api/selector.ts";
import { requirementsOf } from "../../policy/validation/selector-overlap.ts";
import type { Situation, World } from "../../policy/world.ts";
import type { Fleet, FleetPolicy } from "../fleet/fleet.ts";
import { type ExplainedSituation, isSinceKnown, type Release, releaseOf, withApproval } from "./way-out.ts";
import type { DecisionRow } from "../../api/hook-policy.ts";
import type { PendingOperation } from "../../operations/operation.ts";
import { policyRow } from "../../operations/rows.ts";

export interface ExplainedPolicy extends PolicyTrace {
  readonly mismatch: readonly string[];
  readonly release: Release;
  readonly rules: readonly ExplainedRule[];
  readonly status?: StatusComparison | undefined;
  /** When the override ends that lifts the policy. */
  readonly liftedUntil?: Date | undefined;
}

export interface ExplainedRule extends Omit<RuleTrace, "deadlineAt"> {
  readonly release: Release;
  /** The instant, or the milliseconds after a start of the block that no status shows. */
  readonly deadline: Date | number | undefined;
  readonly admission: "Warn" | "Deny" | undefined;
}

export interface PolicySituation extends ExplainedSituation {
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
  if (policy === undefined) return { ...trace, mismatch: [], release: undefined, rules: [] };
  const { fleet, world, now, status: context } = situation;
  const name = policyName(policy.ref);
  const known = fleet.policies.find(({ compiled }) => policyName(compiled.ref) === name);
  const pending = context?.pending && remember(context.pending, [policy], [trace]);
  const lifting = fleet.overrides.find((override) => override.name === trace.overriddenBy);
  return {
    ...trace,
    mismatch: trace.matched ? [] : mismatchOf(fieldsOf(known?.object.spec), world),
    release: releaseIfHeld(policy, trace.rules, situation),
    rules: trace.rules.map((rule) =>
      withFalseParts(
        withApproval(explainRule(trace, rule, policy, situation), situation),
        known?.object.spec,
        situation,
      ),
    ),
    status: context && known && compareStatus(known, trace, { ...context, pending, world, now }),
    liftedUntil: lifting?.expiresAt,
  };
}

function explainRule(
  { overriddenBy }: PolicyTrace,
  rule: RuleTrace,
  policy: CompiledPolicy,
  situation: ExplainedSituation,
): ExplainedRule {
  const rules = policy.rules.filter(({ name }) => name === rule.rule);
  const { deadlineAt, ...traced } = rule;
  const isKnown = deadlineAt === undefined || isSinceKnown(policy, rule, situation);
  return {
    ...traced,
    release: overriddenBy === undefined ? releaseIfHeld({ ...policy, rules }, [rule], situation) : undefined,
    deadline: isKnown ? deadlineAt : rules[0]?.deadline?.afterMs,
    admission: rules[0]?.admission,
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

function mismatchOf(spec: Fields, { cluster, namespace }: World): readonly string[] {
  const ofNamespace = labelsOfNamespace(namespace);
  const labels = {
    clusterSelector: cluster.metadata.labels,
    ...(ofNamespace !== "unknown" && { namespaceSelector: ofNamespace }),
  };
  return Object.entries(labels).flatMap(([field, found]) => unfulfilled(field, spec[field], found));
}

function unfulfilled(field: string, selector: unknown, labels: Labels): string[] {
  return requirementsOf(isFields(selector) ? selector : {}).flatMap((each) => {
    const one = { matchExpressions: [each] };
    if (compileSelector(one)(labels)) return [];
    const value = lookup(labels, each.key);
    const found = value === undefined ? `no label ${each.key}` : `${each.key}=${value}`;
    return [`${field} wants ${describeSelector(one)}, and finds ${found}`];
  });
}

/**
 * Says which parts of the rule's CEL expressions are false: a decision knows only that the whole is. `spec`: of the policy,
 * unchecked.
 */
function withFalseParts<T extends RuleTrace>(rule: T, spec: unknown, situation: Situation): T {
  const written = named(fieldsOf(spec)["rules"], rule.rule);
  if (rule.condition !== undefined) {
    const condition = named(written["matchConditions"], rule.condition);
    const parts = partsOf(condition["expression"], "matchCondition", situation);
    return parts.length === 0 ? rule : { ...rule, message: textOf(parts) };
  }
  const gates = rule.gates.map((gate) =>
    gateWithFalseParts(gate, named(written["until"], gate.gate), situation),
  );
  return { ...rule, gates };
}

function gateWithFalseParts(gate: GateTrace, written: Fields, situation: Situation): GateTrace {
  const members = gate.members?.map((each) =>
    gateWithFalseParts(each, named(written["anyOf"], each.gate), situation),
  );
  if (members !== undefined) return { ...gate, members };
  if (gate.reason !== "ExpressionFalse") return gate;
  const source = written["expression"];
  const parts = partsOf(source, "gate", situation);
  const isWhole = parts.length === 0 || parts[0] === nonEmptyText(source)?.trim();
  return isWhole ? gate : { ...gate, observed: `${gate.observed}, because ${textOf(parts)}` };
}

function partsOf(
  source: unknown,
  use: "matchCondition" | "gate",
  { world: { cluster, namespace }, call, now }: Situation,
): readonly string[] {
  return typeof source === "string" ? falseParts(source, use, { cluster, namespace, call, now }) : [];
}

function textOf(parts: readonly string[]): string {
  return parts.map((part) => `${part.replaceAll(/\s+/g, " ")} is false`).join("; ");
}

export interface StatusComparison {
  /** The row of this operation; absent: the status has none. */
  readonly row: DecisionRow | undefined;
  /** The differences in words; empty: there are none. */
  readonly differences: readonly string[];
  readonly because: string | undefined;
}

interface StatusContext {
  /** The operation that Cluster API waits for; `undefined`: none, so no row is expected. */
  readonly pending: PendingOperation | undefined;
  readonly isPartial: boolean;
}

/** `undefined`: there is nothing to compare. */
function compareStatus(
  { compiled, status }: FleetPolicy,
  trace: PolicyTrace,
  { pending, isPartial, world, now }: StatusContext & Pick<Situation, "world" | "now">,
): StatusComparison | undefined {
  const { decisions, decisionsOmitted = 0 } = status;
  const stale = generationProblem(compiled.generation, status);
  const row = pending && rowOf(decisions, pending, world);
  const expected = pending && policyRow(pending, { trace, policyUID: compiled.uid }, undefined, now);
  const hasRow = row !== undefined || (expected !== undefined && decisionsOmitted === 0);
  const differences = [...stale, ...(hasRow ? differencesOf(row, expected) : [])];
  if (stale.length === 0 && !hasRow) return undefined;
  const because = stale.length > 0 ? STALE : causeOf(trace, isPartial);
  return { row, differences, because: differences.length === 0 ? undefined : because };
}

function generationProblem(
  generation: number,
  { observedGeneration = "none" }: { readonly observedGeneration?: number | string },
): string[] {
  if (observedGeneration === generation) return [];
  return [`the status is of generation ${observedGeneration}, and the policy is at ${generation}`];
}

function rowOf(decisions: unknown, { call }: PendingOperation, { cluster }: World): DecisionRow | undefined {
  const { namespace, name, uid } = cluster.metadata;
  return (Array.isArray(decisions) ? decisions : []).find(
    (row: DecisionRow) =>
      row.namespace === namespace && row.cluster === name && row.clusterUID === uid && row.hook === call.hook,
  );
}

const COMPARED = ["verdict", "rule", "gate", "reason", "targetVersion"] as const;

function differencesOf(row: DecisionRow | undefined, expected: DecisionRow | undefined): string[] {
  if (row === undefined) return ["the status has no row of this operation"];
  if (expected === undefined) return [`the status says ${row.verdict} (${row.reason}) since ${row.since}`];
  return COMPARED.filter((field) => row[field] !== expected[field]).map(
    (field) => `the status says ${field} ${row[field] ?? "-"}, and it is ${expected[field] ?? "-"}`,
  );
}

const STALE = "the operator has not read the present policy yet: it does so within seconds, if it runs";

function causeOf({ rules }: PolicyTrace, isPartial: boolean): string {
  const isRefused = rules.some(({ gates }) =>
    gates.some(({ met, reason }) => met === undefined && reason === "ObjectsForbidden"),
  );
  return isRefused || isPartial
    ? "you may not read all that the operator reads"
    : "the operator writes it within seconds; if it stays so, it does not run, or cannot write";
}
