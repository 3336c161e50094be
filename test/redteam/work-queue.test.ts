/** One tenant's policies do not keep another one's status and finalizer waiting. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { WorkQueue, type WorkQueueOptions } from "../../src/kube/work-queue.ts";
import { silent } from "../unit/memory/fixtures.ts";

const groupOf = (key: string): string => key.split("/")[0] ?? "";

interface Lab {
  readonly queue: WorkQueue;
  /** In the order in which they began. */
  readonly begun: string[];
  /** Ends the oldest under way. */
  readonly endOne: () => Promise<void>;
}

function start(t: TestContext, options: Partial<WorkQueueOptions> = {}): Lab {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const reconcile = async (key: string): Promise<undefined> => {
    begun.push(key);
    await new Promise<void>((resolve) => ends.push(resolve));
  };
  const queue = new WorkQueue({ reconcile, log: silent, groupOf, ...options });
  const stop = new AbortController();
  void queue.run(stop.signal);
  t.after(() => {
    stop.abort();
    for (const end of ends) end();
  });
  const endOne = async (): Promise<void> => {
    ends.shift()?.();
    await nextTurn();
  };
  return { queue, begun, endOne };
}

function addMany(queue: WorkQueue, count = 2500): void {
  for (let i = 0; i < count; i += 1) queue.add(`flood/p${i}`);
}

test("a key of another namespace begins at once, whatever a flood has begun and not ended", (t) => {
  const { queue, begun } = start(t);
  addMany(queue);
  queue.add("other/p");
  assert.deepEqual(begun, ["flood/p0", "flood/p1", "other/p"]);
});

test("namespaces take turns", async (t) => {
  const { queue, begun, endOne } = start(t, { concurrency: 1 });
  addMany(queue);
  for (const key of ["other/p0", "other/p1", "third/p0"]) queue.add(key);
  for (let i = 0; i < 6; i += 1) await endOne();
  assert.deepEqual(begun.slice(1, 7), [
    "flood/p1",
    "other/p0",
    "third/p0",
    "flood/p2",
    "other/p1",
    "flood/p3",
  ]);
});

test("a finalizer comes before the statuses of its namespace, also where the key waits already", async (t) => {
  const urgent = new Set<string>();
  const { queue, begun, endOne } = start(t, { concurrency: 1, isUrgent: (key) => urgent.has(key) });
  addMany(queue);
  urgent.add("flood/p2000");
  queue.add("flood/p2000");
  const depth = queue.depth;
  await endOne();
  await endOne();
  assert.deepEqual(begun, ["flood/p0", "flood/p2000", "flood/p1"]);
  assert.equal(queue.depth, depth - 2, "it waited once");
});

test("finalizers of one namespace do not take the turns of another", async (t) => {
  const { queue, begun, endOne } = start(t, {
    concurrency: 1,
    isUrgent: (key) => key.startsWith("flood/"),
  });
  addMany(queue);
  queue.add("other/p");
  await endOne();
  await endOne();
  assert.ok(begun.includes("other/p"), begun.join());
});

test("every key of a flood is worked on once, and again what was added meanwhile", async (t) => {
  const { queue, begun, endOne } = start(t, { isUrgent: (key) => key.endsWith("7") });
  addMany(queue, 100);
  addMany(queue, 100);
  const underWay = begun.length;
  for (let i = 0; i < 200; i += 1) await endOne();
  assert.equal(new Set(begun).size, 100);
  assert.equal(begun.length, 100 + underWay);
  assert.equal(queue.depth, 0);
});
