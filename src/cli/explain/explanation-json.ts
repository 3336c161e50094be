/** An explanation as JSON. Schema: schemas/output/explain.json. */

import { afterWords } from "../../policy/decision.ts";
import type { GateTrace } from "../../policy/policy.ts";
import { timestamp } from "../../lib/instant.ts";
import type { TaskTrace } from "../../policy/tasks/task-trace.ts";
import type { TearDown } from "../fleet/teardown.ts";
import { adviceText, typed } from "../terminal/printed-command.ts";
import type { ExplainedOperation, Explanation } from "./explanation.ts";
import type { ExplainedPolicy, ExplainedRule } from "./policy-explanation.ts";
import { commandsOf } from "./task-branch.ts";
import type { Release } from "./way-out.ts";

export function explanationJson(explanation: Explanation): object {
  const { cluster, at, tornDown, ownHold, notes, operations } = explanation;
  return {
    cluster,
    at: timestamp(at),
    tornDown: tornDown && { ...tornDown, steps: tornDown.steps.map(tearDownStepJson) },
    ownHold: ownHold && adviceText(ownHold),
    notes: notes.map((note) => adviceText(note)),
    operations: operations.map(operationJson),
  };
}

function tearDownStepJson({ command, wanted }: TearDown["steps"][number]): object {
  return { command, wanted: adviceText(wanted) };
}

function operationJson(operation: ExplainedOperation): object {
  const {
    firstAsked,
    release,
    steps,
    policies,
    rollouts,
    byPolicies: _time,
    next: _next,
    ...rest
  } = operation;
  return {
    ...rest,
    firstAsked: textOf(firstAsked),
    earliestRelease: textOf(release),
    steps: steps.map(({ release: at, look: _, commands, ...step }) => ({
      ...step,
      commands: commands.map((command) => typed(command)),
      earliestRelease: textOf(at),
    })),
    policies: policies.map(policyJson),
    rollouts: rollouts.map(({ needsUser: _, released, ...rollout }) => ({
      ...rollout,
      released: released && adviceText(released),
    })),
  };
}

function policyJson(explained: ExplainedPolicy): object {
  const { policy, mode, matched, mismatch, verdict, holds, overriddenBy, release, rules, status } = explained;
  return {
    policy,
    mode,
    matched,
    mismatch: matched ? undefined : mismatch,
    verdict,
    holds,
    overriddenBy,
    earliestRelease: textOf(release),
    rules: rules.map(ruleJson),
    status,
  };
}

function ruleJson(explained: ExplainedRule): object {
  const { timers: _, changesAt: _edge, deadline, gates, release, ...shown } = explained;
  const { said, message, tasks, ...rest } = shown;
  return {
    ...rest,
    message: message === "" ? "" : afterWords({ ...(said !== undefined && { said }) }, message),
    deadlineAt: deadline instanceof Date ? timestamp(deadline) : undefined,
    earliestRelease: textOf(release),
    gates: gates.map(gateJson),
    tasks: tasks?.map(taskJson),
  };
}

function taskJson(task: TaskTrace): object {
  const { changesAt, nextAttempt, run: _, hindered: _hindered, ...rest } = task;
  return {
    ...rest,
    commands: commandsOf(task),
    nextAttempt: nextAttempt && { ...nextAttempt, at: timestamp(nextAttempt.at) },
    validUntil: nextAttempt === undefined ? textOf(changesAt) : undefined,
  };
}

/** In the JSON, `holds` of a gate means that it is met; of a rule, that it holds the Cluster. */
function gateJson(trace: GateTrace): object {
  const { met, changesAt, isSearchEnd, members, wanted, wantedInFull, ...shown } = trace;
  const { said: _said, found: _found, look: _look, ...rest } = shown;
  return {
    ...rest,
    holds: met,
    wanted: wantedInFull ?? wanted,
    changesAt: textOf(isSearchEnd === true ? "Unknown" : changesAt),
    members: members?.map(gateJson),
  };
}

function textOf(at: Release): string | undefined {
  return at instanceof Date ? timestamp(at) : at;
}
