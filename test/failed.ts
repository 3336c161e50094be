/** The tests that failed and the begin of their errors once more, at the end, where a reader of a log looks first. */

import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

const SHOWN_LINES = 6;

export function* failed(events: Iterable<TestEvent>): Generator<string> {
  for (const { type, data } of events) {
    // A suite fails by itself where a hook of it does; its tests are then cancelled.
    if (
      type !== "test:fail" ||
      ["subtestsFailed", "cancelledByParent"].includes(failureOf(data.details.error))
    )
      continue;
    const { name, file = "", details } = data;
    const { error, duration_ms: ms } = details;
    const because = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : error.message;
    const lines = because.split("\n").slice(0, SHOWN_LINES);
    yield `\nFailed after ${(ms / 1000).toFixed(1)} s: ${relative(process.cwd(), file)}: ${name}\n  ${lines.join("\n  ")}\n`;
  }
}

function failureOf(error: Error): string {
  return "failureType" in error ? String(error.failureType) : "";
}
