/** What a confirmation lets begin: only what every moment since the call agrees about; and what else memory says of tasks. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, TaskSpec } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import { HOUR_MS } from "../../../src/lib/duration.ts";
import { fieldsOf } from "../../../src/lib/fields.ts";
import { timestamp } from "../../../src/lib/instant.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { NO_TASKS, type TaskRecord } from "../../../src/policy/tasks/task-record.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { calling, cluster, DELETE, heldAt, hookPolicy, namespace, NO_OBJECTS, NOW } from "../builders.ts";
import { begun, JOB, reading, task, taskRule, withTasks } from "../policy/tasks/fixtures.ts";
import { passTo, rowsOf, storeWith } from "./fixtures.ts";

const deleted = calling(DELETE, cluster());

/** Met from NOW on. */
const OPENS: GateSpec = {
  name: "opens",
  window: { timeZone: "Etc/UTC", allow: [{ from: "2026-11-21T12:00:00", to: "2026-11-21T13:00:00" }] },
};

function confirmed(
  tasks: readonly TaskSpec[],
  until: readonly GateSpec[],
  since: Date,
  { failurePolicy, known = deleted }: { failurePolicy?: "Ignore"; known?: Cluster } = {},
): Decision {
  const policy = withTasks(tasks, until.length > 0 ? { until: [...until] } : {}, {
    ...(failurePolicy && { failurePolicy }),
  });
  const { store } = storeWith({ policies: [policy], clusters: [known], namespaces: [namespace()] });
  const live = {
    cluster: deleted,
    namespace: namespace(),
    objects: NO_OBJECTS,
    overrides: [],
    tasks: NO_TASKS,
  };
  return store.decider.decideLive({ call: DELETE, cluster: deleted }, live, NOW, since);
}

const begins = ({ begins: all = [] }: Decision): string[] => all.map(({ task: { name } }) => name);
const EARLIER = new Date(NOW.getTime() - 1000);

test("a task begins if nothing else holds the Cluster", () => {
  const decision = confirmed([task()], [], EARLIER);
  assert.deepEqual([begins(decision), decision.waitsForTasks], [["backup"], true]);
});

test("a task that begins last does not begin if a gate held the Cluster when the reads began", () => {
  const decision = confirmed([task()], [OPENS], EARLIER);
  assert.deepEqual([begins(decision), decision.waitsForTasks, decision.holds], [[], undefined, true]);
  assert.deepEqual(begins(confirmed([task()], [OPENS], NOW)), ["backup"]);
});

test("a task that begins first begins all the same", () => {
  const decision = confirmed([task({ begins: "First" })], [OPENS], EARLIER);
  assert.deepEqual([begins(decision), decision.waitsForTasks], [["backup"], undefined]);
});

test("a task that is not needed any more does not begin, and what was read still holds", () => {
  const needed = task({ when: "!has(cluster.metadata.labels.done)" });
  const known = cluster({
    ...deleted.metadata,
    labels: { ...deleted.metadata.labels, done: "" },
    resourceVersion: "2000",
  });
  const decision = confirmed([needed], [], EARLIER, { known });
  assert.deepEqual([begins(decision), decision.holds], [[], true]);
});

describe("a task that follows from what a call says beside its operation", () => {
  const bucket = task({
    create: { ...JOB, metadata: { labels: { bucket: "<< request.settings.bucket >>" } } },
  });
  const when = (expression: string): TaskSpec[] => [task({ when: expression }), task({ name: "delete" })];
  const asked = (
    tasks: readonly TaskSpec[],
    settings: HookCall["settings"],
    until: GateSpec[] = [],
    failurePolicy: "Fail" | "Ignore" = "Fail",
  ): Decision => {
    const policies = [withTasks(tasks, until.length > 0 ? { until } : {}, { failurePolicy })];
    const { store } = storeWith({ policies, clusters: [deleted], settings: () => ({ bucket: "ours" }) });
    const call = { ...DELETE, ...(settings && { settings }) };
    const live = { cluster: deleted, namespace: namespace(), objects: NO_OBJECTS, overrides: [] };
    return store.decider.decideLive({ call, cluster: deleted }, { ...live, tasks: NO_TASKS }, NOW);
  };

  test("is rendered with the settings of the call, if the ExtensionConfig has them", () => {
    const [intent] = asked([bucket], { bucket: "ours" }).begins ?? [];
    const { labels } = fieldsOf(fieldsOf(intent?.spec.action.create)["metadata"]);
    assert.deepEqual(labels, { bucket: "ours" });
  });

  test("does not begin with others, and takes no slot, whatever the failurePolicy", () => {
    for (const failurePolicy of ["Fail", "Ignore"] as const) {
      const decision = asked([bucket], { bucket: "theirs" }, [], failurePolicy);
      assert.deepEqual([decision.holds, begins(decision), decision.waitsForTasks], [true, [], undefined]);
    }
  });

  test("does not begin by a gate that is met only for the call", () => {
    const theirs: GateSpec = { name: "theirs", expression: "request.settings.bucket == 'theirs'" };
    const decision = asked([task()], { bucket: "theirs" }, [theirs]);
    assert.deepEqual([decision.holds, begins(decision), decision.waitsForTasks], [true, [], undefined]);
  });

  test("does not begin before another one that is not needed only for the call", () => {
    const tasks = when("request.settings.bucket == 'ours'");
    assert.deepEqual(begins(asked(tasks, { bucket: "theirs" })), []);
    assert.deepEqual(begins(asked(tasks, { bucket: "ours" })), ["backup"]);
  });

  test("is rendered with the version of the call where the Cluster does not show what it comes from", () => {
    const call = { hook: "BeforeClusterUpgrade", fromKubernetesVersion: "v1.34.0" } as const;
    const from = task({
      create: { ...JOB, metadata: { labels: { from: "<< request.fromKubernetesVersion >>" } } },
    });
    const upgrading = heldAt(call.hook, cluster({}, { topology: { className: "lab", version: "v1.35.0" } }));
    const policies = [withTasks([from], { hooks: [call.hook] })];
    const { store } = storeWith({ policies, clusters: [upgrading], settings: () => ({}) });
    const live = { cluster: upgrading, namespace: namespace(), objects: NO_OBJECTS, overrides: [] };
    const request = { call: { ...call, toKubernetesVersion: "v1.35.0" }, cluster: upgrading };
    assert.deepEqual(begins(store.decider.decideLive(request, { ...live, tasks: NO_TASKS }, NOW)), [
      "backup",
    ]);
  });
});

/** What a HookRollout holds, policies do not: its deletion would release it. */
describe("policies hold an operation beside its tasks", () => {
  const closed: GateSpec = { name: "ok", annotation: { key: "example.com/ok" } };
  const hold = (policies: readonly PolicyObject[], records: readonly TaskRecord[] = []): boolean => {
    const tasks = reading(...records);
    const { store } = storeWith({ policies: [...policies], clusters: [deleted], tasks });
    return store.decider.policiesHold(deleted, "BeforeClusterDelete");
  };
  const first = withTasks([task({ begins: "First" })], {}, {}, { name: "first" });
  const last = withTasks([task()]);
  const gate = hookPolicy({ rules: [taskRule([], { name: "gated", until: [closed] })] }, { name: "gate" });

  test("not while nothing but tasks is left to do", () => {
    for (const policies of [[last], [first], [first, last]]) assert.equal(hold(policies), false);
    for (const phase of ["Pending", "Running"] as const)
      assert.equal(hold([last], begun(last, { phase })), false, phase);
  });

  test("by a gate of the rule, of another rule or of another policy, or by a task that has failed", () => {
    const rules = [taskRule([task()]), taskRule([], { name: "gated", until: [closed] })];
    assert.equal(hold([withTasks([task()], { until: [closed] })]), true);
    assert.equal(hold([hookPolicy({ serviceAccountName: "worker", rules })]), true);
    assert.equal(hold([last, gate]), true);
    assert.equal(hold([last], begun(last, { phase: "Failed" })), true);
  });

  test("no more once the gate of another policy is met, and again when it is not", () => {
    const fixture = storeWith({ policies: [last, gate], clusters: [deleted], tasks: NO_TASKS });
    const holds = (): boolean => fixture.store.decider.policiesHold(deleted, "BeforeClusterDelete");
    fixture.deletePolicy(gate);
    assert.equal(holds(), false);
    fixture.setPolicy(gate);
    assert.equal(holds(), true);
  });
});

test("a window has an end by time, which the tasks of its rule can delay, and these have none", () => {
  const opens = new Date(NOW.getTime() + HOUR_MS);
  const from = timestamp(opens).slice(0, -1);
  const window = { timeZone: "Etc/UTC", allow: [{ from, to: "2026-11-22T13:00:00" }] };
  for (const when of ["First", "Last"] as const) {
    const policy = withTasks([task({ begins: when })], { until: [{ name: "opens", window }] });
    const fixture = storeWith({ policies: [policy], clusters: [deleted], tasks: NO_TASKS });
    const row = (): unknown => rowsOf(fixture, policy).map((each) => [each.reason, each.earliestRelease]);
    assert.deepEqual(row(), [["WindowClosed", timestamp(opens)]]);
    passTo(fixture, opens);
    assert.deepEqual(row(), [["TaskPending", undefined]]);
  }
});

describe("a template that cannot be rendered", () => {
  const broken = task({
    create: { ...JOB, metadata: { labels: { a: "<< cluster.metadata.labels['no'] >>" } } },
  });

  test("holds nothing if the rule ignores what is not evaluable", () => {
    const decision = confirmed([broken], [], EARLIER, { failurePolicy: "Ignore" });
    assert.deepEqual([decision.verdict, decision.holds, begins(decision)], ["NotEvaluable", false, []]);
  });

  test("does not release past a gate that held the Cluster when the reads began", () => {
    const decision = confirmed([broken], [OPENS], EARLIER, { failurePolicy: "Ignore" });
    assert.deepEqual([decision.verdict, decision.holds], ["Blocked", true]);
  });

  test("holds otherwise, and says why", () => {
    const decision = confirmed([broken], [], EARLIER);
    assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
    assert.match(decision.message, /task backup cannot begin/);
  });
});
