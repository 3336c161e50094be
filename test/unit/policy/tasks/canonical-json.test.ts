import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { canonicalJson } from "../../../../src/policy/tasks/task-identity.ts";
import { isFields } from "../../../../src/lib/fields.ts";
import { runs } from "../../../generated.ts";

const json = fc.jsonValue({ maxDepth: 4 });

/** The same value, as a server in another language may write it. */
function rewritten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => rewritten(item));
  if (!isFields(value)) return value;
  const fields = Object.entries(value).toReversed();
  return Object.fromEntries(fields.map(([name, field]) => [name, rewritten(field)]));
}

test("equal values have one text, whatever the order of their keys, before and after a store", () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value);
      assert.equal(canonicalJson(rewritten(value)), text);
      assert.equal(canonicalJson(JSON.parse(JSON.stringify(value))), text);
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    }),
    runs(1000),
  );
});

test("other values have another text", () => {
  for (const [a, b] of [
    [{ a: 1 }, [["a", 1]]],
    [{}, []],
    [{ a: null }, {}],
    [1, "1"],
  ])
    assert.notEqual(canonicalJson(a), canonicalJson(b));
});

test("a number is the same however it is written", () => {
  for (const [a, b] of [
    ["1.0", "1"],
    ["1e3", "1000"],
    ["1e-07", "1e-7"],
    ["100000000000000000000", "1e20"],
    ["1e+21", "1000000000000000000000"],
    ["-0", "0"],
  ] as const)
    assert.equal(canonicalJson(JSON.parse(a)), canonicalJson(JSON.parse(b)), a);
});
