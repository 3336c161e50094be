import assert from "node:assert/strict";
import test from "node:test";
import { entryOf } from "../../../src/lib/entry-of.ts";

test("an entry is made once, also if it is null", () => {
  const map = new Map<string, number | null>();
  let made = 0;
  const make = (value: number | null) => () => {
    made += 1;
    return value;
  };
  assert.deepEqual([entryOf(map, "a", make(null)), entryOf(map, "a", make(1))], [null, null]);
  assert.deepEqual([entryOf(map, "b", make(0)), entryOf(map, "b", make(1))], [0, 0]);
  assert.equal(made, 2);
});
