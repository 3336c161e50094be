import assert from "node:assert/strict";
import test from "node:test";
import { Kept } from "../../../src/lib/kept.ts";

test("a thousand entries are kept, and changed in their places; one more begins anew", () => {
  const kept = new Kept<number>();
  for (let n = 0; n < 1000; n += 1) kept.set(`${n}`, n);
  kept.set("0", -1);
  assert.deepEqual([kept.size, kept.get("0")], [1000, -1]);
  kept.set("one more", 1);
  assert.deepEqual([...kept], [["one more", 1]]);
});
