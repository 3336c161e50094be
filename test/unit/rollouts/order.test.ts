import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compareOrder, orderOf } from "../../../src/rollouts/order.ts";

const KEY = "example.com/order";
const of = (label: string): number => orderOf({ [KEY]: label }, KEY);

test("a label with an integer of up to 15 digits gives the order; whatever else comes last", () => {
  const rows: readonly (readonly [label: string, order: number])[] = [
    ["0", 0],
    ["-7", -7],
    ["007", 7],
    ["999999999999999", 999_999_999_999_999],
    ["1000000000000000", Infinity],
    ["1.5", Infinity],
    ["1e3", Infinity],
    ["", Infinity],
    ["first", Infinity],
  ];
  for (const [label, order] of rows) assert.equal(of(label), order, label);
  assert.equal(orderOf(undefined, KEY), Infinity);
  assert.equal(orderOf({ other: "1" }, KEY), Infinity);
});

test("without a label to look at all are equal", () => {
  assert.equal(orderOf({ [KEY]: "5" }, undefined), orderOf({ [KEY]: "first" }, undefined));
});

test("the comparison is the order of the integers, also beside labels that are none", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.maxSafeInteger().map(String), fc.string())), (labels) => {
      const orders = labels.map(of).toSorted(compareOrder);
      for (const [index, order] of orders.entries())
        assert.ok(index === 0 || (orders[index - 1] ?? 0) <= order);
    }),
  );
});
