import assert from "node:assert/strict";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { BodyRoom } from "../../../src/extension/body-room.ts";
import { readInTurns, TURN_BYTES } from "../../../src/extension/reading-turns.ts";
import { type Body, HookRequest, readBody } from "../../../src/extension/request-body.ts";
import { WholeBody } from "../../../src/extension/whole-body.ts";

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
  for (const body of bodies) readInTurns(body, "");
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
