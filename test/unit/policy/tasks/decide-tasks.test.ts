/** What decide() says about tasks: what they hold, and when they begin. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec } from "../../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import { admit } from "../../../../src/policy/admission.ts";
import { decide } from "../../../../src/policy/decide.ts";
import { type Decision, validUntil } from "../../../../src/policy/decision.ts";
import { renderedHash } from "../../../../src/policy/tasks/task-identity.ts";
import type { TaskRecord } from "../../../../src/policy/tasks/task-record.ts";
import type { World } from "../../../../src/policy/world.ts";
import { timerKey } from "../../../../src/policy/world.ts";
import { APPROVED, at, cluster, compiled, DELETE, hookPolicy, NOW, override, rule } from "../../builders.ts";
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
  taskRule,
  taskWorld,
  withTasks,
} from "./fixtures.ts";

const GATE: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const approved = cluster({ annotations: { [APPROVED]: "" } });

describe("a task holds the operation", () => {
  const policy = withTasks([task()]);

  test("before it has begun, and begins when nothing else holds it", () => {
    const decision = judge(policy);
    assert.deepEqual([decision.holds, decision.verdict, reason(decision)], [true, "Blocked", "TaskPending"]);
    assert.deepEqual([decision.waitsForTasks, decision.tasksDue, begins(decision)], [true, true, ["backup"]]);
    assert.equal(decision.message, "HookPolicy team-a/protect, rule backed-up: task backup has not begun");
  });

  test("while it is pending or runs, and begins no second time", () => {
    for (const [phase, expected] of [
      ["Pending", "TaskPending"],
      ["Running", "TaskRunning"],
    ] as const) {
      const decision = judge(policy, { tasks: reading(...begun(policy, { phase })) });
      assert.deepEqual([decision.holds, reason(decision), decision.waitsForTasks], [true, expected, true]);
      assert.deepEqual([decision.tasksDue, decision.begins], [undefined, undefined]);
    }
  });

  test("no longer once it has succeeded", () => {
    const decision = judge(policy, { tasks: reading(...begun(policy, succeeded)) });
    assert.deepEqual(
      [decision.holds, decision.verdict, decision.waitsForTasks],
      [false, "Allowed", undefined],
    );
  });

  test("once it has failed, until a person retries it, and waits for no turn meanwhile", () => {
    const decision = judge(policy, { tasks: reading(...begun(policy, { phase: "Failed" })) });
    assert.deepEqual(
      [decision.holds, reason(decision), decision.waitsForTasks],
      [true, "TaskFailed", undefined],
    );
    assert.match(
      decision.message,
      /task backup has failed \(hookpolicy task retry team-a\/prod-1-backup-[0-9a-f]{16}\)/,
    );
  });

  test("and offers no retry of a HookTask that could not be stored", () => {
    const unstored = reading(...begun(policy, { phase: "Failed", unstored: true }));
    const decision = judge(policy, { tasks: unstored });
    assert.deepEqual([decision.holds, reason(decision)], [true, "TaskFailed"]);
    assert.match(
      decision.message,
      /task backup has failed \(its HookTask cannot be stored, because namespace team-a is being deleted\)$/,
    );
    assert.equal(decision.trace[0]?.rules[0]?.tasks?.[0]?.hookTask, undefined);
  });

  test("not once it has failed, if it may proceed", () => {
    const proceeding = withTasks([task({ onFailure: "Proceed" })]);
    const decision = judge(proceeding, { tasks: reading(...begun(proceeding, { phase: "Failed" })) });
    assert.deepEqual([decision.holds, states(decision)], [false, [[["Proceeded"]]]]);
  });

  test("while its HookTasks are not known, whatever the failurePolicy", () => {
    const ignoring = withTasks([task()], {}, { failurePolicy: "Ignore" });
    const unknown = { count: () => 0, find: () => undefined };
    const { tasks: _, ...without } = taskWorld();
    for (const world of [taskWorld({ tasks: unknown }), without]) {
      const decision = decide([compiled(ignoring)], world, DELETE, NOW);
      assert.deepEqual(
        [decision.holds, reason(decision), decision.begins],
        [true, "TasksUnknown", undefined],
      );
    }
  });

  test("and Cluster API asks again within ten seconds", () => {
    const slow = withTasks([task()], { retryAfterSeconds: 300 });
    assert.equal(judge(slow).retryAfterSeconds, 10);
    assert.equal(judge(slow, { tasks: reading(...begun(slow, { phase: "Failed" })) }).retryAfterSeconds, 300);
    const first = withTasks([task({ begins: "First" })], { until: [GATE], retryAfterSeconds: 300 });
    assert.equal(judge(first).retryAfterSeconds, 10);
  });

  test("and an answer is never repeated", () => {
    const decision = judge(policy, { tasks: reading(...begun(policy, succeeded)) });
    assert.equal(validUntil([compiled(policy)], decision), undefined);
  });
});

describe("a task that begins last waits", () => {
  const policy = withTasks([task()], { until: [GATE] });

  test("for the gates of its rule", () => {
    const held = judge(policy);
    assert.deepEqual(
      [states(held), held.waitsForTasks, held.tasksDue],
      [[[["Waiting"]]], undefined, undefined],
    );
    assert.match(held.message, /^HookPolicy team-a\/protect, rule backed-up: gate approved waits for/);
    assert.deepEqual(begins(judge(policy, { cluster: approved })), ["backup"]);
  });

  test("for its waits", () => {
    const waiting = withTasks([task()], { until: [{ name: "soak", wait: { duration: "10m" } }] });
    const since = (minutes: string): Partial<World> => ({
      state: {
        firstAsked: at(minutes),
        rules: new Map([[timerKey(compiled(waiting).uid, "backed-up"), { gatesMetSince: at(minutes) }]]),
      },
    });
    assert.deepEqual(begins(judge(waiting, since("-5m"))), []);
    assert.deepEqual(begins(judge(waiting, since("-11m"))), ["backup"]);
  });

  test("for the gates of every other policy that is enforced", () => {
    const other = (spec: object): PolicyObject => hookPolicy(spec, { name: "other", uid: "uid-other" });
    const alone = withTasks([task()]);
    assert.deepEqual(begins(judge([alone, other({})])), []);
    assert.deepEqual(begins(judge([alone, other({ mode: "Audit" })])), ["backup"]);
    assert.deepEqual(
      begins(
        judge([alone, other({})], {
          overrides: [override({ policyRefs: [{ kind: "HookPolicy", namespace: "team-a", name: "other" }] })],
        }),
      ),
      ["backup"],
    );
    const broken = [rule({ until: [{ name: "a", expression: FAILING }] })];
    assert.deepEqual(begins(judge([alone, other({ rules: broken })])), []);
    assert.deepEqual(begins(judge([alone, other({ rules: broken, failurePolicy: "Ignore" })])), ["backup"]);
  });

  test("for the tasks before it in its rule, and for none of another", () => {
    const two = [task({ name: "one" }), task({ name: "two" })];
    const first = withTasks(two);
    assert.deepEqual(begins(judge(first)), ["one"]);
    const end = (over: Partial<TaskRecord>): string[] =>
      begins(judge(first, { tasks: reading(...begun(first, over)) }));
    assert.deepEqual(end(succeeded), ["two"]);
    assert.deepEqual([end({ phase: "Running" }), end({ phase: "Failed" })], [[], []]);
    const rules = [taskRule([task()], { name: "a" }), taskRule([task()], { name: "b" })];
    assert.equal(judge(withTasks([], {}, { rules })).begins?.length, 2);
  });

  test("while a task beside it has failed, as that holds the operation", () => {
    const rules = [taskRule([task()], { name: "a" }), taskRule([task()], { name: "b" })];
    const policies = withTasks([], {}, { rules });
    const [one] = begun(policies, { phase: "Failed" });
    assert.ok(one);
    assert.deepEqual(begins(judge(policies, { tasks: reading(one) })), []);
  });

  test("until a deadline releases it past its gates, and then holds it on", () => {
    const deadline = { after: "1h", onExpiry: "Allow" } as const;
    const late = withTasks([task()], { until: [GATE], deadline });
    const rules = new Map([["uid-protect/backed-up", { blockedSince: at("-2h") }]]);
    const decision = judge(late, { state: { firstAsked: at("-2h"), rules } });
    assert.deepEqual([decision.holds, reason(decision), begins(decision)], [true, "TaskPending", ["backup"]]);
    const early = new Map([["uid-protect/backed-up", { blockedSince: NOW }]]);
    assert.match(
      judge(late, { state: { firstAsked: NOW, rules: early } }).message,
      /, from 2026-11-21T13:00:00Z on, this rule waits for its tasks alone$/,
    );
  });

  test("not for a gate that closes after it has begun, but the release does", () => {
    const records = begun(policy, { phase: "Running" }, { cluster: approved });
    const decision = judge(policy, { tasks: reading(...records) });
    assert.deepEqual(
      [decision.holds, decision.waitsForTasks, states(decision)],
      [true, undefined, [[["Running"]]]],
    );
    const done = begun(policy, succeeded, { cluster: approved });
    assert.equal(judge(policy, { tasks: reading(...done) }).holds, true);
  });
});

describe("a task that begins first", () => {
  const policy = withTasks([task({ begins: "First" })], { until: [GATE] });

  test("begins while gates are open, and waits for no turn", () => {
    const decision = judge(policy);
    assert.deepEqual(
      [begins(decision), decision.tasksDue, decision.waitsForTasks],
      [["backup"], true, undefined],
    );
    const open = judge(policy, { cluster: approved, tasks: reading(...begun(policy, { phase: "Running" })) });
    assert.deepEqual([open.holds, open.waitsForTasks], [true, undefined]);
  });

  test("begins not where its rule does not apply", () => {
    const matchConditions = [{ name: "canary", expression: "'canary' in cluster.metadata.labels" }];
    const elsewhere = withTasks([task({ begins: "First" })], { until: [GATE], matchConditions });
    assert.deepEqual([begins(judge(elsewhere)), judge(elsewhere).holds], [[], false]);
  });

  test("before one that begins last keeps that from its turn", () => {
    const both = withTasks([task({ name: "preflight", begins: "First" }), task()]);
    const decision = judge(both);
    assert.deepEqual([begins(decision), decision.waitsForTasks], [["preflight"], undefined]);
    const then = judge(both, { tasks: reading(...begun(both, succeeded)) });
    assert.deepEqual([begins(then), then.waitsForTasks], [["backup"], true]);
  });
});

describe("nothing begins", () => {
  test("in mode Audit, which says what would", () => {
    const decision = judge(withTasks([task()], {}, { mode: "Audit" }));
    assert.deepEqual(
      [decision.verdict, decision.begins, states(decision)],
      ["WouldBlock", undefined, [[["Due"]]]],
    );
    assert.equal(decision.trace[0]?.rules[0]?.tasks?.[0]?.intent?.spec.task, "backup");
  });

  test("under a HookOverride, which releases past tasks", () => {
    for (const phase of ["Running", "Failed"] as const) {
      const policy = withTasks([task()]);
      const tasks = reading(...begun(policy, { phase }));
      const decision = judge(policy, { overrides: [override()], tasks });
      assert.deepEqual(
        [decision.holds, decision.begins, decision.waitsForTasks],
        [false, undefined, undefined],
      );
    }
  });

  test("at admission, which leaves tasks out", () => {
    const policy = withTasks([task()], { until: [GATE], admission: "Deny" });
    const admitted = admit([compiled(policy)], taskWorld({ cluster: approved }), DELETE, NOW);
    assert.deepEqual([admitted.verdict, admitted.denial.begins], ["Passed", undefined]);
  });

  test("of a template that cannot be rendered: failurePolicy decides", () => {
    const create = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "<< cluster.metadata.labels['none'] >>" },
      spec: task().create?.["spec"],
    };
    const of = (failurePolicy: "Fail" | "Ignore"): Decision =>
      judge(withTasks([task({ create })], {}, { failurePolicy }));
    const failed = of("Fail");
    assert.deepEqual(
      [failed.holds, reason(failed), failed.waitsForTasks, failed.begins],
      [true, "TemplateError", undefined, undefined],
    );
    assert.match(
      failed.message,
      /task backup cannot begin \(metadata\.name: cluster\.metadata\.labels has no key "none"/,
    );
    assert.equal(of("Ignore").holds, false);
    const { rendersTasks: _, ...quiet } = taskWorld();
    const shown = decide([compiled(withTasks([task({ create })]))], quiet, DELETE, NOW);
    assert.deepEqual([shown.message, shown.holds], [failed.message, true], "also where nothing is stored");
  });

  test("and nothing that was rendered is kept, if that is not asked for", () => {
    const { rendersTasks: _, ...quiet } = taskWorld();
    const decision = decide([compiled(withTasks([task()]))], quiet, DELETE, NOW);
    assert.deepEqual(
      [decision.tasksDue, decision.begins, decision.trace[0]?.rules[0]?.tasks?.[0]?.intent],
      [true, undefined, undefined],
    );
  });
});

test("a HookTask is in the namespace of its ServiceAccount, and says all that it needs", () => {
  const { spec, namespace, name } = only(
    judge(
      fleetWithTasks([task({ timeout: "15m", retries: 2 })], { hooks: ["BeforeClusterUpgrade"] }),
      {},
      { hook: "BeforeClusterUpgrade", fromKubernetesVersion: "v1.34.0", toKubernetesVersion: "v1.35.0" },
    ),
  );
  assert.equal(namespace, "tools");
  assert.match(name, /^prod-1-backup-[0-9a-f]{16}$/);
  const { actionHash, action, renderedHash: rendered, ...rest } = spec;
  assert.match(actionHash, /^[0-9a-f]{16}$/);
  assert.equal(rendered, renderedHash(action));
  assert.deepEqual(rest, {
    policyRef: { kind: "ClusterHookPolicy", name: "fleet", uid: "uid-fleet" },
    rule: "backed-up",
    task: "backup",
    clusterRef: { namespace: "team-a", name: "prod-1", uid: "uid-prod-1" },
    hook: "BeforeClusterUpgrade",
    version: "v1.35.0",
    run: 1,
    serviceAccountName: "worker",
    request: { fromKubernetesVersion: "v1.34.0", toKubernetesVersion: "v1.35.0" },
    timeout: "15m",
    retries: 2,
  });
  assert.deepEqual(action.create?.["metadata"], { name: "backup", namespace: "tools" });
});
