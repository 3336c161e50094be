import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FairQueue } from "../../../src/turns/fair-queue.ts";
import { Turns } from "../../../src/turns/turns.ts";

/** Asks for a turn for each name at once; `end` ends the work that began first. */
function runAll(turns: Turns, names: readonly string[]) {
  const [order, refused, ends]: [string[], string[], (() => void)[]] = [[], [], []];
  for (const name of names) {
    const work = async (): Promise<void> => {
      order.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
    };
    void turns.run(name, work).then((outcome) => {
      if ("refused" in outcome) refused.push(`${name} ${outcome.refused}`);
    });
  }
  return { order, refused, end: async () => (ends.shift()?.(), await setImmediate()) };
}

test("shares take turns, however many one of them has waiting, and none has all places", async () => {
  const { order, end } = runAll(new Turns({ places: 2 }), ["a", "a", "a", "b", "c"]);
  assert.deepEqual(order, ["a", "b"]);
  for (let ended = 0; ended < 4; ended += 1) await end();
  assert.deepEqual(order, ["a", "b", "a", "c", "a"]);
});

test("a share that has too many waiting is refused, and others are not", async () => {
  const { order, refused, end } = runAll(new Turns({ places: 1, waitingOfOne: 2 }), [
    "a",
    "a",
    "a",
    "a",
    "b",
  ]);
  for (let ended = 0; ended < 3; ended += 1) await end();
  assert.deepEqual([order, refused], [["a", "a", "b", "a"], ["a TooMany"]]);
});

test("who has waited too long is refused, and its work never begins", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { order, refused, end } = runAll(new Turns({ places: 1, waitMs: 1000 }), ["a", "b"]);
    mock.timers.tick(1000);
    await end();
    assert.deepEqual([order, refused], [["a"], ["b TooLate"]]);
  } finally {
    mock.timers.reset();
  }
});

test("work that keeps the event loop begins in a turn of its own, and leaves as much time as it took", async () => {
  const turns = new Turns({ places: 1, rests: true });
  const [began, ended]: [number[], number[]] = [[], []];
  const work = (): void => {
    began.push(performance.now());
    while (performance.now() < (began.at(-1) ?? 0) + 20);
    ended.push(performance.now());
  };
  const all = [turns.run("a", work), turns.run("b", work)];
  assert.deepEqual(began, []);
  await Promise.all(all);
  assert.ok((began[1] ?? 0) - (ended[0] ?? 0) >= 18);
});

test("work that fails rejects, and ends its turn", async () => {
  const turns = new Turns({ places: 1 });
  const failed = turns.run("a", async () => await Promise.reject(new Error("no")));
  const next = turns.run("a", () => "next");
  await assert.rejects(failed, /no/);
  assert.deepEqual(await next, { result: "next" });
});

test("work that is queued twice for one member waits once", () => {
  const queue = new FairQueue();
  const work = { begin: () => undefined };
  for (const member of ["a", "a", "b"]) queue.add("group", member, work);
  assert.equal(queue.size, 2);
  for (const _ of ["a", "b"]) queue.take()?.end();
  assert.equal(queue.size, 0);
});
