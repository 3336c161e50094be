import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { HookTask, HookTaskStatus } from "../../../src/api/hook-policy.ts";
import { namespacedName } from "../../../src/lib/keys.ts";
import { taskName } from "../../../src/policy/tasks/task-identity.ts";
import { Allowance } from "../../../src/turns/allowance.ts";
import { storedTask } from "../../../src/tasks/stored-task.ts";
import { TaskMemory } from "../../../src/tasks/task-memory.ts";
import {
  BEGINNINGS,
  TaskReconciler,
  type TaskReconcilerOptions,
} from "../../../src/tasks/task-reconciler.ts";
import { MemoryLogger } from "../kube/fixtures.ts";
import { ago, hookTask, NOW } from "./hook-tasks.ts";

interface Leader {
  leading: boolean;
  loaded: boolean;
  isOver: boolean;
  isTakenBack: boolean;
  /** Before the answer to the write of a status arrives. */
  whileWriting: () => void;
  readonly memory: TaskMemory;
  readonly key: string;
  /** Another HookTask has its name from now on. */
  readonly replace: (uid: string) => void;
  readonly stored: () => HookTaskStatus | undefined;
  /** When it looks again. */
  readonly look: (afterMs?: number) => Promise<number | undefined>;
}

/** A replica that knows one HookTask. */
function replica(t: TestContext, status: HookTaskStatus): Leader {
  let ms = 0;
  t.mock.method(performance, "now", () => ms);
  const bare = hookTask(status);
  let task: HookTask = {
    ...bare,
    metadata: { ...bare.metadata, name: taskName(bare.spec) },
  };
  const memory = new TaskMemory({ isKnown: () => true, onChange: () => undefined });
  memory.learn(storedTask(task));
  const options = {
    memory,
    store: {
      find: async () => await Promise.resolve(task),
      replaceStatus: async (_: HookTask, now: HookTaskStatus) => {
        const stored = { ...task, status: now };
        task = stored;
        leader.whileWriting();
        return await Promise.resolve(stored);
      },
    },
    permits: {
      clusterOf: () => undefined,
      isOver: () => leader.isOver,
      isOverNow: async () => await Promise.resolve(leader.isOver),
      isTakenBack: () => leader.isTakenBack,
      keepMs: () => Infinity,
    },
    clusterVersion: () => "cluster.x-k8s.io/v1beta2",
    polls: { forget: () => undefined },
    allowance: new Allowance(BEGINNINGS),
    leading: () => leader.leading,
    loaded: () => leader.loaded,
    now: () => NOW,
    onStored: () => undefined,
    log: new MemoryLogger(),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what these tests need of it
  const reconciler = new TaskReconciler(options as unknown as TaskReconcilerOptions);
  const leader: Leader = {
    leading: true,
    loaded: true,
    isOver: false,
    isTakenBack: false,
    whileWriting: () => undefined,
    memory,
    key: namespacedName(task.metadata),
    replace: (uid) => {
      task = { ...task, metadata: { ...task.metadata, uid } };
      memory.changed(leader.key, storedTask(task));
    },
    stored: () => task.status,
    look: async (afterMs = 0) => {
      ms += afterMs;
      return (await reconciler.reconcile(leader.key)).requeueAfterMs;
    },
  };
  return leader;
}

const ENDED: HookTaskStatus = { phase: "Succeeded", endedAt: ago(10) };

test("a success is looked at again until this replica leads, and is then found to be over", async (t) => {
  const leader = replica(t, ENDED);
  leader.isOver = true;
  leader.leading = false;
  assert.equal(await leader.look(), 2000);
  Object.assign(leader, { leading: true, loaded: false });
  assert.equal(await leader.look(2000), 2000);
  leader.loaded = true;
  assert.equal(await leader.look(2000), 5000);
  await leader.look(5000);
  assert.notEqual(leader.stored()?.over, undefined);
});

test("what no longer counts is looked at each minute, until this replica can delete it", async (t) => {
  const leader = replica(t, { ...ENDED, over: ago(5) });
  leader.leading = false;
  assert.equal(await leader.look(), 60_000);
});

test("an operation that was over for a moment has to be over as long again", async (t) => {
  const leader = replica(t, ENDED);
  leader.isOver = true;
  assert.equal(await leader.look(), 5000);
  leader.isOver = false;
  await leader.look(4000);
  leader.isOver = true;
  assert.equal(await leader.look(4000), 5000);
  assert.equal(leader.stored()?.over, undefined);
});

test("nor does the time count while another replica leads", async (t) => {
  const leader = replica(t, ENDED);
  leader.isOver = true;
  assert.equal(await leader.look(), 5000);
  leader.leading = false;
  await leader.look(4000);
  leader.leading = true;
  assert.equal(await leader.look(4000), 5000);
});

test("an operation that is taken back is over at once: no replica would say that it passed", async (t) => {
  const leader = replica(t, ENDED);
  Object.assign(leader, { isOver: true, isTakenBack: true });
  await leader.look();
  assert.notEqual(leader.stored()?.over, undefined);
});

test("nor does the time of one that is gone count for another of its name", async (t) => {
  const leader = replica(t, ENDED);
  const { memory, key } = leader;
  const known = memory.get(key) ?? assert.fail("it is known");
  leader.isOver = true;
  assert.equal(await leader.look(), 5000);
  memory.changed(key, undefined);
  await leader.look(4000);
  memory.learn(known);
  assert.equal(await leader.look(4000), 5000);
});

test("what is deleted while its status is written is not known again, nor in place of another of its name", async (t) => {
  const leader = replica(t, ENDED);
  const { memory, key } = leader;
  leader.isOver = true;
  await leader.look();
  leader.whileWriting = () => memory.changed(key, undefined);
  await leader.look(5000);
  assert.notEqual(leader.stored()?.over, undefined);
  assert.equal(memory.get(key), undefined);

  const next = replica(t, ENDED);
  next.isOver = true;
  await next.look();
  next.whileWriting = () => next.replace("another");
  await next.look(5000);
  assert.notEqual(next.stored()?.over, undefined);
  assert.equal(next.memory.get(next.key)?.metadata.uid, "another");
});
