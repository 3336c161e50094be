import assert from "node:assert/strict";
import test from "node:test";
import { mergeResults } from "../../../bench/report/merge.ts";
import type { PartResult, Row } from "../../../bench/result.ts";
import { result, row } from "./results.ts";

const REMARK = "Measured again (slow) on 2026-01-03: cpu, 2 cores, Linux 6.1, node 24.0.0.";

function ids({ tables }: PartResult): (readonly string[])[] {
  return tables.map(({ rows }) => rows.map(({ id, samples }) => `${id}=${samples.join()}`));
}

function of(samples: number, ...names: readonly string[]): Row[] {
  return names.map((id) => row({ id, samples: [samples] }));
}

test("a run of some scenarios replaces their rows where they stand, and leaves the rows of the others", () => {
  const earlier = {
    ...result(of(1, "wrong-killed", "wrong-slow", "wrong-frozen")),
    notes: ["how", "by hand"],
  };
  const again = {
    ...result(of(2, "wrong-slow")),
    date: "2026-01-03",
    notes: ["how"],
    tables: [
      { title: "Table", rows: of(2, "wrong-slow") },
      { title: "New", rows: of(2, "held-slow") },
    ],
  };
  const merged = mergeResults(earlier, again, ["slow"]);
  assert.deepEqual(ids(merged), [["wrong-killed=1", "wrong-slow=2", "wrong-frozen=1"], ["held-slow=2"]]);
  assert.equal(merged.date, earlier.date);
  assert.deepEqual(merged.notes, ["how", "by hand", REMARK]);
  const third = mergeResults(merged, { ...again, date: "2026-01-04" }, ["slow"]);
  assert.deepEqual(third.notes, ["how", "by hand", REMARK.replace("03:", "04:")]);
});

test("a note that was worded anew replaces the one that was about the same", () => {
  const noted = (...notes: readonly string[]): PartResult => ({ ...result([]), notes });
  const earlier = noted("Slow: two calls. They share cores.", "Killed: all end. Nothing helps.");
  const { notes } = mergeResults(earlier, noted("Slow: two calls. They have cores of their own."), ["slow"]);
  assert.deepEqual(notes.slice(0, -1), [
    "Slow: two calls. They have cores of their own.",
    "Killed: all end. Nothing helps.",
  ]);
});

test("a row that is not measured again is not kept for its scenario", () => {
  const merged = mergeResults(result(of(1, "right-again-slow", "right-again-killed")), result([]), ["slow"]);
  assert.deepEqual(ids(merged), [["right-again-killed=1"]]);
});

test("a run of one size replaces the rows whose ids begin with it", () => {
  const earlier = result(of(1, "scale-1000-start", "scale-10000-start"));
  const merged = mergeResults(earlier, result(of(2, "scale-1000-start")), ["scale-1000"]);
  assert.deepEqual(ids(merged), [["scale-1000-start=2", "scale-10000-start=1"]]);
});

test("without an earlier result the run is the result", () => {
  const again = result(of(2, "wrong-slow"));
  assert.equal(mergeResults(undefined, again, ["slow"]), again);
});
