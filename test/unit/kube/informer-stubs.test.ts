import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { MemoryBudget, NO_MEMORY } from "../../../src/kube/memory-budget.ts";
import { MemoryLogger, until } from "./fixtures.ts";
import { type InformerLab, type Size, startInformer } from "./informer-lab.ts";

const BUDGET = 100;

interface Overrides {
  readonly put: Readonly<Record<string, number>>;
}

async function start(t: TestContext, { put }: Overrides): Promise<InformerLab & { budget: MemoryBudget }> {
  const budget = new MemoryBudget(new MemoryLogger(), BUDGET);
  const lab = await startInformer(t, {
    prepare: (server) => {
      for (const [key, size] of Object.entries(put)) server.put(key, size);
    },
    stubs: {
      budget,
      ownerOf: ({ metadata }) => metadata.namespace ?? "",
      memoryUseOf: ({ size }) => ({ ...NO_MEMORY, bytes: size }),
      stub: ({ metadata }) => ({ metadata, size: 0, tooLarge: true }),
    },
  });
  await lab.informer.whenSynced(lab.stop.signal);
  return { ...lab, budget };
}

const stubs = ({ informer }: InformerLab): string[] =>
  informer
    .list()
    .filter(({ tooLarge }: Size) => tooLarge === true)
    .map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);

test("a list leaves stubs of the namespace that has most, also of what it brought before", async (t) => {
  const lab = await start(t, { put: { "a/1": 20, "b/1": 40, "b/2": 30, "b/3": 30, "c/1": 40 } });
  assert.deepEqual(stubs(lab), ["b/1", "b/2", "b/3"]);
  assert.equal(lab.informer.tooLarge, 3);
  assert.equal(lab.informer.size, 5);
});

test("an event that is too much leaves stubs of all that the namespace has, and tells of each", async (t) => {
  const lab = await start(t, { put: { "a/1": 40, "b/1": 30 } });
  assert.deepEqual(stubs(lab), []);
  lab.server.put("b/2", 50);
  await until("there are stubs", () => stubs(lab).length === 2);
  assert.deepEqual(stubs(lab), ["b/1", "b/2"]);
  assert.deepEqual(
    [...lab.replayed()],
    [
      ["a/1", 40],
      ["b/1", 0],
      ["b/2", 0],
    ],
  );
});

test("what is written once it fits is whole, and the rest after the watch has ended", async (t) => {
  const lab = await start(t, { put: { "a/1": 40, "b/1": 30, "b/2": 50 } });
  assert.deepEqual(stubs(lab), ["b/1", "b/2"]);
  lab.server.put("b/2", 20);
  await until("the object is whole", () => lab.informer.get("b/2")?.size === 20);
  assert.deepEqual(stubs(lab), ["b/1"]);
  lab.server.dropWatches();
  await until("everything is whole", () => stubs(lab).length === 0);
  assert.equal(lab.informer.get("b/1")?.size, 30);
});

test("what is deleted frees its share", async (t) => {
  const lab = await start(t, { put: { "a/1": 40, "b/1": 30, "b/2": 50 } });
  lab.server.remove("b/2");
  await until("the object is gone", () => lab.informer.get("b/2") === undefined);
  assert.equal(lab.budget.isOver("b"), false);
});

test("an informer that has ended keeps nothing", async (t) => {
  const lab = await start(t, { put: { "a/1": 40, "b/1": 90 } });
  assert.ok(lab.budget.isOver("b"));
  lab.stop.abort();
  await lab.done;
  assert.equal(lab.budget.isOver("b"), false);
});
