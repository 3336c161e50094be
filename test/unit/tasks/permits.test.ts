import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookTask, HookTaskSpec, TaskAttempt } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { stubPolicy } from "../../../src/memory/stored-views.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import { taskName } from "../../../src/policy/tasks/task-identity.ts";
import { Permits, type PermitsOptions } from "../../../src/tasks/permits.ts";
import { type StoredTask, storedTask } from "../../../src/tasks/stored-task.ts";
import { TaskMemory } from "../../../src/tasks/task-memory.ts";
import { ALL_HOOKS, calling, cluster, compiled, DELETE, letGo, namespace } from "../builders.ts";
import { task as taskSpec, taskWorld, withTasks } from "../policy/tasks/fixtures.ts";
import { ago, attempt, hookTask, NOW } from "./hook-tasks.ts";

function named(task: HookTask): HookTask {
  return { ...task, metadata: { ...task.metadata, name: taskName(task.spec) } };
}

function permitsOf(
  tasks: readonly StoredTask[],
  policy?: CompiledPolicy,
  on?: Cluster,
  over: object = {},
): Permits {
  const memory = new TaskMemory({ isKnown: () => true, onChange: () => undefined });
  for (const task of tasks) memory.learn(task);
  const policies = { compiledOf: () => policy };
  const store = { policies, overrides: { ofCluster: () => [], get: () => undefined } };
  const [clusters, namespaces] = [{ get: () => on }, { get: () => namespace() }];
  const options = {
    clusters,
    namespaces,
    store,
    served: ALL_HOOKS,
    lacksSlot: () => false,
    now: () => NOW,
    memory,
    ...over,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the tests need of it
  return new Permits(options as unknown as PermitsOptions);
}

const runs = (count: number, run: (index: number) => HookTask): readonly StoredTask[] =>
  Array.from({ length: count }, (_, index) => storedTask(named(run(index))));

const on = calling(DELETE, cluster());
const policy = compiled(withTasks([taskSpec()]));

/** The one that the policy lets begin. */
function nextOf(of: CompiledPolicy): HookTask {
  const [intent] = decide([of], taskWorld({ cluster: on }), DELETE, NOW).begins ?? [];
  return named({ ...hookTask(), spec: intent?.spec ?? assert.fail("none begins") });
}

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

test("an upgrade is taken back while its Cluster wants another version", () => {
  const wants = (version: string): Cluster => cluster({}, { topology: { className: "lab", version } });
  const isTakenBack = (at: Cluster | undefined, over: Partial<HookTaskSpec>): boolean => {
    const { clusterRef, ...spec } = nextOf(policy).spec;
    return permitsOf([], policy, at).isTakenBack({ ...spec, ...over, clusterRef });
  };
  const step = { version: "v1.34.0", step: "v1.35.0" };
  assert.equal(isTakenBack(wants("v1.33.0"), { version: "v1.34.0" }), true);
  assert.equal(isTakenBack(wants("v1.34.0"), { version: "v1.34.0" }), false);
  assert.equal(isTakenBack(wants("v1.34.0"), step), true);
  assert.equal(isTakenBack(wants("v1.35.0"), step), false);
  assert.equal(isTakenBack(wants("v1.33.0"), {}), false, "it is no upgrade");
  assert.equal(isTakenBack(undefined, step), false, "its Cluster is gone");
});

test("how long an object is kept is not known while its policy cannot be evaluated", () => {
  const object = withTasks([taskSpec({ keep: "168h" })]);
  const { spec } = nextOf(compiled(object));
  const keepHours = (of: CompiledPolicy): number => permitsOf([], of).keepMs(spec) / 3_600_000;
  assert.equal(keepHours(compiled(object)), 168);
  assert.equal(keepHours(compiled(stubPolicy(object))), Infinity);
  assert.equal(keepHours(compiled(withTasks([taskSpec({ name: "another" })]))), 24);
});

test("a HookTask waits for a slot, unless it begins first", () => {
  const first = compiled(withTasks([taskSpec({ begins: "First" })]));
  const may = (of: CompiledPolicy, lacksSlot: boolean): unknown =>
    permitsOf([], of, on, { lacksSlot: () => lacksSlot }).fromMemory(nextOf(of));
  assert.deepEqual(may(policy, true), { may: "Wait" });
  for (const [of, lacksSlot] of [
    [policy, false],
    [first, true],
  ] as const)
    assert.deepEqual(may(of, lacksSlot), { may: "Begin" });
});

test("an attempt waits while memory has another policy or other overrides than the API server, whose Cluster counts", async () => {
  const { uid, generation } = policy;
  const asked: string[] = [];
  const answer = async <T>(what: string, value: T): Promise<T> => {
    asked.push(what);
    return await Promise.resolve(value);
  };
  const now = async (live: { policy?: object | undefined; overrides?: object[]; cluster?: Cluster }) => {
    const reader = {
      findCluster: async () => await answer("cluster", live.cluster ?? on),
      findNamespace: async () => await answer("namespace", namespace()),
      findPolicy: async () => await answer("policy", "policy" in live ? live.policy : { uid, generation }),
      overrides: async () => await answer("overrides", live.overrides ?? []),
    };
    const permit = await permitsOf([], policy, on, { reader }).now(nextOf(policy));
    return permit.may === "Never" ? permit.why : permit.may;
  };
  assert.equal(await now({}), "Begin");
  assert.deepEqual(asked.splice(0), ["cluster", "namespace", "policy", "overrides"]);
  assert.equal(await now({ policy: { uid, generation: generation + 1 } }), "Wait");
  assert.equal(await now({ overrides: [{ name: "new", uid: "new", generation: 1 }] }), "Wait");
  assert.equal(await now({ policy: undefined }), "the policy is gone");
  assert.equal(await now({ policy: { uid: "another", generation } }), "the policy is gone");
  assert.match(await now({ cluster: letGo(on) }), /^the operation has ended/);
});

test("what a HookTask waits for comes before what keeps its policy from being evaluated, and after why it never begins", () => {
  const hidden = compiled(stubPolicy(withTasks([taskSpec()])));
  const next = nextOf(policy);
  const earlier = (over: Partial<TaskAttempt>): StoredTask =>
    storedTask(
      named({
        ...hookTask({ attempts: [attempt(over)] }),
        spec: { ...next.spec, actionHash: "another" },
      }),
    );
  const why = (tasks: readonly StoredTask[], of = hidden, at?: Cluster): string => {
    const permit = permitsOf(tasks, of, at ?? on).fromMemory(next);
    return permit.may === "Begin" ? permit.may : (permit.why ?? permit.may);
  };
  assert.match(why([earlier({})]), /an earlier one of this task, has not ended/);
  assert.equal(why([earlier({ uid: "job-1" })]), "its policy cannot be evaluated now");
  assert.equal(why([earlier({})], { ...policy, mode: "Audit" }), "the policy only audits");
  assert.equal(why([earlier({})], policy, cluster({ uid: "another" })), "the Cluster is gone");
});

test("a HookTask waits for an earlier one of its task, and says how to end that", () => {
  const next = nextOf(policy);
  const whyAfter = (over: Partial<TaskAttempt>, action = next.spec.action): unknown => {
    const spec = { ...next.spec, action, actionHash: "another" };
    const earlier = named({ ...hookTask({ attempts: [attempt(over)] }), spec });
    const permits = permitsOf([storedTask(earlier)], policy, on);
    const permit = permits.fromMemory(next);
    if (permit.may === "Begin" || permit.why === undefined) return permit.may;
    return permit.why.replaceAll(earlier.metadata.name, "EARLIER");
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
