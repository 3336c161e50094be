/** The tests that failed and the begin of their errors once more, at the end, where a reader of a log looks first. */

import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

/** Enough for most differences that an assertion shows. */
const SHOWN_LINES = 20;

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
    const lines = reasonOf(error).split("\n").slice(0, SHOWN_LINES);
    yield `\nFailed after ${(ms / 1000).toFixed(1)} s: ${relative(process.cwd(), file)}: ${name}\n  ${lines.join("\n  ")}\n`;
  }
}

/** `error` is the runner's; its cause is the test's, whose own cause says what "fetch failed" does not. */
function reasonOf({ cause, message }: Error): string {
  if (!(cause instanceof Error)) return message;
  const because = cause.cause instanceof Error ? [`because of ${cause.cause.message}`] : [];
  const [first, ...stack] = (cause.stack ?? cause.message).split("\n");
  return [first, ...because, ...stack].join("\n");
}

function failureOf(error: Error): string {
  return "failureType" in error ? String(error.failureType) : "";
}
