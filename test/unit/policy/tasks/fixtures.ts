/** Policies with tasks, and the HookTasks of what they let begin. */

import assert from "node:assert/strict";
import type { RuleSpec, TaskSpec } from "../../../../src/api/hook-policy.ts";
import type { HookCall } from "../../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import { decide } from "../../../../src/policy/decide.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import {
  NO_TASKS,
  readerOf,
  type TaskReader,
  type TaskRecord,
} from "../../../../src/policy/tasks/task-record.ts";
import type { TaskIntent } from "../../../../src/policy/tasks/task-trace.ts";
import type { World } from "../../../../src/policy/world.ts";
import { clusterHookPolicy, compiled, DELETE, hookPolicy, NOW, rule, world } from "../../builders.ts";

export const JOB = {
  apiVersion: "batch/v1",
  kind: "Job",
  spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "a:1" }] } } },
};

/** A Job that begins last. */
export function task(over: Partial<TaskSpec> = {}): TaskSpec {
  return { name: "backup", create: JOB, ...over };
}

/** A rule without gates. */
export function taskRule(tasks: readonly TaskSpec[], over: Partial<RuleSpec> = {}): RuleSpec {
  const { until: _, ...bare } = rule({ name: "backed-up" });
  return { ...bare, tasks: [...tasks], ...over };
}

/** A HookPolicy of one rule, without gates. */
export function withTasks(
  tasks: readonly TaskSpec[],
  over: Partial<RuleSpec> = {},
  spec: Parameters<typeof hookPolicy>[0] = {},
  ...meta: readonly Parameters<typeof hookPolicy>[1][]
): PolicyObject {
  return hookPolicy(
    { serviceAccountName: "worker", rules: [taskRule(tasks, over)], ...spec },
    ...meta.filter((each) => each !== undefined),
  );
}

/** A ClusterHookPolicy of one rule, without gates; its ServiceAccount is in the namespace tools. */
export function fleetWithTasks(
  tasks: readonly TaskSpec[],
  over: Partial<RuleSpec> = {},
  spec: Parameters<typeof clusterHookPolicy>[0] = {},
): PolicyObject {
  return clusterHookPolicy({
    serviceAccount: { namespace: "tools", name: "worker" },
    rules: [taskRule(tasks, over)],
    ...spec,
  });
}

/** The HookTask that is stored for it. */
export function stored(intent: TaskIntent, over: Partial<TaskRecord> = {}): TaskRecord {
  const { namespace, name, spec } = intent;
  return {
    namespace,
    name,
    identity: spec,
    phase: "Pending",
    over: false,
    altered: false,
    attempts: 0,
    message: "",
    ...over,
  };
}

export function reading(...records: readonly TaskRecord[]): TaskReader {
  return readerOf(records);
}

/** HookTasks are known, there is none, and what may begin is rendered. */
export function taskWorld(over: Partial<World> = {}): World {
  return world({ tasks: NO_TASKS, rendersTasks: true, ...over });
}

/** A condition that cannot be evaluated. */
export const FAILING = "cluster.metadata.labels['none'] == 'x'";

export function judge(
  policies: PolicyObject | readonly PolicyObject[],
  over: Partial<World> = {},
  call: HookCall = DELETE,
  now = NOW,
): Decision {
  const all = Array.isArray(policies) ? policies : [policies];
  return decide(all.map(compiled), taskWorld(over), call, now);
}

export const begins = (decision: Decision): string[] => (decision.begins ?? []).map(({ spec }) => spec.task);
export const reason = ({ trace }: Decision): string | undefined => trace[0]?.rules[0]?.reason;
export const states = ({ trace }: Decision): unknown =>
  trace.map(({ rules }) => rules.map(({ tasks }) => tasks?.map(({ state }) => state)));

/** What the policies let begin where nothing has begun; `phase`: of their HookTasks. */
export function begun(
  policies: PolicyObject | readonly PolicyObject[],
  over: Partial<TaskRecord>,
  around: Partial<World> = {},
): TaskRecord[] {
  return (judge(policies, around).begins ?? []).map((intent) => stored(intent, over));
}

export const succeeded = { phase: "Succeeded", succeededAt: NOW } as const;

export function only(decision: Decision): TaskIntent {
  const [intent, ...others] = decision.begins ?? [];
  assert.ok(intent !== undefined && others.length === 0);
  return intent;
}
