/** Bodies of connections that break, and what they have taken of the room for all. */

import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { BodyRoom, type Taken } from "../../../src/extension/body-room.ts";
import { MAX_VALUES } from "../../../src/extension/body-values.ts";
import { Connection } from "../../../src/extension/connections.ts";
import { type Body, HookRequest, parsable, readBody } from "../../../src/extension/request-body.ts";
import { WholeBody } from "../../../src/extension/whole-body.ts";
import { chunkOf } from "./chunk.ts";

const LIMIT = 1000;
const LIMITS = { bodyBytes: LIMIT, discardedBytes: LIMIT };

function requestVia(via: Connection): HookRequest {
  const request = new HookRequest(via.accepted);
  request.via = via;
  return request;
}

async function read(request: HookRequest, room: BodyRoom): Promise<Body> {
  return await new Promise((resolve) => readBody(request, { limits: LIMITS, room }, resolve));
}

test("what comes after a body was given up takes no room", async () => {
  const room = new BodyRoom(LIMIT, 0);
  const via = new Connection(new Socket());
  const request = requestVia(via);
  const body = read(request, room);
  request.push(Buffer.alloc(600));
  await nextTurn();
  assert.equal(room.take({ bytes: 0 }, LIMIT), false);
  via.onBreak?.();
  assert.equal(await body, "incomplete");
  request.push(Buffer.alloc(300));
  await nextTurn();
  assert.equal(room.take({ bytes: 0 }, LIMIT), true);
});

test("what is refused gives its memory back, and its beginning is kept", async () => {
  const request = requestVia(new Connection(new Socket()));
  const body = read(request, new BodyRoom(LIMIT, 0));
  const chunks = [chunkOf("a".repeat(600)), chunkOf("b".repeat(600)), chunkOf("c".repeat(600))];
  for (const chunk of chunks) request.push(chunk);
  request.push(null);
  assert.equal(await body, "too-large");
  assert.deepEqual(
    chunks.map(({ length }) => length),
    [0, 0, 0],
  );
  assert.equal(request.head.toString(), "a".repeat(600) + "b".repeat(600));
});

for (const [name, headers] of Object.entries({
  announced: { "content-length": String(1024 * 1024) },
  "not announced": {},
}))
  test(
    `a large body with too many values is dropped while it arrives: ${name}`,
    { timeout: 10_000 },
    async () => {
      const room = new BodyRoom(1024 * 1024, 0);
      const limits = { bodyBytes: 4 * 1024 * 1024, discardedBytes: 0 };
      const request = requestVia(new Connection(new Socket()));
      Object.assign(request.headers, headers);
      const body = new Promise<Body>((resolve) => readBody(request, { limits, room }, resolve));
      for (let chunks = 0; chunks < 10; chunks += 1) request.push(chunkOf("[,".repeat(32 * 1024)));
      for (const want of [true, false]) while (request.taken.bytes > 0 !== want) await nextTurn();
      request.push(null);
      assert.equal(await body, "too-large");
      assert.match(request.head.toString(), /^\[,/);
    },
  );

test("what has too many values to be parsed gives its memory back, and its beginning is kept", () => {
  const request = requestVia(new Connection(new Socket()));
  const chunk = chunkOf(`{"cluster":${"[".repeat(MAX_VALUES + 1)}`);
  assert.equal(parsable(request, new WholeBody([chunk])), "too-large");
  assert.equal(chunk.length, 0);
  assert.equal(request.head.toString("latin1", 0, 12), '{"cluster":[');
});

test("a whole body keeps its room while its request closes", async () => {
  const room = new BodyRoom(LIMIT, 0);
  const request = requestVia(new Connection(new Socket()));
  const body = read(request, room);
  request.push(Buffer.alloc(600));
  request.push(null);
  assert.notEqual(await body, "incomplete");
  request.destroy();
  await nextTurn();
  assert.equal(room.take({ bytes: 0 }, LIMIT), false);
});

test("a request that is complete takes nothing from the one behind it, which is still being read", async () => {
  const room = new BodyRoom(LIMIT, 0);
  const via = new Connection(new Socket());
  const [first, second] = [requestVia(via), requestVia(via)];
  const behind = read(second, room);
  first.complete = true;
  first.push(null);
  await read(first, room);
  via.onBreak?.();
  assert.equal(await Promise.race([behind, nextTurn("still read")]), "incomplete");
});

test("a connection that waits for its next request keeps nothing of the last one", async () => {
  const via = new Connection(new Socket());
  const request = requestVia(via);
  const body = read(request, new BodyRoom(LIMIT, 0));
  assert.notEqual(via.onBreak, undefined);
  request.push(null);
  await body;
  assert.equal(via.onBreak, undefined);
});

test("a share has its first body whole, further ones only while they leave as much, and all again once it has left", () => {
  const room = new BodyRoom(LIMIT, 0);
  const take = (name: string, bytes: number): { taken: Taken; isTaken: boolean } => {
    const taken: Taken = { bytes: 0 };
    room.assign(taken, name);
    return { taken, isTaken: room.take(taken, bytes) };
  };
  const [first, second, third] = [take("a", 400), take("a", 100), take("a", 100)];
  assert.deepEqual([first.isTaken, second.isTaken, third.isTaken], [true, true, false]);
  const other = take("b", 500);
  assert.equal(other.isTaken, true);
  for (const { taken } of [first, second, third, other]) room.leave(taken);
  assert.equal(take("a", LIMIT).isTaken, true);
});
