/** Prints an explanation as JSON. Schema: schemas/output/explain.json. */

import type { GateTrace } from "../../policy/decision.ts";
import { timestamp } from "../../policy/instant.ts";
import type { ExplainedOperation, Explanation } from "./explanation.ts";
import type { ExplainedPolicy, ExplainedRule } from "./policy-explanation.ts";
import type { Release } from "./way-out.ts";

export function explanationJson({ at, operations, ...rest }: Explanation): object {
  return { ...rest, at: timestamp(at), operations: operations.map(operationJson) };
}

function operationJson({ firstAsked, release, steps, policies, ...rest }: ExplainedOperation): object {
  return {
    ...rest,
    ...(firstAsked !== undefined && { firstAsked: timestamp(firstAsked) }),
    ...releaseJson("earliestRelease", release),
    steps: steps.map(({ release: at, ...step }) => ({ ...step, ...releaseJson("earliestRelease", at) })),
    policies: policies.map(policyJson),
  };
}

function policyJson({ trace, mismatch, release, rules, status }: ExplainedPolicy): object {
  const { policy, mode, matched, verdict, holds, overriddenBy } = trace;
  return {
    policy,
    mode,
    matched,
    ...(!matched && { mismatch }),
    verdict,
    holds,
    ...(overriddenBy !== undefined && { overriddenBy }),
    ...releaseJson("earliestRelease", release),
    rules: rules.map(ruleJson),
    ...(status !== undefined && { status }),
  };
}

function ruleJson({ trace, release, isSinceKnown, admission }: ExplainedRule): object {
  const { timers: _, changesAt: _edge, deadlineAt, gates, ...rest } = trace;
  return {
    ...rest,
    ...(admission !== undefined && { admission }),
    ...(deadlineAt !== undefined && isSinceKnown && { deadlineAt: timestamp(deadlineAt) }),
    ...releaseJson("earliestRelease", release),
    gates: gates.map(gateJson),
  };
}

function gateJson({ changesAt, isSearchEnd, members, wanted, wantedInFull, ...rest }: GateTrace): object {
  return {
    ...rest,
    wanted: wantedInFull ?? wanted,
    ...releaseJson("changesAt", isSearchEnd === true ? "Unknown" : changesAt),
    ...(members !== undefined && { members: members.map(gateJson) }),
  };
}

function releaseJson(field: string, at: Release): Record<string, string> {
  if (at === undefined) return {};
  return { [field]: at instanceof Date ? timestamp(at) : at };
}
