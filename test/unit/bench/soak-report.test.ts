/** The slopes of a soak, as its page tells them. */

import assert from "node:assert/strict";
import test from "node:test";
import { type Reading, rowsOf } from "../../../bench/soak/report.ts";
import { isMet } from "../../../bench/report/page.ts";
import type { Row } from "../../../bench/result.ts";

/** A reading every 10 s for an hour. */
function soaked(pace: number, rss: (minute: number) => number): Row {
  const readings = Array.from({ length: 361 }, (_, index): Reading => {
    const minute = index / 6;
    return { minute, rss: rss(minute), heapUsed: 40, cpuSeconds: 0, informerRestarts: 0, statusWrites: 0 };
  });
  const [, row] = rowsOf({
    readings,
    pace,
    traffic: { calls: 0, failed: 0, failures: [] },
    lives: { born: 0, gone: 0, wrongAllows: 0, late: 0 },
    churn: new Map(),
  });
  assert.ok(row);
  return row;
}

test("at ten times the pace, memory that grows by 60 MiB an hour grows by 6 in an hour of ordinary life", () => {
  const row = soaked(10, (minute) => 150 + minute);
  assert.deepEqual([row.id, row.samples, row.unit], ["soak-rss-slope", [6], "MiB per hour of ordinary life"]);
  assert.equal(isMet(row), false);
});

test("memory that comes and goes meets the goal", () => {
  assert.equal(isMet(soaked(1, (minute) => 150 + ((minute * 42) % 13))), true);
});
