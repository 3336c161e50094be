/** Which HookTask is whose: names that two replicas agree about, and the cost of looking for them. */

import assert from "node:assert/strict";
import test from "node:test";
import type { HookCall } from "../../../../src/api/runtime-hooks.ts";
import { decide } from "../../../../src/policy/decide.ts";
import { readablePart, type TaskIdentity, taskName } from "../../../../src/policy/tasks/task-identity.ts";
import type { TaskRecord } from "../../../../src/policy/tasks/task-record.ts";
import type { TaskIntent } from "../../../../src/policy/tasks/task-trace.ts";
import { cluster, compiled, DELETE, NOW } from "../../builders.ts";
import { stored, task, taskWorld, withTasks } from "./fixtures.ts";

function intentOf(call: HookCall, on = cluster()): TaskIntent {
  const policy = compiled(withTasks([task()], { hooks: [call.hook] }));
  const [intent] = decide([policy], taskWorld({ cluster: on }), call, NOW).begins ?? [];
  assert.ok(intent);
  return intent;
}

const STEP: HookCall = {
  hook: "BeforeControlPlaneUpgrade",
  fromKubernetesVersion: "v1.33.0",
  toKubernetesVersion: "v1.34.0",
};
const upgraded = cluster({}, { topology: { className: "lab", version: "v1.35.0" } });

test("a step of an upgrade is one of the upgrade to the version of the topology", () => {
  const { spec: identity } = intentOf(STEP, upgraded);
  assert.deepEqual([identity.version, identity.step], ["v1.34.0", "v1.35.0"]);
  const whole = intentOf({ ...STEP, hook: "BeforeClusterUpgrade" }).spec;
  assert.equal(whole.step, undefined);
  assert.notEqual(taskName({ ...identity, step: "v1.36.0" }), taskName(identity));
  assert.notEqual(taskName(whole), taskName(identity));
});

test("what is stored has the name of its spec", () => {
  for (const { spec, name } of [intentOf(DELETE), intentOf(STEP, upgraded)])
    assert.equal(taskName(spec), name);
});

test("the name is the one that earlier versions of the operator gave", () => {
  const identity: TaskIdentity = {
    policyRef: { kind: "HookPolicy", namespace: "team-a", name: "p", uid: "u1" },
    rule: "r",
    task: "t",
    clusterRef: { namespace: "team-a", name: "prod-1", uid: "c1" },
    hook: "BeforeControlPlaneUpgrade",
    version: "v1.34.0",
    step: "v1.35.0",
    run: 2,
    actionHash: "abc",
  };
  assert.equal(taskName(identity), "prod-1-t-44739538e37d8913");
});

test("a name has at most 57 letters that a label may have, and says Cluster and task", () => {
  const { spec: identity } = intentOf(DELETE);
  const clusterRef = { ...identity.clusterRef, name: `a.b-${"c".repeat(249)}` };
  const long: TaskIdentity = { ...identity, clusterRef };
  for (const name of [taskName(identity), taskName(long)])
    assert.match(name, /^[a-z0-9]([-a-z0-9]{0,55}[a-z0-9])?$/);
  assert.match(taskName(identity), /^prod-1-backup-/);
  assert.equal(readablePart("--A.b_", 10), "a-b");
});

test("whatever must differ has another name, and the Cluster's name alone does not suffice", () => {
  const { spec: identity } = intentOf(STEP, upgraded);
  const others: Partial<TaskIdentity>[] = [
    { policyRef: { ...identity.policyRef, uid: "x" } },
    { rule: "x" },
    { task: "x" },
    { actionHash: "x" },
    { clusterRef: { ...identity.clusterRef, uid: "x" } },
    { hook: "BeforeWorkersUpgrade" },
    { version: "x" },
    { step: "x" },
    { run: 2 },
  ];
  const names = others.map((over) => taskName({ ...identity, ...over }).slice(-16));
  assert.equal(new Set([...names, taskName(identity).slice(-16)]).size, others.length + 1);
});

test("more HookTasks than the steps of a decision allow hold, whatever the failurePolicy", () => {
  const policy = compiled(withTasks([task()], {}, { failurePolicy: "Ignore" }));
  const record = stored(intentOf(DELETE));
  let read = 0;
  const find = (): TaskRecord[] => {
    read += 1;
    return Array.from({ length: 3000 }, () => record);
  };
  const tasks = { count: () => 3000, find };
  const { holds, begins, trace } = decide([policy], taskWorld({ tasks }), DELETE, NOW);
  assert.deepEqual([holds, begins, trace[0]?.rules[0]?.reason], [true, undefined, "BudgetExhausted"]);
  assert.equal(read, 0, "they are charged before they are read");
});
