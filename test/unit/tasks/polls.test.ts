import assert from "node:assert/strict";
import { test } from "node:test";
import { pollAfterMs, Polls } from "../../../src/tasks/polls.ts";
import { BEGINNINGS } from "../../../src/tasks/task-reconciler.ts";
import { Allowance } from "../../../src/turns/allowance.ts";

test("a look at an old attempt is seldom", () => {
  assert.deepEqual(
    [0, 59_000, 60_000, 659_000, 660_000].map(pollAfterMs),
    [2000, 2000, 10_000, 10_000, 30_000],
  );
});

test("one namespace with many tasks leaves every second turn to another", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const due: string[] = [];
  const polls = new Polls((key) => due.push(key));
  for (let count = 0; count < 50; count += 1) polls.schedule(`many/${count}`, "many", 1000);
  polls.schedule("few/0", "few", 1001);
  t.mock.timers.tick(1000);
  assert.equal(due.length, 1);
  for (let turn = 0; turn < 2; turn += 1) t.mock.timers.tick(50);
  assert.ok(due.includes("few/0"), due.join(" "));
  for (let turn = 0; turn < 8; turn += 1) t.mock.timers.tick(50);
  assert.equal(due.length, 11);
});

test("a turn is used once, and a HookTask that is gone has none", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const polls = new Polls(() => undefined);
  polls.schedule("a/1", "a", 10);
  polls.schedule("a/2", "a", 10);
  polls.forget("a/2");
  t.mock.timers.tick(1000);
  assert.deepEqual([polls.take("a/1"), polls.take("a/1"), polls.take("a/2")], [true, false, false]);
});

test("one that is gone leaves no turn to another of its name, whether it waited for its time or its turn", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const due: string[] = [];
  const polls = new Polls((key) => due.push(key));
  for (const key of ["a/1", "a/2", "a/3"]) polls.schedule(key, "a", key === "a/3" ? 200 : 10);
  t.mock.timers.tick(10);
  for (const key of ["a/2", "a/3"]) {
    polls.forget(key);
    polls.schedule(key, "a", 1000);
  }
  t.mock.timers.tick(900);
  assert.deepEqual(due, ["a/1"]);
  for (let turn = 0; turn < 8; turn += 1) t.mock.timers.tick(50);
  assert.deepEqual(due, ["a/1", "a/2", "a/3"]);
});

test("an attempt that could not be carried out in its turn gets another one", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const due: string[] = [];
  const polls = new Polls((key) => due.push(key));
  for (let turn = 1; turn <= 3; turn += 1) {
    polls.schedule("a/1", "a", 10);
    t.mock.timers.tick(1000);
    assert.equal(due.length, turn);
  }
});

test("a namespace begins twenty tasks at once and then twenty a minute, and others are not affected", (t) => {
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  const allowance = new Allowance(BEGINNINGS);
  const begun = (): number => {
    let count = 0;
    for (; allowance.restMs("many") <= 0; count += 1) allowance.spend("many", 1);
    return count;
  };
  assert.equal(begun(), 20);
  assert.equal(allowance.restMs("few"), 0);
  nowMs += 60_001;
  assert.equal(begun(), 20);
});
