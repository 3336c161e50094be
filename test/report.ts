/**
 * What did not pass, and what took longest: one reporter, because each that `node --test` is told adds four listeners to
 * its stream, which warns of more than ten.
 */

import type { TestEvent } from "node:test/reporters";
import { failed } from "./failed.ts";
import failures from "./failures.ts";
import { slowest } from "./slowest.ts";
import { totals } from "./totals.ts";

async function* keeping(source: AsyncIterable<TestEvent>, kept: TestEvent[]): AsyncGenerator<TestEvent> {
  for await (const event of source) {
    if (["test:pass", "test:fail", "test:summary"].includes(event.type)) kept.push(event);
    yield event;
  }
}

// oxlint-disable-next-line import/no-default-export -- what node wants of a reporter
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator {
  const ended: TestEvent[] = [];
  yield* failures(keeping(source, ended));
  yield* slowest(ended);
  yield* failed(ended);
  yield* totals(ended);
}
