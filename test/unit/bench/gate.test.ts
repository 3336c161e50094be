import assert from "node:assert/strict";
import test from "node:test";

import { compare } from "../../../bench/report/gate.ts";
import { result, row } from "./results.ts";

const baseline = result([row({ id: "a", samples: [1.9, 2, 2.1] })]);

test("a ratio is worse when its median is below six tenths of the committed one", () => {
  const worse = (samples: number[]): boolean | undefined =>
    compare(baseline, result([row({ id: "a", samples })]))[0]?.isWorse;
  assert.equal(worse([0.1, 1.2, 9]), false);
  assert.equal(worse([0.1, 1.19, 9]), true);
});

test("a ratio that is not measured any more is worse", () => {
  assert.deepEqual(compare(baseline, result([])), [
    { id: "a", unit: "× Go peer", baseline: 2, measured: undefined, isWorse: true },
  ]);
  assert.equal(compare(baseline, result([row({ id: "a", samples: [] })]))[0]?.isWorse, true);
});

test("figures that depend on the machine are not compared", () => {
  const milliseconds = result([row({ id: "a", unit: "ms", samples: [2] })]);
  assert.deepEqual(compare(milliseconds, milliseconds), []);
});
