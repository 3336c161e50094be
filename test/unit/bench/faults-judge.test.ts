/** The judge of the answers under faults must itself be right: a wrong allow that it misses is missed for good. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Call, judge, mayGo, Timeline, type Truth } from "../../../bench/faults/judge.ts";

const GATED = { inForce: "Yes", evaluable: "Yes", satisfied: "No" } as const;

/** Held from 0, perhaps free from 1000, free from 2000, perhaps held from 5000, held from 6000. */
const timeline = new Timeline();
for (const [at, go] of [
  [0, "No"],
  [1000, "Maybe"],
  [2000, "Yes"],
  [5000, "Maybe"],
  [6000, "No"],
] as const)
  timeline.set(at, go);

function call(result: Call["result"], from: number, to: number): Call {
  return { cluster: "team-a/c1", timeline, from, to, result, message: "" };
}

const facts: [facts: Partial<Parameters<typeof mayGo>[0]>, go: Truth][] = [
  [{}, "No"],
  [{ satisfied: "Yes" }, "Yes"],
  [{ satisfied: "Maybe" }, "Maybe"],
  [{ inForce: "No" }, "Yes"],
  [{ inForce: "Maybe" }, "Maybe"],
  [{ inForce: "Maybe", satisfied: "Yes" }, "Yes"],
  [{ evaluable: "No", satisfied: "Yes" }, "No"],
  [{ evaluable: "Maybe", satisfied: "Yes" }, "Maybe"],
  [{ inForce: "No", evaluable: "No" }, "Yes"],
];
for (const [more, go] of facts) {
  test(`a Cluster with ${JSON.stringify(more)} may go: ${go}`, () => {
    assert.equal(mayGo({ ...GATED, ...more }), go);
  });
}

const goes: [from: number, to: number, wrong: boolean][] = [
  [10, 900, true],
  [10, 1000, false],
  [900, 6500, false],
  [1000, 1500, false],
  [1500, 1600, false],
  [3000, 3100, false],
  [5900, 6100, false],
  [6000, 6100, false],
  [6001, 6100, true],
];
for (const [from, to, wrong] of goes) {
  test(`a go from ${from} to ${to} is ${wrong ? "wrong" : "right"}`, () => {
    const { wrongAllows } = judge([call("Go", from, to)], 0);
    assert.equal(wrongAllows.length, wrong ? 1 : 0);
  });
}

test("before anything is known no go is wrong, and after the last change all are judged by it", () => {
  assert.equal(judge([call("Go", -20, -10)], 0).wrongAllows.length, 0);
  assert.equal(judge([call("Go", 90_000, 90_001)], 0).wrongAllows.length, 1);
});

test("all is right again from the last answer that was wrong, late or missing", () => {
  const right = [call("Held", 10, 20), call("Go", 4500, 4510)];
  assert.equal(judge(right, 15).rightAgainMs, 0);
  const late = call("Held", 3500, 3510);
  assert.equal(judge([...right, late], 15).rightAgainMs, 3495);
  assert.equal(judge([...right, call("Failed", 20, 415)], 15).rightAgainMs, 400);
  assert.equal(judge([...right, call("Go", 300, 415)], 15).rightAgainMs, 400);
  const healedLater = judge([...right, late, call("Go", 4900, 4910)], 3600);
  assert.equal(healedLater.rightAgainMs, 0, "what was wrong before the end of the fault");
});

test("nothing is right again when the run ends with a wrong answer", () => {
  assert.equal(judge([call("Go", 4000, 4010), call("Held", 4500, 4510)], 15).rightAgainMs, undefined);
});

test("a replica may take a second to hear of an approval", () => {
  const held = (from: number): Call[] => [call("Held", from, from + 10), call("Go", 4800, 4810)];
  assert.equal(judge(held(2900), 15).rightAgainMs, 0);
  assert.equal(judge(held(3001), 15).rightAgainMs, 2996);
});
