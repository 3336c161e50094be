import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { HookTask, HookTaskSpec, HookTaskStatus } from "../../../src/api/hook-policy.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { taskName } from "../../../src/policy/tasks/task-identity.ts";
import { Allowance } from "../../../src/turns/allowance.ts";
import { Polls } from "../../../src/tasks/polls.ts";
import type { Permit } from "../../../src/tasks/permit.ts";
import { Permits, type PermitsOptions } from "../../../src/tasks/permits.ts";
import { storedTask } from "../../../src/tasks/stored-task.ts";
import { TaskMemory } from "../../../src/tasks/task-memory.ts";
import type { TaskObjects } from "../../../src/tasks/task-objects.ts";
import { BEGINNINGS, TaskReconciler } from "../../../src/tasks/task-reconciler.ts";
import type { TaskStore } from "../../../src/tasks/task-store.ts";
import { MemoryLogger } from "../kube/fixtures.ts";
import { ago, attempt, hookTask, NOW } from "./hook-tasks.ts";

/** With the name that its identity has. */
function named(status?: HookTaskStatus, spec: Partial<HookTaskSpec> = {}): HookTask {
  const task = hookTask(status, spec);
  return { ...task, metadata: { ...task.metadata, name: taskName(task.spec) } };
}

interface Lab {
  readonly reconcile: () => Promise<unknown>;
  readonly task: () => HookTask;
  readonly asked: string[];
  readonly later: (ms: number) => void;
  /** Another replica leads meanwhile, and this one sees that. */
  readonly pause: () => Promise<void>;
}

interface World {
  readonly task: HookTask;
  readonly others?: readonly HookTask[];
  readonly find?: TaskObjects["find"];
  readonly create?: TaskObjects["create"];
  readonly now?: Permit;
  readonly fromMemory?: Permit;
}

const BEGIN: Permit = { may: "Begin" };
const missing = async (): Promise<undefined> => await Promise.resolve(undefined);

function refuses(code: number, reason: string): () => Promise<never> {
  return async () => await Promise.reject(new KubeError(`it says ${reason}`, { code, reason }));
}

/** The leader, with one HookTask of its own. */
function lab(t: TestContext, world: World): Lab {
  const { others = [], find = missing, create = refuses(403, "Forbidden") } = world;
  const clock = { ms: 0 };
  t.mock.method(performance, "now", () => clock.ms);
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked: string[] = [];
  const tasks = new Map([world.task, ...others].map((each) => [each.metadata.name, each]));
  const memory = new TaskMemory({ isKnown: () => true, onChange: () => undefined });
  for (const each of tasks.values()) memory.learn(storedTask(each));
  const permits: Partial<Permits> = {
    isOver: () => false,
    keepMs: () => 0,
    clusterOf: () => undefined,
    fromMemory: () => world.fromMemory ?? BEGIN,
    now: async () => await Promise.resolve(world.now ?? BEGIN),
    leftBehind: (task) => new Permits({ memory } as unknown as PermitsOptions).leftBehind(task),
  };
  const store = {
    find: async ({ name }: { readonly name: string }) => await Promise.resolve(tasks.get(name)),
    replaceStatus: async (task: HookTask, status: HookTaskStatus) => {
      const resourceVersion = String(Number(task.metadata.resourceVersion) + 1);
      const stored = { ...task, metadata: { ...task.metadata, resourceVersion }, status };
      tasks.set(task.metadata.name, stored);
      return await Promise.resolve(stored);
    },
  };
  const objects: Partial<TaskObjects> = {
    find: async (...rest) => {
      asked.push("find");
      return await find(...rest);
    },
    create: async (...rest) => {
      asked.push("create");
      return await create(...rest);
    },
    delete: async (_, { name }, _uid, how) => {
      asked.push(`delete ${name} ${how}`);
      await Promise.resolve();
    },
  };
  const polls = new Polls(() => undefined);
  let isLeading = true;
  const reconciler = new TaskReconciler({
    memory,
    store: store as unknown as TaskStore,
    objects: objects as TaskObjects,
    permits: permits as Permits,
    clusterVersion: () => "cluster.x-k8s.io/v1beta2",
    polls,
    allowance: new Allowance(BEGINNINGS),
    leading: () => isLeading,
    loaded: () => true,
    now: () => new Date(NOW.getTime() + clock.ms),
    onStored: () => undefined,
    log: new MemoryLogger(),
  });
  const task = (): HookTask => tasks.get(world.task.metadata.name) ?? world.task;
  const reconcile = async (): Promise<unknown> =>
    await reconciler.reconcile(`team-a/${world.task.metadata.name}`);
  return {
    reconcile,
    pause: async () => {
      isLeading = false;
      await reconcile();
      isLeading = true;
    },
    task,
    asked,
    later: (ms) => {
      clock.ms += ms;
      t.mock.timers.tick(ms);
    },
  };
}

/** The first of two attempts has timed out. */
function timedOut(one: Parameters<typeof attempt>[0] = {}): HookTask {
  const first = attempt({ endedAt: ago(60), outcome: "TimedOut", ...one });
  return named({ phase: "Running", begun: 1, allowed: 2, attempts: [first] }, { retries: 1 });
}

const MINUTE = 60_000;
const HOUR = 3600;
/** Looks as often as the leader does. */
async function passes(minutes: number, reconcile: Lab["reconcile"], later: Lab["later"]): Promise<void> {
  for (let looks = 0; looks < minutes * 2; looks += 1) {
    later(MINUTE / 2);
    await reconcile();
  }
}

const job = (uid: string): KubeObject => ({
  metadata: { name: "clean-0123456789", uid, resourceVersion: "1" },
  status: {},
});

for (const [code, reason] of [
  [403, "Forbidden"],
  [404, "KindNotServed"],
] as const)
  test(`a task that was answered with ${reason} until its time-out tries again, and then fails`, async (t) => {
    const find = refuses(code, reason);
    const { reconcile, task, later } = lab(t, { task: timedOut(), find, create: refuses(code, reason) });
    await reconcile();
    assert.equal(task().status?.begun, 2);
    later(16 * MINUTE);
    await reconcile();
    assert.deepEqual([task().status?.phase, task().status?.begun], ["Failed", 2]);
  });

test("a task that is refused is Pending, and begins by itself, with its whole time-out, once it is not", async (t) => {
  let created: KubeObject | undefined;
  let isAllowed = false;
  const { reconcile, task, later } = lab(t, {
    task: named(),
    find: async () => await Promise.resolve(created),
    create: async () => {
      if (!isAllowed) return await refuses(403, "Forbidden")();
      return (created = job("job-1"));
    },
  });
  await reconcile();
  assert.deepEqual([task().status?.phase, task().status?.object], ["Pending", undefined]);
  assert.match(task().status?.message ?? "", /it says Forbidden/);
  later(14 * MINUTE);
  isAllowed = true;
  await reconcile();
  const { phase, begun, object } = task().status ?? {};
  assert.deepEqual([phase, begun], ["Running", 1]);
  assert.match(object ?? "", /^Job\/clean-/);
  later(14 * MINUTE);
  await reconcile();
  assert.equal(task().status?.phase, "Running");
  later(2 * MINUTE);
  await reconcile();
  assert.deepEqual([task().status?.phase, task().status?.attempts?.[0]?.outcome], ["Failed", "TimedOut"]);
});

test("a task whose earlier object cannot be removed says so, and fails after one more time-out", async (t) => {
  const find = refuses(403, "Forbidden");
  const { reconcile, task, asked, later } = lab(t, { task: timedOut({ uid: "job-1" }), find });
  assert.deepEqual(await reconcile(), { requeueAfterMs: 10_000 });
  const { phase, message = "" } = task().status ?? {};
  assert.equal(phase, "Running");
  assert.match(message, /^Job clean-0123456789 of an earlier attempt is not gone yet: .*it says/);
  await reconcile();
  assert.deepEqual(asked, ["find"]);
  await passes(14, reconcile, later);
  assert.equal(task().status?.phase, "Running");
  await passes(1, reconcile, later);
  assert.deepEqual([task().status?.phase, task().status?.begun], ["Failed", 1]);
  assert.match(task().status?.message ?? "", /of an earlier attempt is not gone yet/);
});

test("a corrected task fails when what the one before it has created cannot be removed", async (t) => {
  const left = named({
    phase: "Failed",
    begun: 1,
    endedAt: ago(HOUR),
    attempts: [attempt({ uid: "job-1", endedAt: ago(HOUR), outcome: "TimedOut" })],
  });
  const corrected = named(undefined, { actionHash: "fedcba9876543210", serviceAccountName: "another" });
  const created = { ...corrected, metadata: { ...corrected.metadata, creationTimestamp: ago(0) } };
  const find = refuses(403, "Forbidden");
  const { reconcile, task, later } = lab(t, { task: created, others: [left], find });
  await reconcile();
  assert.equal(task().status?.phase, undefined);
  await passes(15, reconcile, later);
  assert.equal(task().status?.phase, "Failed");
});

test("a retry long after a time-out waits as long as that for an object that is being deleted, whose Pods may end slowly", async (t) => {
  let left: KubeObject | undefined = job("job-1");
  const find = async (): Promise<KubeObject | undefined> => await Promise.resolve(left);
  const late = timedOut({ uid: "job-1", endedAt: ago(24 * HOUR) });
  const ends = lab(t, { task: late, find });
  await ends.reconcile();
  await passes(14, ends.reconcile, ends.later);
  assert.deepEqual([ends.task().status?.phase, ends.task().status?.begun], ["Running", 1]);
  left = undefined;
  ends.later(10_000);
  await ends.reconcile();
  assert.equal(ends.task().status?.begun, 2);
  left = job("job-1");
  const stays = lab(t, { task: late, find });
  await stays.reconcile();
  await passes(15, stays.reconcile, stays.later);
  assert.equal(stays.task().status?.phase, "Failed");
});

test("a task that may take days waits for an hour", async (t) => {
  const long = timedOut({ uid: "job-1", endedAt: ago(24 * HOUR) });
  const task = { ...long, spec: { ...long.spec, timeout: "168h" } };
  const stays = lab(t, { task, find: async () => await Promise.resolve(job("job-1")) });
  await passes(60, stays.reconcile, stays.later);
  assert.equal(stays.task().status?.phase, "Running");
  await passes(1, stays.reconcile, stays.later);
  assert.equal(stays.task().status?.phase, "Failed");
});

test("that time counts on while another replica leads", async (t) => {
  const find = async (): Promise<KubeObject> => await Promise.resolve(job("job-1"));
  const { reconcile, pause, task, later } = lab(t, {
    task: timedOut({ uid: "job-1", endedAt: ago(24 * HOUR) }),
    find,
  });
  await reconcile();
  await passes(14, reconcile, later);
  later(30_000);
  await pause();
  assert.equal(task().status?.phase, "Running");
  later(30_000);
  await reconcile();
  assert.equal(task().status?.phase, "Failed");
});

test("a corrected task begins where nothing of the one before it was ever seen", async (t) => {
  const left = named({
    phase: "Failed",
    begun: 1,
    endedAt: ago(HOUR),
    attempts: [attempt({ endedAt: ago(HOUR), outcome: "TimedOut" })],
  });
  const corrected = named(undefined, { actionHash: "fedcba9876543210", serviceAccountName: "another" });
  const find = refuses(404, "KindNotServed");
  const { reconcile, task } = lab(t, { task: corrected, others: [left], find });
  await reconcile();
  assert.equal(task().status?.begun, 1);
});

test("what an expression called failed is removed before another HookTask of the task begins", async (t) => {
  const ended = {
    phase: "Failed",
    begun: 1,
    endedAt: ago(HOUR),
    attempts: [attempt({ uid: "job-1", endedAt: ago(HOUR), outcome: "Failed" })],
  } as const;
  const status: HookTaskStatus = { ...ended, attempts: [...ended.attempts] };
  const next = named(undefined, { run: 2 });
  const find = async (): Promise<KubeObject> => await Promise.resolve(job("job-1"));
  const atWork = lab(t, { task: next, others: [named(status, { failed: "object.bad" })], find });
  await atWork.reconcile();
  assert.deepEqual(
    [atWork.task().status?.begun, atWork.asked[1]],
    [undefined, "delete clean-0123456789 Foreground"],
  );
  const atRest = lab(t, { task: next, others: [named(status)], find });
  await atRest.reconcile();
  assert.deepEqual([atRest.task().status?.begun, atRest.asked], [1, ["create"]]);
});

test("nothing is cancelled because memory no longer wants it", async (t) => {
  const never: Permit = { may: "Never", why: "the policy is gone" };
  const behind = lab(t, { task: named(), fromMemory: never });
  assert.deepEqual(await behind.reconcile(), { requeueAfterMs: 10_000 });
  assert.equal(behind.task().status, undefined);
  const gone = lab(t, {
    task: named(),
    fromMemory: never,
    now: { may: "Never", why: "the Cluster is gone" },
  });
  await gone.reconcile();
  assert.deepEqual(
    [gone.task().status?.phase, gone.task().status?.message],
    ["Cancelled", "the Cluster is gone"],
  );
});

describe("once its policy has changed, a task that was refused", () => {
  const gone: Permit = { may: "Never", why: "the policy does not have this task any more" };
  const play = async (
    t: TestContext,
    task: HookTask,
    create: TaskObjects["create"],
    meanwhile: (of: Lab) => unknown = () => undefined,
  ): Promise<HookTaskStatus> => {
    let permit: Permit = BEGIN;
    const world = {
      task,
      create,
      get now() {
        return permit;
      },
      get fromMemory() {
        return permit;
      },
    };
    const all = lab(t, world);
    const { reconcile, later } = all;
    await reconcile();
    later(2000);
    await reconcile();
    await meanwhile(all);
    permit = gone;
    await reconcile();
    return all.task().status ?? {};
  };

  test("ends, so that another HookTask of the task may begin", async (t) => {
    const { phase, over, message, attempts } = await play(t, named(), refuses(404, "KindNotServed"));
    assert.deepEqual([phase, over !== undefined, message], ["Cancelled", true, gone.why]);
    assert.deepEqual([attempts?.length, attempts?.[0]?.outcome], [1, "Cancelled"]);
  });

  test("does not end where one answer was lost, because its object may appear", async (t) => {
    let count = 0;
    const create = async (): Promise<never> => {
      count += 1;
      return await (count === 1 ? refuses(0, "Timeout") : refuses(403, "Forbidden"))();
    };
    const { phase, attempts } = await play(t, named(), create);
    assert.deepEqual([phase, attempts?.[0]?.endedAt, count], ["Pending", undefined, 2]);
  });

  test("does not end where another replica has led, whose request may be under way", async (t) => {
    const create = refuses(403, "Forbidden");
    const { phase, attempts } = await play(t, named(), create, async ({ pause }) => await pause());
    assert.deepEqual([phase, attempts?.[0]?.endedAt], ["Pending", undefined]);
  });

  test("does not end where another replica has begun it, whose request may be under way", async (t) => {
    const begun = named({ phase: "Pending", begun: 1, attempts: [attempt()] });
    const { phase, attempts } = await play(t, begun, refuses(403, "Forbidden"));
    assert.deepEqual([phase, attempts?.[0]?.endedAt], ["Pending", undefined]);
  });
});

test("what cannot be carried out is asked for once in a turn, whatever each answer says", async (t) => {
  let count = 0;
  const create = async (): Promise<never> => {
    count += 1;
    return await Promise.reject(new KubeError(`no ${count}`, { code: 500, reason: "InternalError" }));
  };
  const { reconcile, asked, task, later } = lab(t, { task: named(), create });
  for (let looks = 0; looks < 5; looks += 1) await reconcile();
  assert.deepEqual([asked, task().status?.message], [["create"], "no 1"]);
  later(2000);
  for (let looks = 0; looks < 5; looks += 1) await reconcile();
  assert.deepEqual([asked, task().status?.message], [["create", "create"], "no 2"]);
});

test("what a success has created is removed once the API server answers, and left where it refuses", async (t) => {
  const ended = attempt({ uid: "job-1", endedAt: ago(HOUR), outcome: "Succeeded" });
  const succeeded = named({ phase: "Succeeded", begun: 1, endedAt: ago(HOUR), attempts: [ended] });
  let find: TaskObjects["find"] = refuses(503, "ServiceUnavailable");
  const silent = lab(t, { task: succeeded, find: async (...rest) => await find(...rest) });
  await assert.rejects(silent.reconcile(), /it says ServiceUnavailable/);
  find = async () => await Promise.resolve(job("job-1"));
  for (let looks = 0; looks < 3; looks += 1) await silent.reconcile();
  assert.deepEqual(silent.asked, ["find", "find", "delete clean-0123456789 Foreground", "find"]);
  for (const [code, reason] of [
    [403, "Forbidden"],
    [404, "KindNotServed"],
  ] as const) {
    const refused = lab(t, { task: succeeded, find: refuses(code, reason) });
    for (let looks = 0; looks < 3; looks += 1) await refused.reconcile();
    await refused.pause();
    await refused.reconcile();
    assert.deepEqual(refused.asked, ["find"]);
  }
});

test("what the last attempt has left at its time-out is removed, once the API server answers, or left where it refuses", async (t) => {
  for (const uid of ["job-1", undefined]) {
    const late = timedOut({ ...(uid && { uid }), endedAt: ago(1) });
    const failed = { ...late, status: { ...late.status, phase: "Failed" as const, endedAt: ago(1) } };
    let find: TaskObjects["find"] = refuses(503, "ServiceUnavailable");
    const silent = lab(t, { task: failed, find: async (...rest) => await find(...rest) });
    await assert.rejects(silent.reconcile(), /it says ServiceUnavailable/);
    const labels = { "hookpolicy.dev/task": failed.metadata.name };
    find = async () =>
      await Promise.resolve({ ...job("job-1"), metadata: { ...job("job-1").metadata, labels } });
    for (let looks = 0; looks < 3; looks += 1) await silent.reconcile();
    assert.deepEqual(silent.asked, ["find", "find", "delete clean-0123456789 Foreground", "find"]);
    const refused = lab(t, { task: failed, find: refuses(403, "Forbidden") });
    for (let looks = 0; looks < 3; looks += 1) await refused.reconcile();
    await refused.pause();
    await refused.reconcile();
    assert.deepEqual([refused.asked, refused.task().status], [["find"], failed.status]);
  }
});
