/** HookTasks of an operation that Cluster API does not wait for: no later call stores what is lost. */

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { HookTask, HookTaskStatus, TaskSpec } from "../../../src/api/hook-policy.ts";
import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import { RETRY_ANNOTATION } from "../../../src/tasks/next-step.ts";
import { Permits, type PermitsOptions } from "../../../src/tasks/permits.ts";
import { storedTask } from "../../../src/tasks/stored-task.ts";
import { TaskMemory } from "../../../src/tasks/task-memory.ts";
import type { TaskObjects } from "../../../src/tasks/task-objects.ts";
import { TaskReconciler, type TaskReconcilerOptions } from "../../../src/tasks/task-reconciler.ts";
import { hookTaskOf } from "../../../src/tasks/task-store.ts";
import { ALL_HOOKS, cluster, compiled, namespace, NOW } from "../builders.ts";
import { MemoryLogger } from "../kube/fixtures.ts";
import { task, taskWorld, withTasks } from "../policy/tasks/fixtures.ts";

const HOOK = "AfterControlPlaneInitialized";
const [SECOND, HOUR] = [1000, 3_600_000];
const policyOf = (...tasks: readonly TaskSpec[]): CompiledPolicy =>
  compiled(withTasks(tasks, { hooks: [HOOK] }));
const [ONE, TWO] = [task({ name: "one" }), task({ name: "two" })];

interface Lab {
  policy: CompiledPolicy | undefined;
  cluster: Cluster | undefined;
  /** When the namespace's turn to begin tasks comes. */
  turnInMs: number;
  /** How Jobs end from now on. */
  ends: "Complete" | "Failed";
  /** `undefined`: it is deleted. */
  readonly find: (name: string) => HookTask | undefined;
  readonly put: (name: string, over: { readonly annotations: Record<string, string> }) => void;
  /** The leader looks at its HookTask alone, until it has succeeded. */
  readonly passUntil: (name: string) => Promise<void>;
  /** The leader looks at every HookTask, each second or hour. */
  readonly pass: (times: number, ms: number) => Promise<void>;
}

/** The HookTasks that the call has stored, once Cluster API has taken its mark away. */
function lab(t: TestContext, policy: CompiledPolicy): Lab {
  let ms = 0;
  t.mock.method(performance, "now", () => ms);
  const now = (): Date => new Date(NOW.getTime() + ms);
  const marked = cluster({ annotations: { [PENDING_HOOKS_ANNOTATION]: HOOK } });
  const memory = new TaskMemory({ isKnown: () => true, onChange: () => undefined });
  const stored = new Map<string, HookTask>();
  let version = 0;
  const write = (object: HookTask): HookTask => {
    version += 1;
    const written = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    stored.set(object.metadata.name, written);
    memory.learn(storedTask(written));
    return written;
  };
  const { toStore = [] } = decide([policy], taskWorld({ cluster: marked }), { hook: HOOK }, NOW);
  for (const intent of toStore) {
    const { metadata, ...made } = hookTaskOf(intent);
    const creationTimestamp = NOW.toISOString();
    write({ ...made, metadata: { ...metadata, uid: intent.name, resourceVersion: "", creationTimestamp } });
  }
  const state: Pick<Lab, "policy" | "cluster" | "ends" | "turnInMs"> = {
    policy,
    cluster: cluster(),
    ends: "Complete",
    turnInMs: 0,
  };
  const jobs = new Map<string, KubeObject>();
  const objects: Partial<TaskObjects> = {
    create: async (_, { metadata: { name } }) => {
      const conditions = [{ type: state.ends, status: "True" }];
      const job = { metadata: { name, uid: name, resourceVersion: "1" }, status: { conditions } };
      jobs.set(name, job);
      return await Promise.resolve(job);
    },
    find: async (_, { name }) => await Promise.resolve(jobs.get(name)),
    delete: async (_, { name }) => void (await Promise.resolve(jobs.delete(name))),
  };
  const options = {
    memory,
    store: {
      find: async ({ name }: { readonly name: string }) => await Promise.resolve(stored.get(name)),
      replaceStatus: async (before: HookTask, status: HookTaskStatus) =>
        await Promise.resolve(write({ ...before, status })),
      delete: async ({ metadata: { name } }: HookTask) => {
        stored.delete(name);
        memory.changed(`team-a/${name}`, undefined);
        await Promise.resolve();
      },
      policies: { compiledOf: () => state.policy },
      overrides: { ofCluster: () => [] },
    },
    reader: {
      findCluster: async () => await Promise.resolve(state.cluster),
      findNamespace: async () => await Promise.resolve(namespace()),
      findPolicy: async () => await Promise.resolve(state.policy),
      overrides: async () => await Promise.resolve([]),
    },
    clusters: { get: () => state.cluster },
    namespaces: { get: () => namespace() },
    served: ALL_HOOKS,
    lacksSlot: () => false,
    objects,
    clusterVersion: () => "cluster.x-k8s.io/v1beta2",
    polls: { take: () => true, isScheduled: () => false, schedule: () => undefined, forget: () => undefined },
    allowance: { restMs: () => state.turnInMs, spend: () => undefined },
    leading: () => true,
    loaded: () => true,
    now,
    onStored: () => undefined,
    log: new MemoryLogger(),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these tests need of it
  const permits = new Permits(options as unknown as PermitsOptions);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these tests need of it
  const reconciler = new TaskReconciler({ ...options, permits } as unknown as TaskReconcilerOptions);
  const find = (name: string): HookTask | undefined =>
    [...stored.values()].find(({ spec }) => spec.task === name);
  return Object.assign(state, {
    find,
    put: (name: string, over: { readonly annotations: Record<string, string> }) => {
      const found = find(name) ?? assert.fail(`no HookTask of ${name}`);
      write({ ...found, metadata: { ...found.metadata, ...over } });
    },
    passUntil: async (name: string) => {
      for (let left = 9; left > 0 && find(name)?.status?.phase !== "Succeeded"; left -= 1)
        await reconciler.reconcile(`team-a/${find(name)?.metadata.name}`);
    },
    pass: async (times: number, each: number) => {
      for (let passed = 0; passed < times; passed += 1) {
        ms += each;
        for (const key of stored.keys()) await reconciler.reconcile(`team-a/${key}`);
      }
    },
  });
}

function phases(of: Lab): unknown {
  return ["one", "two"].map((name) => of.find(name)?.status?.phase ?? "Pending");
}

describe("a task that has failed", () => {
  async function failed(t: TestContext, ...tasks: readonly TaskSpec[]): Promise<Lab> {
    const all = lab(t, policyOf(...tasks));
    all.ends = "Failed";
    await all.pass(20, SECOND);
    return all;
  }
  const isOver = (of: Lab): boolean => of.find("one")?.status?.over !== undefined;

  test("is retried, and the one after it, which says so, begins then", async (t) => {
    const all = await failed(t, ONE, TWO);
    assert.deepEqual([phases(all), isOver(all)], [["Failed", "Pending"], false]);
    const name = all.find("one")?.metadata.name;
    assert.equal(
      all.find("two")?.status?.message,
      `HookTask team-a/${name}, the one before it, has failed (hookpolicy task retry team-a/${name})`,
    );
    all.ends = "Complete";
    all.put("one", { annotations: { [RETRY_ANNOTATION]: "now" } });
    await all.pass(20, SECOND);
    assert.deepEqual([phases(all), isOver(all)], [["Succeeded", "Succeeded"], true]);
    assert.equal(all.find("one")?.status?.begun, 2);
  });

  test("lets the one after it begin once its policy proceeds", async (t) => {
    const all = await failed(t, ONE, TWO);
    all.policy = policyOf(task({ name: "one", onFailure: "Proceed" }), TWO);
    all.ends = "Complete";
    await all.pass(20, SECOND);
    assert.deepEqual(phases(all), ["Failed", "Succeeded"]);
  });

  test("counts no more once its policy does not hold for it, or the Cluster is gone", async (t) => {
    const ends: Readonly<Record<string, (of: Lab) => void>> = {
      "it proceeds": (of) => (of.policy = policyOf(task({ name: "one", onFailure: "Proceed" }))),
      "the task is gone": (of) => (of.policy = policyOf(TWO)),
      "the policy is gone": (of) => (of.policy = undefined),
      "another policy has its name": (of) => (of.policy = { ...policyOf(ONE), uid: "another" }),
      "the policy only audits": (of) => (of.policy = { ...policyOf(ONE), mode: "Audit" }),
      "the Cluster is gone": (of) => (of.cluster = undefined),
      "the Cluster is being deleted": (of) =>
        (of.cluster = cluster({ deletionTimestamp: NOW.toISOString() })),
    };
    for (const [why, change] of Object.entries(ends)) {
      const all = await failed(t, ONE);
      assert.equal(isOver(all), false);
      change(all);
      await all.pass(20, SECOND);
      assert.equal(isOver(all), true, why);
    }
  });

  test("still counts while its policy cannot be evaluated", async (t) => {
    const all = await failed(t, ONE);
    all.policy = compiled(withTasks([task({ name: "one", when: "cluster.(" })], { hooks: [HOOK] }));
    await all.pass(20, SECOND);
    assert.equal(isOver(all), false);
  });

  test("that lets others proceed counts no more at once", async (t) => {
    const all = await failed(t, task({ name: "one", onFailure: "Proceed" }), TWO);
    assert.deepEqual([phases(all), isOver(all)], [["Failed", "Failed"], true]);
  });
});

test("a task begins after a pause of days, as the HookTask before it stays until then, and no longer", async (t) => {
  const all = lab(t, policyOf(ONE, TWO));
  const [isPaused, goesOn] = [cluster({}, { paused: true }), cluster()];
  await all.passUntil("one");
  all.cluster = isPaused;
  await all.pass(72, HOUR);
  assert.deepEqual(phases(all), ["Succeeded", "Pending"]);
  assert.notEqual(all.find("one")?.status?.over, undefined);
  all.cluster = goesOn;
  await all.pass(2, SECOND);
  assert.deepEqual(phases(all), ["Succeeded", "Succeeded"]);
  await all.pass(9, SECOND);
  assert.deepEqual([all.find("one"), all.find("two")?.status?.phase], [undefined, "Succeeded"]);
  await all.pass(30, HOUR);
  assert.deepEqual([all.find("one"), all.find("two")], [undefined, undefined]);
});

test("what a task has waited for is said until something else is known, and not longer", async (t) => {
  const all = lab(t, policyOf(ONE));
  const message = (): string | undefined => all.find("one")?.status?.message;
  all.policy = compiled(withTasks([task({ name: "one", when: "cluster.(" })], { hooks: [HOOK] }));
  await all.pass(2, SECOND);
  const why = "its policy cannot be evaluated now";
  assert.equal(message(), why);
  Object.assign(all, { policy: policyOf(ONE), turnInMs: 1 });
  await all.pass(2, SECOND);
  assert.equal(message(), why, "it is not its turn to look");
  all.cluster = cluster({}, { paused: true });
  await all.pass(2, SECOND);
  assert.equal(message(), undefined);
});
