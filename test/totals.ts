/** How many tests passed and failed, in one line, which the part of `make test` begins that has run: .ci/run repeats it. */

import type { TestEvent } from "node:test/reporters";

export function* totals(events: Iterable<TestEvent>): Generator<string> {
  for (const { type, data } of events) {
    if (type !== "test:summary" || data.file !== undefined) continue;
    const { tests, passed, skipped, todo } = data.counts;
    const left = tests - passed - skipped - todo; // failed, or cancelled because something else has
    yield `\n${process.env["TEST_PART"] ?? "tests"}: ${passed} passed, ${left} failed, ${skipped} skipped\n`;
  }
}
