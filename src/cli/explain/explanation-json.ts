/** An explanation as JSON, for `-o json` and for the page. Schema: schemas/output/explain.json. */

import { afterWords, type GateTrace } from "../../policy/decision.ts";
import { timestamp } from "../../lib/instant.ts";
import type { TaskTrace } from "../../policy/tasks/task-trace.ts";
import type * as wire from "../../page/wire.ts";
import type { ExplainedOperation, Explanation } from "./explanation.ts";
import type { ExplainedPolicy, ExplainedRule } from "./policy-explanation.ts";
import { commandsOf } from "./task-branch.ts";
import type { Release } from "./way-out.ts";

export function explanationJson({ at, operations, ...rest }: Explanation): wire.ExplainReport {
  return { ...rest, at: timestamp(at), operations: operations.map(operationJson) };
}

function operationJson({
  firstAsked,
  release,
  steps,
  policies,
  rollouts,
  byPolicies: _byPolicies,
  next: _next,
  ...rest
}: ExplainedOperation): wire.ExplainedOperation {
  return {
    ...rest,
    ...(firstAsked !== undefined && { firstAsked: timestamp(firstAsked) }),
    ...releaseJson(release),
    steps: steps.map(({ release: at, look: _, ...step }) => ({ ...step, ...releaseJson(at) })),
    policies: policies.map(policyJson),
    rollouts: rollouts.map(({ needsUser: _, ...rollout }) => rollout),
  };
}

function policyJson(explained: ExplainedPolicy): wire.ExplainedPolicy {
  const { policy, mode, matched, mismatch, verdict, holds, overriddenBy, release, rules, status } = explained;
  return {
    policy,
    mode,
    matched,
    ...(!matched && { mismatch }),
    verdict,
    holds,
    ...(overriddenBy !== undefined && { overriddenBy }),
    ...releaseJson(release),
    rules: rules.map(ruleJson),
    ...(status !== undefined && { status }),
  };
}

function ruleJson(explained: ExplainedRule): wire.ExplainedRule {
  const { timers: _, changesAt: _edge, deadlineAt, gates, release, isSinceKnown, ...shown } = explained;
  const { deadlineMs: _deadline, admission, said, message, tasks, ...rest } = shown;
  return {
    ...rest,
    message: message === "" ? "" : afterWords({ ...(said !== undefined && { said }) }, message),
    ...(admission !== undefined && { admission }),
    ...(deadlineAt !== undefined && isSinceKnown && { deadlineAt: timestamp(deadlineAt) }),
    ...releaseJson(release),
    gates: gates.map(gateJson),
    ...(tasks !== undefined && { tasks: tasks.map(taskJson) }),
  };
}

function taskJson(task: TaskTrace): wire.ExplainedTask {
  const { changesAt, nextAttempt, run: _, hindered: _hindered, ...rest } = task;
  return {
    ...rest,
    commands: commandsOf(task),
    ...(nextAttempt !== undefined && { nextAttempt: { ...nextAttempt, at: timestamp(nextAttempt.at) } }),
    ...(changesAt !== undefined && nextAttempt === undefined && { validUntil: timestamp(changesAt) }),
  };
}

/** In the JSON, `holds` of a gate means that it is met; of a rule, that it holds the Cluster. */
function gateJson({
  gate,
  met,
  changesAt,
  isSearchEnd,
  members,
  wanted,
  wantedInFull,
  said: _said,
  found: _found,
  look: _look,
  ...rest
}: GateTrace): wire.ExplainedGate {
  const edge = instantText(isSearchEnd === true ? "Unknown" : changesAt);
  return {
    gate,
    ...(met !== undefined && { holds: met }),
    ...rest,
    wanted: wantedInFull ?? wanted,
    ...(edge !== undefined && { changesAt: edge }),
    ...(members !== undefined && { members: members.map(gateJson) }),
  };
}

function releaseJson(at: Release): { readonly earliestRelease?: string } {
  const earliestRelease = instantText(at);
  return earliestRelease === undefined ? {} : { earliestRelease };
}

function instantText(at: Release): string | undefined {
  return at instanceof Date ? timestamp(at) : at;
}
