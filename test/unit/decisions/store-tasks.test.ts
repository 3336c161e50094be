/** Which tasks are stored at a hook that Cluster API does not wait for: one that is not known then is lost. */

import assert from "node:assert/strict";
import test from "node:test";
import type { RuleSpec } from "../../../src/api/hook-policy.ts";
import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { stubPolicy } from "../../../src/memory/stored-views.ts";
import { stubCluster } from "../../../src/views/too-large.ts";
import { cluster, hookPolicy, NOW } from "../builders.ts";
import { fleetWithTasks, task, taskRule, withTasks } from "../policy/tasks/fixtures.ts";
import { taskDecisions } from "./task-decisions.ts";

const HOOK = "AfterControlPlaneInitialized";
const initialized = cluster({ annotations: { [PENDING_HOOKS_ANNOTATION]: HOOK } });

const onHook = (over: Partial<RuleSpec> = {}, spec: Parameters<typeof withTasks>[2] = {}): PolicyObject =>
  withTasks([task()], { hooks: [HOOK], ...over }, spec);

/** Whether the call may be the last one, and the tasks that are stored. */
async function storeTasks(
  policies: readonly PolicyObject[],
  known = initialized,
  live: Cluster = initialized,
): Promise<unknown> {
  const { decisions, tried } = taskDecisions({ policies, cluster: live, known });
  return [await decisions.storeTasks({ call: { hook: HOOK }, cluster: initialized }), ...tried];
}

const unknownField = { later: true } as object;

test("they are stored, also if the Cluster has been paused since Cluster API has read it", async () => {
  assert.deepEqual(await storeTasks([onHook()]), [true, "backup"]);
  const paused = { ...initialized, paused: true };
  assert.deepEqual(await storeTasks([onHook()], paused), [true, "backup"]);
  assert.deepEqual(await storeTasks([onHook()], paused, paused), [true, "backup"]);
});

test("none is stored, and the call may be the last one, once the hook has passed or the Cluster is deleted", async () => {
  assert.deepEqual(await storeTasks([onHook()], initialized, cluster()), [true]);
  const { metadata } = initialized;
  const deleted = cluster({ ...metadata, deletionTimestamp: NOW.toISOString() });
  assert.deepEqual(await storeTasks([onHook()], initialized, deleted), [true]);
});

test("Cluster API has to call again while a Cluster or a policy that may have tasks is too large for memory", async () => {
  assert.deepEqual(await storeTasks([onHook()], stubCluster(initialized)), [false]);
  assert.deepEqual(await storeTasks([stubPolicy(onHook())]), [false]);
  const without = stubPolicy(hookPolicy({}, { name: "a", uid: "uid-a" }));
  assert.deepEqual(await storeTasks([without, stubPolicy(onHook())]), [false]);
});

test("those of other policies are stored meanwhile", async () => {
  const fleet = fleetWithTasks([task({ name: "fleet" })], { hooks: [HOOK] });
  assert.deepEqual(await storeTasks([stubPolicy(onHook()), fleet]), [false, "fleet"]);
});

test("Cluster API has to call again while a rule that may have tasks has a field of a newer version", async () => {
  assert.deepEqual(await storeTasks([onHook(unknownField)]), [false]);
  assert.deepEqual(await storeTasks([onHook({}, unknownField)]), [false]);
  assert.deepEqual(await storeTasks([onHook({ ...unknownField, hooks: ["BeforeClusterDelete"] })]), [true]);
});

test("Cluster API has to call again where the steps of the decision run out", async () => {
  const costly = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, true)))";
  const matchConditions = Array.from({ length: 16 }, (_, index) => ({
    name: `m${index}`,
    expression: costly,
  }));
  const rules = Array.from({ length: 12 }, (_, index): RuleSpec => ({
    name: `rule-${index}`,
    hooks: [HOOK],
    matchConditions,
  }));
  const before = hookPolicy({ rules }, { name: "a", uid: "uid-a" });
  assert.deepEqual(await storeTasks([before]), [true]);
  const seen: RuleSpec = { name: "seen", hooks: [HOOK] };
  const after = onHook({}, { rules: [seen, taskRule([task()], { hooks: [HOOK] })] });
  assert.deepEqual(await storeTasks([before, after]), [false]);
  assert.deepEqual(await storeTasks([onHook({ matchConditions })]), [false]);
});

test("the call may be the last one for a policy that has no tasks or only audits, and after errors of its author", async () => {
  const { serviceAccountName: _, ...spec } = onHook().spec as { serviceAccountName?: string };
  const without = { ...onHook(), spec } as PolicyObject;
  for (const policy of [
    stubPolicy(without),
    stubPolicy(onHook({}, { mode: "Audit" })),
    onHook({ tasks: [task({ when: "cluster.(" })] }),
    onHook({ tasks: [task({ when: "cluster.metadata.labels['none'] == 'x'" })] }),
  ])
    assert.deepEqual(await storeTasks([policy]), [true]);
});
