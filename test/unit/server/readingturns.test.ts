import assert from "node:assert/strict";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { BodyRoom } from "../../../src/server/bodyroom.ts";
import { readInTurns, TURN_BYTES } from "../../../src/server/readingturns.ts";
import { type Body, HookRequest, readBody } from "../../../src/server/requestbody.ts";
import { WholeBody } from "../../../src/server/wholebody.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

function reading(): { request: HookRequest; body: Promise<Body> } {
  const request = new HookRequest(new Socket());
  const room = new BodyRoom(4 * MIB, 0);
  const limits = { bodyBytes: 4 * MIB, discardedBytes: 0 };
  const body = new Promise<Body>((resolve) => readBody(request, { limits, room }, resolve));
  return { request, body };
}

test("one body continues in each turn of the event loop, the one that waits longest first", async () => {
  const bodies = Array.from({ length: 3 }, () => new Readable({ read: () => undefined }));
  bodies.forEach(readInTurns);
  const part = Buffer.alloc(TURN_BYTES);
  for (const body of bodies) for (let sent = 0; sent < 2; sent += 1) body.push(part);
  const left = (): number[] => bodies.map(({ readableLength }) => readableLength / TURN_BYTES);
  const seen: number[][] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    await nextTurn();
    seen.push(left());
  }
  assert.deepEqual(seen, [
    [1, 1, 1],
    [0, 1, 1],
    [0, 0, 1],
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ]);
});

test("of a large body that is there as a whole, a part is read in each turn, and all of it in the end", async () => {
  const { request, body } = reading();
  for (let at = 0; at < 2 * MIB; at += 16 * KIB) request.push(Buffer.alloc(16 * KIB));
  request.push(null);
  await nextTurn();
  assert.ok(request.taken.bytes > 0 && request.taken.bytes < 512 * KIB, `${request.taken.bytes} bytes`);
  const whole = await body;
  assert.equal(whole instanceof WholeBody && whole.size, 2 * MIB);
});

/** How many parts of another body are read in the turns after one that took `tookMs`, at once and after `restMs` more. */
async function partsAfter(
  t: TestContext,
  { tookMs, ends, restMs }: { readonly tookMs: number; readonly ends: boolean; readonly restMs: number },
): Promise<readonly number[]> {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [first, other] = [new Readable({ read: () => undefined }), new Readable({ read: () => undefined })];
  for (const body of [first, other]) readInTurns(body);
  const part = Buffer.alloc(TURN_BYTES);
  for (const body of [first, other]) body.push(part);
  while (other.readableLength > 0) await nextTurn();
  first.push(Buffer.alloc(1));
  if (ends) first.push(null);
  first.on("data", () => (now += tookMs));
  for (let parts = 0; parts < 3; parts += 1) other.push(part);
  const read: number[] = [];
  for (const ms of [0, restMs - 1, 1]) {
    t.mock.timers.tick(ms);
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    read.push(3 - other.readableLength / TURN_BYTES);
  }
  return read;
}

test("after a body that took long to answer, the others rest six times as long", async (t) => {
  assert.deepEqual(await partsAfter(t, { tookMs: 20, ends: true, restMs: 120 }), [0, 0, 3]);
});

test("they rest no longer than 200 ms", async (t) => {
  assert.deepEqual(await partsAfter(t, { tookMs: 5000, ends: true, restMs: 200 }), [0, 0, 3]);
});

test("they do not rest after one that was answered soon", async (t) => {
  assert.deepEqual(await partsAfter(t, { tookMs: 2, ends: true, restMs: 120 }), [3, 3, 3]);
});

test("they do not rest after a turn that took long for another reason", async (t) => {
  assert.deepEqual(await partsAfter(t, { tookMs: 20, ends: false, restMs: 120 }), [3, 3, 3]);
});
