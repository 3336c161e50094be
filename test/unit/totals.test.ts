import assert from "node:assert/strict";
import test from "node:test";
import type { TestEvent } from "node:test/reporters";
import { totals } from "../totals.ts";

function summary(file: string | undefined): TestEvent {
  const counts = { tests: 7, passed: 3, skipped: 1, todo: 1, cancelled: 1, suites: 0, topLevel: 7 };
  return { type: "test:summary", data: { file, counts, duration_ms: 1, success: false } };
}

test("the line of a run counts its tests once, and what was cancelled as failed", (t) => {
  const before = process.env["TEST_PART"];
  t.after(() => {
    if (before === undefined) delete process.env["TEST_PART"];
    else process.env["TEST_PART"] = before;
  });
  process.env["TEST_PART"] = "integration";
  const lines = [...totals([summary("a.test.ts"), summary(undefined)])];
  assert.deepEqual(lines, ["\nintegration: 3 passed, 2 failed, 1 skipped\n"]);
});
