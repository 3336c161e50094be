import assert from "node:assert/strict";
import test from "node:test";
import { neededOf, slotsOf, toleratedOf } from "../../../src/rollouts/limit.ts";

test("slots: a percentage rounds down, a small fleet gets one, and 0 is none", () => {
  const cases = [
    [5, 3, 5],
    [0, 100, 0],
    ["0%", 100, 0],
    ["10%", 3, 1],
    ["10%", 29, 2],
    ["100%", 0, 1],
    ["100%", 1000, 200],
    [500, 1000, 200],
    ["nonsense", 10, 0],
  ] as const;
  for (const [limit, members, slots] of cases)
    assert.equal(slotsOf(limit, members), slots, `${limit} of ${members}`);
});

test("successes: a percentage rounds up, and never more are needed than there can be", () => {
  const cases = [
    ["100%", 3, 3],
    ["50%", 3, 2],
    ["1%", 3, 1],
    ["0%", 3, 0],
    [2, 3, 2],
    [9, 3, 3],
    ["100%", 0, 0],
  ] as const;
  for (const [limit, members, needed] of cases)
    assert.equal(neededOf(limit, members), needed, `${limit} of ${members}`);
});

test("failures: a percentage rounds down, and never more than the status can name are tolerated", () => {
  const cases = [
    [0, 10, 0],
    ["10%", 9, 0],
    ["10%", 10, 1],
    ["100%", 1000, 50],
  ] as const;
  for (const [limit, members, tolerated] of cases)
    assert.equal(toleratedOf(limit, members), tolerated, `${limit} of ${members}`);
});

test("a percentage is that of integers, to the Cluster", () => {
  const rows = Array.from({ length: 101 }, (_, percent) => percent).flatMap((percent) =>
    Array.from({ length: 1001 }, (_, members) => ({
      limit: `${percent}%`,
      members,
      hundredths: percent * members,
    })),
  );
  const wrong = rows.filter(({ limit, members, hundredths }) => {
    const down = (hundredths - (hundredths % 100)) / 100;
    const up = down + Number(hundredths % 100 > 0);
    return (
      slotsOf(limit, members) !== (limit === "0%" ? 0 : Math.min(200, Math.max(1, down))) ||
      neededOf(limit, members) !== up ||
      toleratedOf(limit, members) !== Math.min(50, down)
    );
  });
  assert.deepEqual(wrong, []);
});
