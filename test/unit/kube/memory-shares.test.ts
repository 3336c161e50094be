import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NOTHING, sizeOf } from "../../../src/api/amount.ts";
import { MemoryShares, PLATFORM } from "../../../src/kube/memory-shares.ts";
import { MemoryLogger } from "./fixtures.ts";

const bytes = (count: number): typeof NOTHING => ({ ...NOTHING, bytes: count });

function sharesOf(budget: number): { shares: MemoryShares; shed: string[]; log: MemoryLogger } {
  const log = new MemoryLogger();
  const shares = new MemoryShares(log, budget);
  const shed: string[] = [];
  shares.join({ shed: (owner) => shed.push(owner) });
  return { shares, shed, log };
}

describe("shares of memory", () => {
  test("nothing is over while everything fits", () => {
    const { shares, shed } = sharesOf(100);
    shares.change("a", bytes(60));
    shares.change("b", bytes(40));
    assert.deepEqual(shed, []);
  });

  test("the largest is over, and the neighbours are not", () => {
    const { shares, shed, log } = sharesOf(100);
    shares.change("a", bytes(50));
    shares.change("b", bytes(40));
    shares.change("b", bytes(20));
    assert.deepEqual([shed, shares.isOver("a"), shares.isOver("b")], [["b"], false, true]);
    // What is over counts on, and is told of once.
    shares.change("b", bytes(70));
    assert.deepEqual(shed, ["b"]);
    assert.equal(log.lines.length, 1);
  });

  test("an owner that becomes smaller is not over any more", () => {
    const { shares } = sharesOf(100);
    shares.change("a", bytes(50));
    shares.change("b", bytes(60));
    shares.change("b", bytes(45), bytes(60));
    assert.equal(shares.isOver("b"), false);
  });

  test("the platform team's objects are over last", () => {
    const { shares } = sharesOf(100);
    shares.change(PLATFORM, bytes(90));
    shares.change("a", bytes(20));
    assert.deepEqual([shares.isOver(PLATFORM), shares.isOver("a")], [false, true]);
    shares.change(PLATFORM, bytes(20));
    assert.ok(shares.isOver(PLATFORM));
  });

  test("a HookPolicy counts with each Cluster of its namespace", () => {
    const { shares } = sharesOf(100 * 1024);
    for (let count = 0; count < 10; count += 1) shares.change("a", { bytes: 1, policies: 1, clusters: 0 });
    for (let count = 0; count < 9; count += 1) shares.change("a", { bytes: 1, policies: 0, clusters: 1 });
    assert.equal(shares.isOver("a"), false);
    for (let count = 0; count < 2; count += 1) shares.change("a", { bytes: 1, policies: 0, clusters: 1 });
    assert.ok(shares.isOver("a"));
  });

  test("every order of the same objects has the same result", () => {
    const objects = [
      ["a", 30],
      ["b", 50],
      ["c", 50],
      ["a", 25],
      ["d", 5],
      [PLATFORM, 40],
    ] as const;
    const results = [objects, objects.toReversed(), objects.toSorted((a, b) => b[1] - a[1])].map((order) => {
      const { shares } = sharesOf(100);
      for (const [owner, size] of order) shares.change(owner, bytes(size));
      return ["a", "b", "c", "d", PLATFORM].filter((owner) => shares.isOver(owner));
    });
    assert.deepEqual(results, [
      ["a", "c"],
      ["a", "c"],
      ["a", "c"],
    ]);
  });
});

test("sizes are no less than what V8 takes for long texts", () => {
  assert.ok(sizeOf("x".repeat(1000)) >= 1000);
  assert.ok(sizeOf(`${"x".repeat(1000)}€`) >= 2002);
  let nested: unknown = {};
  for (let depth = 0; depth < 100_000; depth += 1) nested = [nested];
  assert.ok(sizeOf(nested) > 100_000);
});
