import assert from "node:assert/strict";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { BodyRoom } from "../../../src/server/bodyroom.ts";
import { Connection } from "../../../src/server/connections.ts";
import { awaitTurn } from "../../../src/server/readingturns.ts";
import { type Body, HookRequest, readBody } from "../../../src/server/requestbody.ts";
import { WholeBody } from "../../../src/server/wholebody.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

function reading(waiting: number): {
  via: Connection;
  request: HookRequest;
  body: Promise<Body>;
} {
  const via = new Connection(new Socket());
  via.waiting = waiting;
  const request = new HookRequest(via.accepted);
  request.via = via;
  const room = new BodyRoom(4 * MIB, 0);
  const limits = { bodyBytes: 4 * MIB, discardedBytes: 0 };
  const body = new Promise<Body>((resolve) => readBody(request, { limits, room }, resolve));
  return { via, request, body };
}

test("one connection continues in each turn of the event loop, the one that waits longest first", async () => {
  const streams = Array.from({ length: 3 }, () => new Readable({ read: () => undefined }).resume());
  for (const stream of [...streams, ...streams]) awaitTurn(stream);
  const paused = (): boolean[] => streams.map((stream) => stream.isPaused());
  assert.deepEqual(paused(), [true, true, true]);
  await nextTurn();
  assert.deepEqual(paused(), [false, true, true]);
  await nextTurn();
  assert.deepEqual(paused(), [false, false, true]);
  awaitTurn(streams[0] ?? assert.fail());
  await nextTurn();
  assert.deepEqual(paused(), [true, false, false]);
  await nextTurn();
  assert.deepEqual(paused(), [false, false, false]);
});

test("of a large body that is there as a whole, a part is read in each turn, and all of it in the end", async () => {
  const { request, body } = reading(1);
  for (let at = 0; at < 2 * MIB; at += 16 * KIB) request.push(Buffer.alloc(16 * KIB));
  request.push(null);
  await nextTurn();
  assert.ok(request.taken.bytes > 0 && request.taken.bytes < 512 * KIB, `${request.taken.bytes} bytes`);
  const whole = await body;
  assert.equal(whole instanceof WholeBody && whole.size, 2 * MIB);
});

test("a connection with several calls under way is not read on before its turn; with one, it is", async () => {
  for (const [waiting, isPaused] of [
    [2, true],
    [1, false],
  ] as const) {
    const { via, request, body } = reading(waiting);
    request.push(null);
    await body;
    assert.equal(via.accepted.isPaused(), isPaused);
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    assert.equal(via.accepted.isPaused(), false);
  }
});
