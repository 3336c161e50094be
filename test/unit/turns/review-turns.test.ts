import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type Turn, Turns } from "../../../src/turns/review-turns.ts";

/** Takes a turn for each name at once; `order` tells which of them have one, `refused` which have none. */
function takeAll(turns: Turns, names: readonly string[]) {
  const [order, refused, ends]: [string[], string[], Turn[]] = [[], [], []];
  for (const name of names) {
    void turns.take(name).then((turn) => {
      if (turn === undefined) refused.push(name);
      else {
        order.push(name);
        ends.push(turn);
      }
    });
  }
  return { order, refused, end: async () => (ends.shift()?.(0), await settled()) };
}

/** Ended turns take a timer of 0 ms. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
  await setImmediate();
}

test("shares take turns, however many one of them has waiting, and one at a time each", async () => {
  const { order, end } = takeAll(new Turns({ atOnce: 2 }), ["a", "a", "a", "b", "c"]);
  await settled();
  assert.deepEqual(order, ["a", "b"]);
  for (let ended = 0; ended < 4; ended += 1) await end();
  assert.deepEqual(order, ["a", "b", "c", "a", "a"]);
});

test("where all places are taken, the share with the most of them gives one up, and the newest is refused", async () => {
  const limits = { atOnce: 1, waiting: 3, waitingOfOne: 3 };
  const { order, refused } = takeAll(new Turns(limits), ["a", "a", "a", "a", "a", "b"]);
  await settled();
  assert.deepEqual([order, refused], [["a"], ["a", "a"]]);
});

test("a share has its next turn when it has rested", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const turns = new Turns();
    (await turns.take("a"))?.(1000);
    const next = takeAll(turns, ["a", "b"]);
    await setImmediate();
    assert.deepEqual(next.order, ["b"]);
    mock.timers.tick(1000);
    await setImmediate();
    assert.deepEqual(next.order, ["b", "a"]);
  } finally {
    mock.timers.reset();
  }
});

test("who has waited too long is refused, and so is who comes too often", async () => {
  const { order, refused } = takeAll(new Turns({ waitMs: 1 }), ["a", "a"]);
  await settled();
  await settled();
  assert.deepEqual([order, refused], [["a"], ["a"]]);
  const often = takeAll(new Turns({ burst: 2, perSecond: 0 }), ["a", "a", "a", "b"]);
  await settled();
  assert.deepEqual([often.order, often.refused], [["a", "b"], ["a"]]);
});

test("shares beyond those that are told apart have one together", async () => {
  const { order } = takeAll(new Turns({ shares: 2 }), ["a", "b", "c", "d"]);
  await settled();
  assert.deepEqual(order, ["a", "b", "c"]);
});
