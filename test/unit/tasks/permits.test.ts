import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookTask, TaskAttempt } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { stubPolicy } from "../../../src/memory/stored-views.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import { taskName } from "../../../src/policy/tasks/task-identity.ts";
import { Permits, surplusLike, type PermitsOptions } from "../../../src/tasks/permits.ts";
import { type StoredTask, storedTask } from "../../../src/tasks/stored-task.ts";
import { TaskMemory } from "../../../src/tasks/task-memory.ts";
import { ALL_HOOKS, calling, cluster, compiled, DELETE, namespace } from "../builders.ts";
import { task as taskSpec, taskWorld, withTasks } from "../policy/tasks/fixtures.ts";
import { ago, attempt, hookTask, NOW } from "./hook-tasks.ts";

function named(task: HookTask): HookTask {
  return { ...task, metadata: { ...task.metadata, name: taskName(task.spec) } };
}

function permitsOf(tasks: readonly StoredTask[], policy?: CompiledPolicy, on?: Cluster): Permits {
  const memory = new TaskMemory({ isKnown: () => true, onChange: () => undefined });
  for (const task of tasks) memory.learn(task);
  const policies = { compiledOf: () => policy };
  const store = { policies, overrides: { ofCluster: () => [] } };
  const [clusters, namespaces] = [{ get: () => on }, { get: () => namespace() }];
  const options = {
    clusters,
    namespaces,
    store,
    served: ALL_HOOKS,
    lacksSlot: () => false,
    now: () => NOW,
    memory,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the tests need of it
  return new Permits(options as unknown as PermitsOptions);
}

const runs = (count: number, run: (index: number) => HookTask): readonly StoredTask[] =>
  Array.from({ length: count }, (_, index) => storedTask(named(run(index))));

test("of the HookTasks that no longer count, the latest twenty are kept, and none is parsed to know it", (t) => {
  const over = runs(22, (run) =>
    hookTask({ phase: "Succeeded", endedAt: ago(run), over: ago(0) }, { run: run + 1 }),
  );
  const counting = runs(1, () => hookTask({ phase: "Succeeded", endedAt: ago(90) }, { run: 90 }));
  const permits = permitsOf([...over, ...counting]);
  const parse = t.mock.method(JSON, "parse");
  assert.deepEqual(
    [...over, ...counting].map((task, index) => (permits.isSurplus(task) ? index : -1)).filter((i) => i >= 0),
    [20, 21],
  );
  assert.equal(parse.mock.callCount(), 0);
});

test("one that no longer counts makes the oldest one surplus, once there are too many", () => {
  const over = runs(22, (run) =>
    hookTask({ phase: "Succeeded", endedAt: ago(run), over: ago(0) }, { run: run + 1 }),
  );
  const [latest = assert.fail("none")] = over;
  const surplusOf = (tasks: readonly StoredTask[], task = latest): StoredTask | undefined =>
    surplusLike({ ofPolicy: () => tasks }, task).at(-1);
  assert.equal(surplusOf(over), over[21]);
  assert.equal(surplusOf(over.slice(0, 20)), undefined);
  const [counting] = runs(1, () => hookTask({ phase: "Succeeded", endedAt: ago(0) }, { run: 90 }));
  assert.equal(surplusOf(over, counting), undefined);
});

test("of those that ended at the same time, twenty are kept, too", () => {
  const over = runs(25, (run) =>
    hookTask({ phase: "Succeeded", endedAt: ago(9), over: ago(0) }, { run: run + 1 }),
  );
  const permits = permitsOf(over);
  assert.equal(over.filter((task) => permits.isSurplus(task)).length, 5);
});

test("what other runs have left behind is read of this task alone", (t) => {
  const timedOut = {
    phase: "Failed",
    attempts: [attempt({ endedAt: ago(1), outcome: "TimedOut" })],
  } as const;
  const status = { ...timedOut, attempts: [...timedOut.attempts] };
  const own = named(hookTask(undefined, { run: 3 }));
  const permits = permitsOf([
    storedTask(own),
    ...runs(1, () => hookTask(status)),
    ...runs(9, (run) => hookTask(status, { task: "another", run: run + 1 })),
    ...runs(9, (run) => hookTask(status, { rule: "another", run: run + 1 })),
  ]);
  const parse = t.mock.method(JSON, "parse");
  assert.deepEqual(
    permits.leftBehind(own).map(([{ spec }, { outcome }]) => [spec.task, spec.run, outcome]),
    [["clean", 1, "TimedOut"]],
  );
  assert.equal(parse.mock.callCount(), 1);
});

test("nothing may begin for a Cluster that memory does not know", () => {
  const permit = permitsOf([]).fromMemory(named(hookTask()));
  assert.deepEqual(permit, { may: "Never", why: "the Cluster is gone" });
});

test("how long an object is kept is not known while its policy cannot be evaluated", () => {
  const object = withTasks([taskSpec({ keep: "168h" })]);
  const on = calling(DELETE, cluster());
  const [intent] = decide([compiled(object)], taskWorld({ cluster: on }), DELETE, NOW).begins ?? [];
  const { spec } = intent ?? assert.fail("none begins");
  const keepHours = (policy: CompiledPolicy): number => permitsOf([], policy).keepMs(spec) / 3_600_000;
  assert.equal(keepHours(compiled(object)), 168);
  assert.equal(keepHours(compiled(stubPolicy(object))), Infinity);
  assert.equal(keepHours(compiled(withTasks([taskSpec({ name: "another" })]))), 24);
});

test("a HookTask waits for an earlier one of its task, and says how to end that", () => {
  const policy = compiled(withTasks([taskSpec()]));
  const on = calling(DELETE, cluster());
  const [intent] = decide([policy], taskWorld({ cluster: on }), DELETE, NOW).begins ?? [];
  const next = named({ ...hookTask(), spec: intent?.spec ?? assert.fail("none begins") });
  const whyAfter = (over: Partial<TaskAttempt>, action = next.spec.action): unknown => {
    const spec = { ...next.spec, action, actionHash: "another" };
    const earlier = named({ ...hookTask({ attempts: [attempt(over)] }), spec });
    const permits = permitsOf([storedTask(earlier)], policy, on);
    const permit = permits.fromMemory(next);
    return "why" in permit ? permit.why?.replaceAll(earlier.metadata.name, "EARLIER") : permit.may;
  };
  const waits = "HookTask team-a/EARLIER, an earlier one of this task, has not ended";
  assert.equal(
    whyAfter({}),
    `${waits} (to end it, see that there is no Job/clean-0123456789, then kubectl delete hooktask -n team-a EARLIER)`,
  );
  assert.equal(whyAfter({ uid: "job-1" }), "Wait", "it ends by itself");
  const deletion = { delete: { apiVersion: "v1", kind: "Secret", name: "db" } };
  assert.equal(whyAfter({}, deletion), "Wait", "it is cancelled");
  assert.equal(whyAfter({ endedAt: ago(1), outcome: "Cancelled" }), "Begin");
});
