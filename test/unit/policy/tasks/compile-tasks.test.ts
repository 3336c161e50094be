/** What of a spec with tasks is in force: hooks, defaults and the ServiceAccount. */

import assert from "node:assert/strict";
import test from "node:test";
import { servedHooks } from "../../../../src/api/hook-catalog.ts";
import type { HookName } from "../../../../src/api/runtime-hooks.ts";
import { fieldsOf } from "../../../../src/lib/fields.ts";
import { compilePolicy, notEnforceable } from "../../../../src/policy/compile.ts";
import { expressionBytes } from "../../../../src/memory/stored-views.ts";
import { decide } from "../../../../src/policy/decide.ts";
import { type CompiledPolicy, isGated } from "../../../../src/policy/policy.ts";
import { ALL_HOOKS, compiled, DELETE, hookPolicy, NOW, rule } from "../../builders.ts";
import { fleetWithTasks, JOB, task, taskRule, taskWorld, withTasks } from "./fixtures.ts";

const taskOf = (policy: CompiledPolicy) => policy.rules[0]?.tasks[0];

test("a task has these defaults", () => {
  const first = taskOf(compiled(withTasks([task()])));
  assert.ok(first);
  const { begins, timeout, timeoutMs, retries, onFailure, validForMs, keepMs } = first;
  assert.deepEqual(
    [begins, timeout, timeoutMs, retries, onFailure, validForMs, keepMs],
    ["Last", "1h", 3_600_000, 0, "Hold", 86_400_000, 86_400_000],
  );
  assert.equal(taskOf(compiled(withTasks([task({ keep: "0s" })])))?.keepMs, 0);
  assert.equal(taskOf(compiled(withTasks([task({ keep: "90m" })])))?.keepMs, 5_400_000);
});

test("a HookPolicy's ServiceAccount is of its own namespace, and that of a ClusterHookPolicy is named with one", () => {
  assert.deepEqual(compiled(withTasks([task()])).account, { namespace: "team-a", name: "worker" });
  assert.deepEqual(compiled(fleetWithTasks([task()])).account, { namespace: "tools", name: "worker" });
  assert.equal(compiled(hookPolicy({ serviceAccountName: "worker" })).account, undefined);
});

test("tasks without a ServiceAccount hold, and begin nothing", () => {
  const policy = compiled(hookPolicy({ rules: [taskRule([task()])] }));
  const { holds, begins } = decide([policy], taskWorld(), DELETE, NOW);
  assert.deepEqual([holds, begins], [true, undefined]);
  assert.match(policy.errors[0]?.message ?? "", /tasks act as a ServiceAccount/);
});

test("a rule with tasks is about the hooks that can be held, and AfterControlPlaneInitialized", () => {
  const hooks: HookName[] = ["BeforeClusterDelete", "AfterControlPlaneInitialized", "AfterClusterUpgrade"];
  const of = (minor: number): unknown => {
    const policy = compilePolicy("HookPolicy", withTasks([task()], { hooks }), servedHooks(minor));
    return [[...(policy.rules[0]?.hooks ?? [])], policy.notEnforceable.map(({ path }) => path)];
  };
  assert.deepEqual(of(14), [hooks, []]);
  assert.deepEqual(of(11), [hooks.slice(0, 2), ["spec.rules[0].hooks[2]"]]);
  const [error] = notEnforceable([taskRule([task()], { hooks })], servedHooks(11));
  assert.equal(
    error?.message,
    "Cluster API 1.11 does not wait for AfterClusterUpgrade, so `tasks` cannot hold it",
  );
});

test("a rule whose tasks are only at AfterControlPlaneInitialized holds nothing", () => {
  const gated = (hooks: HookName[]): unknown => compiled(withTasks([task()], { hooks })).rules.map(isGated);
  assert.deepEqual(gated(["AfterControlPlaneInitialized"]), [false]);
  assert.deepEqual(gated(["AfterControlPlaneInitialized", "BeforeClusterDelete"]), [true]);
});

test("an error in a task makes its rule hold, and no other", () => {
  const rules = [taskRule([task({ when: "x" })]), rule({ name: "fine", hooks: ["BeforeClusterUpgrade"] })];
  const policy = compiled(withTasks([], {}, { rules }));
  assert.deepEqual(
    policy.rules.map(({ problem }) => problem !== undefined),
    [true, false],
  );
  assert.equal(decide([policy], taskWorld(), DELETE, NOW).trace[0]?.rules[0]?.reason, "InvalidSpec");
});

test("what the API server has stored as null is as if it were not there", () => {
  const create = { ...JOB, spec: { ...JOB.spec, suspend: null } };
  const policy = compilePolicy("HookPolicy", withTasks([task({ create })]), ALL_HOOKS);
  const [intent] = decide([policy], taskWorld(), DELETE, NOW).begins ?? [];
  const job = intent?.spec.action.create;
  assert.ok(job !== undefined && !("suspend" in (job["spec"] as object)));
});

test("a template has numbers of any kind", () => {
  const spec = { ...JOB.spec, numbers: [1.5, 1e-7, 1e21, -3] };
  const policy = compilePolicy("HookPolicy", withTasks([task({ create: { ...JOB, spec } })]), ALL_HOOKS);
  const [intent] = decide([policy], taskWorld(), DELETE, NOW).begins ?? [];
  assert.deepEqual(fieldsOf(intent?.spec.action.create?.["spec"])["numbers"], spec.numbers);
});

test("another order of fields is the same task", () => {
  const turned = Object.fromEntries(Object.entries(JOB).toReversed()) as typeof JOB;
  const hash = (create: typeof JOB): unknown => taskOf(compiled(withTasks([task({ create })])))?.actionHash;
  assert.equal(hash(turned), hash(JOB));
});

test("the expressions of tasks count in memory, and the rest of a template does not", () => {
  const bytes = (over: object): number => expressionBytes(withTasks([task(over)]).spec);
  assert.equal(bytes({}), 0);
  for (const over of [
    { when: "true" },
    { succeeded: "true" },
    { failed: "true" },
    { create: { ...JOB, a: "<< 1 >>" } },
  ])
    assert.ok(bytes(over) > 0, JSON.stringify(over));
});
