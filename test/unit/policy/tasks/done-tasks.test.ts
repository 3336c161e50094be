/** Which tasks nothing waits for: those that are not needed, and those whose success counts. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { TaskSpec } from "../../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import { taskName } from "../../../../src/policy/tasks/task-identity.ts";
import type { TaskRecord } from "../../../../src/policy/tasks/task-record.ts";
import { newOperation } from "../../../../src/operations/operation.ts";
import { policyRow, sameRow } from "../../../../src/operations/rows.ts";
import { at, cluster, DELETE, namespace, NOW } from "../../builders.ts";
import {
  begins,
  begun,
  FAILING,
  fleetWithTasks,
  judge,
  only,
  reading,
  reason,
  states,
  succeeded,
  task,
  withTasks,
} from "./fixtures.ts";

const IGNORE = { failurePolicy: "Ignore" } as const;

describe("a task is not needed", () => {
  const when = "'a' in cluster.metadata.labels";
  const policy = withTasks([task({ when })]);

  test("while its condition is false", () => {
    const decision = judge(policy);
    assert.deepEqual([decision.holds, states(decision)], [false, [[["NotNeeded"]]]]);
  });

  test("except once it has begun", () => {
    const labelled = { cluster: cluster({ labels: { a: "" } }) };
    const records = begun(policy, { phase: "Running" }, labelled);
    assert.equal(judge(policy, { tasks: reading(...records) }).holds, true);
  });

  test("nor judged, by a condition that fails: failurePolicy decides, except past what has begun", () => {
    const failing = (failurePolicy: "Fail" | "Ignore"): PolicyObject =>
      withTasks([task({ when: FAILING })], {}, { failurePolicy });
    assert.deepEqual([judge(failing("Fail")).holds, reason(judge(failing("Fail")))], [true, "WhenError"]);
    assert.equal(judge(failing("Ignore")).holds, false);
    const two = withTasks([task({ name: "a", when: FAILING }), task()], {}, { failurePolicy: "Ignore" });
    const labelled = { cluster: cluster({ labels: { none: "y" } }) };
    const records = begun(two, { phase: "Running" }, labelled);
    assert.equal(records.length, 1);
    assert.equal(judge(two, { tasks: reading(...records) }).holds, true);
  });
});

describe("what has begun holds past failurePolicy: Ignore", () => {
  const known = {
    cluster: cluster({ labels: { none: "x" } }),
    namespace: namespace({ labels: { prod: "" } }),
  };
  const selector = { namespaceSelector: { matchLabels: { prod: "" } } };
  const policies: Readonly<Record<string, PolicyObject>> = {
    "where a gate": withTasks([task()], { until: [{ name: "g", expression: FAILING }] }, IGNORE),
    "where a match condition": withTasks(
      [task()],
      { matchConditions: [{ name: "c", expression: FAILING }] },
      IGNORE,
    ),
    "where the selection": fleetWithTasks([task()], {}, { ...selector, ...IGNORE }),
  };
  for (const [where, policy] of Object.entries(policies))
    test(`${where} is no longer evaluable`, () => {
      const of = (over: Partial<TaskRecord>): Decision => {
        const records = begun(policy, over, known);
        assert.equal(records.length, 1);
        return judge(policy, { namespace: undefined, tasks: reading(...records) });
      };
      for (const [over, why] of [
        [{ phase: "Pending" }, "TaskPending"],
        [{ phase: "Running" }, "TaskRunning"],
        [{ phase: "Failed" }, "TaskFailed"],
        [{ ...succeeded, altered: true }, "TaskAltered"],
      ] as const)
        assert.deepEqual([of(over).holds, of(over).verdict, reason(of(over))], [true, "Blocked", why]);
      for (const over of [succeeded, { phase: "Cancelled" }, { phase: "Running", over: true }] as const)
        assert.equal(of(over).holds, false);
      assert.equal(judge(policy, { namespace: undefined }).holds, false);
      const unknown = judge(policy, {
        namespace: undefined,
        tasks: { count: () => 0, find: () => undefined },
      });
      assert.deepEqual([unknown.holds, reason(unknown), unknown.begins], [true, "TasksUnknown", undefined]);
    });

  test("and the trace has the others, too, except those that are due", () => {
    const first = { begins: "First" } as const;
    const tasks = [task({ name: "a", ...first }), task({ name: "b", ...first }), task({ name: "c" })];
    const policy = withTasks(tasks, { until: [{ name: "g", expression: FAILING }] }, IGNORE);
    const [a] = begun(policy, succeeded, known);
    assert.ok(a);
    const shown = (over: Partial<TaskRecord>, phase: TaskRecord["phase"]): unknown => {
      const others = begun(policy, { phase }, { ...known, tasks: reading(a) });
      return states(judge(policy, { tasks: reading({ ...a, ...over }, ...others) }));
    };
    assert.deepEqual(shown({}, "Running"), [[["Succeeded", "Running", "Waiting"]]]);
    assert.deepEqual(shown({ over: true }, "Failed"), [[["Failed", "Waiting"]]]);
  });

  test("except what may proceed, and lets nothing begin beside it", () => {
    const tasks = [task({ onFailure: "Proceed" }), task({ name: "next", begins: "First" })];
    const matchConditions = [{ name: "c", expression: FAILING }];
    const policy = withTasks(tasks, { matchConditions }, IGNORE);
    const failed = begun(policy, { phase: "Failed" }, known);
    assert.deepEqual([failed.length, judge(policy, { tasks: reading(...failed) }).holds], [1, false]);
    const strict = withTasks(tasks, { matchConditions });
    const held = judge(strict, { tasks: reading(...begun(strict, { phase: "Running" }, known)) });
    assert.deepEqual(
      [reason(held), held.waitsForTasks, held.tasksDue],
      ["MatchConditionError", undefined, undefined],
    );
  });
});

describe("a success counts", () => {
  const of = (over: Partial<TaskSpec>, ended: Partial<TaskRecord>): Decision => {
    const policy = withTasks([task(over)]);
    return judge(policy, { tasks: reading(...begun(policy, { ...succeeded, ...ended })) });
  };

  test("for 24 hours of what was created, or for as long as validFor says, and then another run begins", () => {
    assert.equal(of({}, { succeededAt: at("-23h") }).holds, false);
    assert.deepEqual(
      [of({}, { succeededAt: at("-25h") }).holds, only(of({}, { succeededAt: at("-25h") })).spec.run],
      [true, 2],
    );
    assert.equal(of({ validFor: "1h" }, { succeededAt: at("-61m") }).holds, true);
    const { succeededAt: _, ...untimed } = succeeded;
    assert.equal(of({}, { ...untimed, succeededAt: undefined as unknown as Date }).holds, true);
  });

  test("for the whole operation of what was applied or deleted", () => {
    const policy = withTasks([applied("a")]);
    assert.equal(
      judge(policy, { tasks: reading(...begun(policy, { phase: "Succeeded", succeededAt: at("-300d") })) })
        .holds,
      false,
    );
  });

  const applied = (name: string): TaskSpec => {
    const { create: _, ...bare } = task({ name, succeeded: "true" });
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    return { ...bare, apply: JSON.parse(JSON.stringify(object)) };
  };
  const two = (a: Partial<TaskSpec>, b: Partial<TaskSpec> = {}): PolicyObject =>
    withTasks([task({ name: "a", ...a }), task({ name: "b", ...b })]);
  /** The HookTask of each, where all before it have succeeded. */
  const inTurn = (policy: PolicyObject, ...ends: readonly Partial<TaskRecord>[]): TaskRecord[] =>
    ends.reduce<TaskRecord[]>((all, over) => {
      const before = reading(...all.map((record) => ({ ...record, ...succeeded })));
      return [...all, ...begun(policy, over, { tasks: before })];
    }, []);

  test("however old it is while a later one that begins last is under way, and from its success on as long again", () => {
    const policy = two({ validFor: "1h" });
    const old = { ...succeeded, succeededAt: at("-2h") };
    const then = (b: Partial<TaskRecord>, by = policy): unknown[] => {
      const decision = judge(by, { tasks: reading(...inTurn(by, old, b)) });
      return [states(decision), decision.holds, begins(decision), decision.trace[0]?.changesAt];
    };
    const held = (state: string): unknown => [[[["Succeeded", state]]], true, [], undefined];
    for (const phase of ["Pending", "Running", "Failed"] as const)
      assert.deepEqual(then({ phase }), held(phase));
    assert.deepEqual(then({ ...succeeded, altered: true }), held("Altered"));
    assert.deepEqual(then(succeeded), [[[["Succeeded", "Succeeded"]]], false, [], at("+1h")]);
    const again = (b: string): unknown => [[[["Due", b]]], true, ["a"]];
    const late = { ...succeeded, succeededAt: at("-1h") };
    assert.deepEqual(then(late).slice(0, 3), again("Succeeded"));
    const applying = withTasks([task({ name: "a", validFor: "1h" }), applied("b")]);
    assert.deepEqual(then(late, applying).slice(0, 3), again("Succeeded"));
    const proceed = two({ validFor: "1h" }, { onFailure: "Proceed" });
    assert.deepEqual(then({ phase: "Failed" }, proceed).slice(0, 3), again("Proceeded"));
    for (const b of [
      { over: true },
      { phase: "Cancelled" },
      { ...succeeded, succeededAt: at("-25h") },
    ] as const)
      assert.deepEqual(then(b), [[[["Due", "Waiting"]]], true, ["a"], undefined]);
    const [a, ...others] = inTurn(policy, old, succeeded);
    assert.ok(a);
    const over = judge(policy, { tasks: reading({ ...a, over: true }, ...others) });
    assert.deepEqual(begins(over), ["a"]);
  });

  test("no longer for a later one that begins first, perhaps days before the release", () => {
    const policy = two({ validFor: "1h", begins: "First" }, { validFor: "720h", begins: "First" });
    const then = (b: Partial<TaskRecord>): unknown[] => {
      const old = { ...succeeded, succeededAt: at("-2h") };
      const decision = judge(policy, { tasks: reading(...inTurn(policy, old, b)) });
      return [states(decision), decision.holds, begins(decision)];
    };
    assert.deepEqual(then(succeeded), [[[["Due", "Succeeded"]]], true, ["a"]]);
    assert.deepEqual(then({ phase: "Running" }), [[[["Waiting", "Running"]]], true, []]);
  });

  test("and the trace says until when", () => {
    const decision = of({ validFor: "2h" }, { succeededAt: at("-1h") });
    assert.deepEqual(decision.trace[0]?.changesAt, at("+1h"));
  });

  test("and the row of a gate that waits meanwhile is written again when that begins and ends", () => {
    const policy = withTasks([task({ begins: "First" })], {
      until: [{ name: "ok", annotation: { key: "a.io/ok" } }],
    });
    const operation = newOperation(DELETE, cluster(), NOW, undefined);
    const [row, ...others] = [
      begun(policy, { phase: "Running" }),
      begun(policy, succeeded),
      begun(policy, { ...succeeded, succeededAt: at("-1h") }),
    ].map((records) => {
      const [trace] = judge(policy, { tasks: reading(...records) }).trace;
      assert.ok(trace);
      return policyRow(operation, { trace, policyUID: "uid-protect" }, undefined, NOW);
    });
    assert.deepEqual(
      others.map((each) => each?.changesAt),
      [at("+24h"), at("+23h")],
    );
    assert.deepEqual([sameRow(row, others[0]), sameRow(others[0], others[1])], [false, false]);
  });

  test("never of an operation that is over, or of a task that was cancelled: another run begins", () => {
    for (const over of [{ over: true }, { phase: "Cancelled" }, { phase: "Running", over: true }] as const)
      assert.equal(only(of({}, over)).spec.run, 2);
  });

  test("never of another Cluster, version, template or ServiceAccount, nor in another namespace or under another name", () => {
    const policy = withTasks([task()]);
    const [record] = begun(policy, succeeded);
    assert.ok(record);
    const { identity } = record;
    const holds = (over: Partial<TaskRecord>, by = policy): boolean =>
      judge(by, { tasks: { count: () => 1, find: () => [{ ...record, ...over }] } }).holds;
    assert.equal(holds({}), false);
    for (const other of [
      { clusterRef: { ...identity.clusterRef, uid: "x" } },
      { version: "v1.35.0" },
      { policyRef: { ...identity.policyRef, uid: "x" } },
      { step: "v1.36.0" },
      { actionHash: "x" },
      { rule: "x" },
      { task: "x" },
    ]) {
      const changed = { ...identity, ...other };
      assert.equal(holds({ identity: changed, name: taskName(changed) }), true, JSON.stringify(other));
    }
    assert.equal(holds({ namespace: "team-b" }), true);
    assert.equal(holds({ name: "forged" }), true);
    const edited = { ...task(), create: { ...task().create, metadata: { name: "b" } } } as TaskSpec;
    assert.equal(holds({}, withTasks([edited])), true);
    assert.equal(holds({}, withTasks([task()], {}, { serviceAccountName: "other" })), true);
    assert.equal(holds({}, withTasks([task({ timeout: "3h", retries: 3 })])), false);
  });
});

test("no task begins beside a later one of its rule, although it is needed only now", () => {
  const first = task({ name: "a", when: "'a' in cluster.metadata.labels", begins: "First" });
  const policy = withTasks([first, task({ name: "b" })]);
  const labelled = cluster({ labels: { a: "" } });
  const then = (phase: TaskRecord["phase"]): Decision =>
    judge(policy, {
      cluster: labelled,
      tasks: reading(...begun(policy, { phase, ...(phase === "Succeeded" && succeeded) })),
    });
  for (const phase of ["Pending", "Running"] as const) {
    assert.deepEqual([states(then(phase)), begins(then(phase))], [[[["Waiting", phase]]], []]);
    assert.match(then(phase).message, /task b (runs|is about to begin)/);
  }
  assert.deepEqual([states(then("Succeeded")), begins(then("Succeeded"))], [[[["Due", "Succeeded"]]], ["a"]]);
});
