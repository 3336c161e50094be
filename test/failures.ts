/** The spec reporter of node without the thousands of tests that pass. */

import { Readable } from "node:stream";
import { spec, type TestEvent } from "node:test/reporters";

async function* withoutPassed(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of source) {
    const { type, data } = event;
    if (type === "test:pass" || type === "test:start") continue;
    if (type !== "test:diagnostic" || data.nesting === 0) yield event;
  }
}

// oxlint-disable-next-line import/no-default-export -- what node wants of a reporter
export default async function* failures(source: AsyncIterable<TestEvent>): AsyncGenerator {
  yield* Readable.from(withoutPassed(source)).pipe(new spec());
}
