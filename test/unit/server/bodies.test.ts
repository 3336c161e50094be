/** How much of the bodies of requests is kept. */

import assert from "node:assert/strict";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { Bodies, type RefusedBody, WholeBody } from "../../../src/server/bodies.ts";

const KIB = 1024;
/** Each body has this much beside the room for all. */
const SMALL = 64 * KIB;
const ROOM = 100 * KIB;

interface PendingRequest {
  readonly request: IncomingMessage;
  /** What the server does after the answer, or when the client is gone. */
  readonly close: () => void;
  readonly body: Promise<WholeBody | RefusedBody>;
}

function send(bodies: Bodies, address: string, chunks: readonly Buffer[]): PendingRequest {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  const request = new IncomingMessage(socket);
  const response = new ServerResponse(request);
  const { promise: body, resolve } = Promise.withResolvers<WholeBody | RefusedBody>();
  bodies.read(request, response, resolve);
  for (const chunk of chunks) request.push(chunk);
  return { request, close: () => response.emit("close"), body };
}

async function received(sending: PendingRequest): Promise<number | RefusedBody["reason"]> {
  sending.request.push(null);
  const body = await sending.body;
  return body instanceof WholeBody ? body.size : body.reason;
}

/** Takes that much of the room for all. */
const large = (bytes: number): Buffer => Buffer.alloc(SMALL + bytes);

test("a body over the limit is refused with its beginning, and gives back what it took", async () => {
  const bodies = new Bodies({ bodyBytes: 80 * KIB, bodiesBytes: 32 * KIB });
  const chunks = ["a", "b", "c"].map((letter) => Buffer.alloc(40 * KIB, letter));
  const sending = send(bodies, "a", chunks);
  sending.request.push(null);
  const body = await sending.body;
  assert.ok(!(body instanceof WholeBody));
  assert.deepEqual([body.reason, body.head.length], ["too-large", SMALL]);
  assert.match(body.head.toString(), /^a+b+$/);
  assert.equal(await received(send(bodies, "a", [large(16 * KIB)])), SMALL + 16 * KIB);
});

test("an address may take as much of the room as it leaves to others", async () => {
  const bodies = new Bodies({ bodyBytes: 1024 * KIB, bodiesBytes: ROOM });
  assert.equal(await received(send(bodies, "a", [large(40 * KIB)])), SMALL + 40 * KIB);
  assert.equal(await received(send(bodies, "a", [large(40 * KIB)])), "no-room");
  assert.equal(await received(send(bodies, "b", [large(30 * KIB)])), SMALL + 30 * KIB);
  assert.equal(await received(send(bodies, "c", [large(15 * KIB)])), SMALL + 15 * KIB);
});

test("a small body always has room", async () => {
  const bodies = new Bodies({ bodyBytes: 1024 * KIB, bodiesBytes: 0 });
  assert.equal(await received(send(bodies, "a", [large(1)])), "no-room");
  assert.equal(await received(send(bodies, "a", [large(0)])), SMALL);
});

test("what a body took is free again when it is answered, or when its client is gone", async () => {
  const bodies = new Bodies({ bodyBytes: 1024 * KIB, bodiesBytes: ROOM });
  for (let count = 0; count < 3; count += 1) {
    const answered = send(bodies, "a", [large(50 * KIB)]);
    assert.equal(await received(answered), SMALL + 50 * KIB);
    answered.close();
    const gone = send(bodies, "a", [large(50 * KIB)]);
    await nextTurn();
    assert.equal(await received(send(bodies, "a", [large(10 * KIB)])), "no-room");
    gone.close();
  }
});

test("large bodies are passed on one in a turn of the event loop, and small ones do not wait", async () => {
  const bodies = new Bodies({ bodyBytes: 1024 * KIB, bodiesBytes: 1024 * KIB });
  const order: string[] = [];
  const begin = (name: string, bytes: number): Promise<void> => {
    const sending = send(bodies, name, [Buffer.alloc(bytes)]);
    sending.request.push(null);
    return sending.body.then(() => void order.push(name));
  };
  const sent = [begin("first", SMALL + 1), begin("second", SMALL + 1), begin("small", 10)];
  while (order.length < 2) await nextTurn();
  assert.deepEqual(order, ["small", "first"]);
  await Promise.all(sent);
  assert.deepEqual(order, ["small", "first", "second"]);
});
