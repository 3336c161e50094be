import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookTask } from "../../../src/api/hook-policy.ts";
import { taskName } from "../../../src/policy/tasks/task-identity.ts";
import type { TaskScope } from "../../../src/policy/tasks/task-record.ts";
import { CLUSTER_UID } from "../../../src/policy/tasks/template-metadata.ts";
import { RETRY_ANNOTATION } from "../../../src/tasks/next-step.ts";
import { recordsOf, type StoredTask, storedTask } from "../../../src/tasks/stored-task.ts";
import { TaskMemory } from "../../../src/tasks/task-memory.ts";
import { ago, attempt, hookTask } from "./hook-tasks.ts";

const SCOPE: TaskScope = {
  clusterUID: "cluster-uid",
  hook: "BeforeClusterDelete",
  policyUID: "policy-uid",
  rule: "rule",
};

function named(task: HookTask, resourceVersion = "1"): HookTask {
  return { ...task, metadata: { ...task.metadata, name: taskName(task.spec), resourceVersion } };
}

function memoryWith(...tasks: readonly HookTask[]): {
  readonly memory: TaskMemory;
  readonly changed: string[];
} {
  const changed: string[] = [];
  const memory = new TaskMemory({ isKnown: () => true, onChange: (key) => changed.push(key) });
  for (const task of tasks) memory.learn(storedTask(task));
  return { memory, changed };
}

test("a HookTask whose name is not that of its identity is not kept", () => {
  assert.throws(() => storedTask(hookTask()), /does not count/);
});

test("nor does a list count it, which tells an action that was changed", () => {
  const own = named(hookTask({ phase: "Succeeded" }));
  const altered = { ...own, spec: { ...own.spec, action: {} } };
  const records = recordsOf([hookTask({ phase: "Succeeded" }), own, altered]);
  const told = records.map(({ name, altered: isAltered }) => [name, isAltered]);
  assert.deepEqual(told, [
    [own.metadata.name, false],
    [own.metadata.name, true],
  ]);
});

test("a success that is being deleted never counts again, as if it were gone; one that has not ended does", () => {
  const counts = (phase: "Succeeded" | "Running", deleted: boolean): unknown[] => {
    const { metadata, ...task } = named(hookTask({ phase }));
    const going = deleted && { deletionTimestamp: ago(1), finalizers: ["foregroundDeletion"] };
    const read = { ...task, metadata: { ...metadata, ...going } };
    return [storedTask(read).record, ...recordsOf([read])].map(({ over }) => !over);
  };
  assert.deepEqual(counts("Succeeded", false), [true, true]);
  assert.deepEqual(counts("Succeeded", true), [false, false]);
  assert.deepEqual(counts("Running", true), [true, true]);
});

test("memory keeps who a HookTask is and how far, and not what it does", () => {
  const status = { phase: "Running", begun: 2, attempts: [attempt(), attempt({ uid: "job-2" })] } as const;
  const task = named(
    hookTask(
      { ...status, attempts: [...status.attempts] },
      { succeeded: "true" },
      { [RETRY_ANNOTATION]: "now", other: "x" },
    ),
  );
  const { record, outline, metadata } = storedTask(task);
  assert.deepEqual([record.phase, record.attempts, record.over], ["Running", 2, false]);
  assert.equal(metadata.annotations, undefined);
  assert.deepEqual(outline.metadata.annotations, { [RETRY_ANNOTATION]: "now" });
  assert.deepEqual(outline.spec.action, { create: { apiVersion: "batch/v1", kind: "Job" } });
  assert.equal(outline.spec.succeeded, undefined);
  assert.deepEqual(outline.status?.attempts, [attempt({ uid: "job-2" })]);
});

test("memory says of what is refused that it cannot begin, and why", () => {
  const refused = hookTask({ phase: "Pending", begun: 1, attempts: [attempt()], message: "no right" });
  const { phase, record } = storedTask(named(refused));
  assert.deepEqual(
    [phase, record.phase, record.hindered, record.message],
    ["Pending", "Pending", true, "no right"],
  );
});

test("memory tells an action that was changed, even if it was changed back", () => {
  const task = named(hookTask());
  const alteration = (spec: object, status?: HookTask["status"]): unknown =>
    storedTask({ ...task, spec: { ...task.spec, ...spec }, ...(status && { status }) }).record.altered;
  assert.equal(alteration({}), false);
  assert.equal(alteration({ action: { create: { apiVersion: "batch/v1", kind: "Job", spec: 1 } } }), true);
  assert.equal(alteration({}, { altered: "2026-03-01T12:00:00Z" }), true);
  assert.equal(alteration({ renderedHash: undefined }), true);
});

test("memory tells a HookTask that a confirmation does not find, because its label is another", () => {
  const another = named(hookTask({ phase: "Succeeded" }, {}, {}, { [CLUSTER_UID]: "another" }));
  assert.equal(storedTask(another).record.altered, true);
});

test("a retry that is longer than the status has room for is kept short, and remains another one", () => {
  const kept = ["x", "y"].map((end) => {
    const value = `${"a".repeat(10_000)}${end}`;
    const { outline } = storedTask(named(hookTask({ phase: "Failed" }, {}, { [RETRY_ANNOTATION]: value })));
    return outline.metadata.annotations?.[RETRY_ANNOTATION] ?? "";
  });
  assert.deepEqual(
    kept.map((value) => value.length),
    [64, 64],
  );
  assert.notEqual(kept[0], kept[1]);
});

test("only the HookTasks of a rule are parsed for it", (t) => {
  const task = named(hookTask());
  const others = (["policyRef", "rule", "hook"] as const).map((field) =>
    named(
      hookTask(undefined, {
        ...(field === "policyRef" && { policyRef: { ...task.spec.policyRef, uid: "another" } }),
        ...(field === "rule" && { rule: "another" }),
        ...(field === "hook" && { hook: "BeforeClusterUpgrade" }),
      }),
    ),
  );
  const { memory } = memoryWith(task, ...others);
  const parse = t.mock.method(JSON, "parse");
  assert.equal(memory.count(SCOPE), 1);
  assert.equal(parse.mock.callCount(), 0);
  assert.deepEqual(
    memory.find(SCOPE)?.map(({ name }) => name),
    [task.metadata.name],
  );
  assert.equal(parse.mock.callCount(), 1);
});

test("HookTasks are found by Cluster, hook, policy and rule", () => {
  const { memory } = memoryWith(named(hookTask({ phase: "Succeeded", endedAt: ago(1) })));
  const [record] = memory.find(SCOPE) ?? [];
  assert.deepEqual(record?.succeededAt, new Date(ago(1)));
  assert.deepEqual(memory.find({ ...SCOPE, hook: "BeforeClusterCreate" }), []);
  assert.deepEqual(memory.find({ ...SCOPE, clusterUID: "another" }), []);
  assert.deepEqual(memory.find({ ...SCOPE, policyUID: "another" }), []);
});

test("an older copy from the informer does not replace what this replica has written", () => {
  const { memory, changed } = memoryWith(named(hookTask({ phase: "Running" }), "10"));
  const key = `team-a/${taskName(hookTask().spec)}`;
  memory.changed(key, storedTask(named(hookTask({ phase: "Pending" }), "9")));
  assert.equal(memory.find(SCOPE)?.[0]?.phase, "Running");
  assert.equal(changed.length, 1);
  memory.changed(key, undefined);
  assert.deepEqual([memory.get(key), memory.ofCluster("cluster-uid"), changed.length], [undefined, [], 2]);
});

test("while HookTasks cannot be read, nothing is known of them", () => {
  const memory = new TaskMemory({ isKnown: () => false, onChange: () => undefined });
  assert.equal(memory.find(SCOPE), undefined);
});

const runs = (count: number, run: (index: number) => HookTask): readonly StoredTask[] =>
  Array.from({ length: count }, (_, index) => storedTask(named(run(index))));

function holding(tasks: readonly StoredTask[]): TaskMemory {
  const { memory } = memoryWith();
  for (const task of tasks) memory.learn(task);
  return memory;
}

test("of the HookTasks that no longer count, the latest twenty are kept, and none is parsed to know it", (t) => {
  const over = runs(22, (run) =>
    hookTask({ phase: "Succeeded", endedAt: ago(run), over: ago(0) }, { run: run + 1 }),
  );
  const counting = runs(1, () => hookTask({ phase: "Succeeded", endedAt: ago(90) }, { run: 90 }));
  const memory = holding([...over, ...counting]);
  const parse = t.mock.method(JSON, "parse");
  assert.deepEqual(
    [...over, ...counting].map((task, index) => (memory.isSurplus(task) ? index : -1)).filter((i) => i >= 0),
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
    holding(tasks).surplusLike(task).at(-1);
  assert.equal(surplusOf(over), over[21]);
  assert.equal(surplusOf(over.slice(0, 20)), undefined);
  const [counting] = runs(1, () => hookTask({ phase: "Succeeded", endedAt: ago(0) }, { run: 90 }));
  assert.equal(surplusOf(over, counting), undefined);
});

test("of those that ended at the same time, twenty are kept, too", () => {
  const over = runs(25, (run) =>
    hookTask({ phase: "Succeeded", endedAt: ago(9), over: ago(0) }, { run: run + 1 }),
  );
  const memory = holding(over);
  assert.equal(over.filter((task) => memory.isSurplus(task)).length, 5);
});
