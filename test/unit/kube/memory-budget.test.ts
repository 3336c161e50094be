import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sizeOf } from "../../../src/lib/json-size.ts";
import { MemoryBudget, NO_MEMORY, PLATFORM } from "../../../src/kube/memory-budget.ts";
import { MemoryLogger } from "./fixtures.ts";

const bytes = (count: number): typeof NO_MEMORY => ({ ...NO_MEMORY, bytes: count });

function budgetOf(limit: number): { budget: MemoryBudget; shed: string[]; log: MemoryLogger } {
  const log = new MemoryLogger();
  const budget = new MemoryBudget(log, limit);
  const shed: string[] = [];
  budget.join({ shed: (owner) => shed.push(owner) });
  return { budget, shed, log };
}

describe("the budget of memory", () => {
  test("nothing is over while everything fits", () => {
    const { budget, shed } = budgetOf(100);
    budget.change("a", bytes(60));
    budget.change("b", bytes(40));
    assert.deepEqual(shed, []);
  });

  test("the largest is over, and the neighbours are not", () => {
    const { budget, shed, log } = budgetOf(100);
    budget.change("a", bytes(50));
    budget.change("b", bytes(40));
    budget.change("b", bytes(20));
    assert.deepEqual([shed, budget.isOver("a"), budget.isOver("b")], [["b"], false, true]);
    // What is over counts on, and is told of once.
    budget.change("b", bytes(70));
    assert.deepEqual(shed, ["b"]);
    assert.equal(log.lines.length, 1);
  });

  test("an owner that becomes smaller is not over any more", () => {
    const { budget } = budgetOf(100);
    budget.change("a", bytes(50));
    budget.change("b", bytes(60));
    budget.change("b", bytes(45), bytes(60));
    assert.equal(budget.isOver("b"), false);
  });

  test("the platform team's objects are over last", () => {
    const { budget } = budgetOf(100);
    budget.change(PLATFORM, bytes(90));
    budget.change("a", bytes(20));
    assert.deepEqual([budget.isOver(PLATFORM), budget.isOver("a")], [false, true]);
    budget.change(PLATFORM, bytes(20));
    assert.ok(budget.isOver(PLATFORM));
  });

  test("a HookPolicy counts with each Cluster of its namespace", () => {
    const { budget } = budgetOf(100 * 1024);
    for (let count = 0; count < 10; count += 1)
      budget.change("a", { bytes: 1, bytesForEachCluster: 1024, clusters: 0 });
    for (let count = 0; count < 9; count += 1)
      budget.change("a", { bytes: 1, bytesForEachCluster: 0, clusters: 1 });
    assert.equal(budget.isOver("a"), false);
    for (let count = 0; count < 2; count += 1)
      budget.change("a", { bytes: 1, bytesForEachCluster: 0, clusters: 1 });
    assert.ok(budget.isOver("a"));
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
      const { budget } = budgetOf(100);
      for (const [owner, size] of order) budget.change(owner, bytes(size));
      return ["a", "b", "c", "d", PLATFORM].filter((owner) => budget.isOver(owner));
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
