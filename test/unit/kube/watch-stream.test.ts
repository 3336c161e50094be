import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { watchEvents } from "../../../src/kube/watch-stream.ts";
import type { WatchEvent } from "../../../src/kube/watch-stream.ts";
import { runs } from "../../generated.ts";

async function* pieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const ends = [...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
  for (const [i, end] of ends.entries()) yield bytes.subarray(ends[i - 1] ?? 0, end);
}

async function collect(bytes: AsyncIterable<Uint8Array>): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of watchEvents("watch x", bytes)) events.push(event);
  return events;
}

const parse = (text: string, cuts: readonly number[] = []): Promise<WatchEvent[]> =>
  collect(pieces(Buffer.from(text), cuts));

const object = { metadata: { name: "wä€😀", resourceVersion: "7" }, spec: { text: "a\nb" } };
const EVENTS = [
  { type: "ADDED", object },
  { type: "BOOKMARK", object: { metadata: { resourceVersion: "8" } } },
  { type: "DELETED", object },
];
const TEXT = EVENTS.map((event) => `${JSON.stringify(event)}\n`).join("");

test("events are the same however the bytes are cut, also within a character", async () => {
  const whole = await parse(TEXT);
  assert.deepEqual(whole, [EVENTS[0], { type: "BOOKMARK", resourceVersion: "8" }, EVENTS[2]]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(Buffer.byteLength(TEXT))), async (cuts) => {
      assert.deepEqual(await parse(TEXT, cuts), whole);
    }),
    runs(100),
  );
});

test("a cut at each byte loses nothing", async () => {
  const length = Buffer.byteLength(TEXT);
  assert.equal((await parse(TEXT, [...Array(length).keys()])).length, 3);
});

test("half a line at the end and empty lines are no events", async () => {
  assert.equal((await parse(`\n${TEXT}\r\n\n{"type":"ADD`)).length, 3);
});

const unreadable: Record<string, string> = {
  "no JSON": "oops",
  "no object": '{"type":"ADDED"}',
  "an object without a name": '{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"1"}}}',
  "an object without a version": '{"type":"DELETED","object":{"metadata":{"name":"a"}}}',
  "a bookmark without a version": '{"type":"BOOKMARK","object":{"metadata":{}}}',
  "an unknown type": '{"type":"SYNC","object":{}}',
  null: "null",
};
for (const [name, line] of Object.entries(unreadable)) {
  test(`a line with ${name} is an error event, and the next line is read`, async () => {
    const [first, ...rest] = await parse(`${line}\n${TEXT}`);
    assert.ok(first?.type === "ERROR");
    assert.equal(first.error.reason, "InvalidResponse");
    assert.equal(rest.length, 3);
  });
}

test("an ERROR event carries the server's Status", async () => {
  const status = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
  const [event] = await parse(`${JSON.stringify({ type: "ERROR", object: status })}\n`);
  assert.ok(event?.type === "ERROR");
  assert.deepEqual([event.error.code, event.error.message], [410, "watch x: expired: too old"]);
});

test("a line without an end is given up", async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(1024 * 1024, "x");
  }
  const reading = collect(endless());
  await assert.rejects(
    reading,
    (error: unknown) => error instanceof KubeError && error.reason === "ResponseTooLarge",
  );
});
