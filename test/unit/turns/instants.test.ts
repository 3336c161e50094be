import assert from "node:assert/strict";
import test from "node:test";
import { Instants } from "../../../src/turns/instants.ts";

const keys = (timed: readonly { readonly key: string }[]): string[] => timed.map(({ key }) => key);

test("what has come is taken once, the earliest first, and those of one instant as they were set", () => {
  const instants = new Instants();
  for (const [key, at] of Object.entries({ c: 30, a: 10, b: 20, again: 10 })) instants.set(key, at);
  assert.deepEqual(keys(instants.take(20)), ["a", "again", "b"]);
  assert.deepEqual(keys(instants.take(20)), []);
  assert.equal(instants.next, 30);
});

test("another instant replaces the one before, earlier or later, and what is deleted does not come", () => {
  const instants = new Instants();
  for (const [key, at] of [
    ["sooner", 30],
    ["later", 10],
    ["gone", 10],
  ] as const)
    instants.set(key, at);
  instants.set("sooner", 5);
  instants.set("later", 40);
  instants.delete("gone");
  assert.deepEqual(keys(instants.take(30)), ["sooner"]);
  assert.deepEqual(keys(instants.take(40)), ["later"]);
});

test("those of one instant come as they were set last, whatever was moved in between", () => {
  const instants = new Instants();
  instants.set("a", 1);
  instants.set("b", 10);
  for (const at of [2, 3, 10]) instants.set("a", at);
  assert.deepEqual(keys(instants.take(10)), ["b", "a"]);
});

test("the same key that is set again and again keeps its last instant, however often", () => {
  const instants = new Instants();
  for (let at = 10_000; at > 0; at -= 1) instants.set("a", at);
  assert.equal(instants.get("a"), 1);
  assert.deepEqual(keys(instants.take(10_000)), ["a"]);
});
