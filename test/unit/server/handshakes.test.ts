import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Server, Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { handshakesInTurns } from "../../../src/server/handshakes.ts";

/** A server whose own listener notes the handshakes that begin. */
function lab(): { readonly connect: () => EventEmitter; readonly begun: readonly EventEmitter[] } {
  const server = new EventEmitter();
  const begun: EventEmitter[] = [];
  server.on("connection", (socket: EventEmitter) => begun.push(socket));
  handshakesInTurns(server as Server);
  const connect = (): EventEmitter => {
    const socket = new EventEmitter() as Socket;
    server.emit("connection", socket);
    return socket;
  };
  return { connect, begun };
}

test("in a turn of the event loop the handshakes of the oldest and the newest connection begin", async () => {
  const { connect, begun } = lab();
  const [a, b, c, d, e] = [connect(), connect(), connect(), connect(), connect()];
  await turn();
  assert.deepEqual(begun, [a, e]);
  const late = connect();
  await turn();
  assert.deepEqual(begun, [a, e, b, late]);
  await turn();
  await turn();
  assert.deepEqual(begun, [a, e, b, late, c, d]);
});

test("a client that is gone before its turn has none, and breaks nothing", async () => {
  const { connect, begun } = lab();
  const [first, second, third] = [connect(), connect(), connect()];
  third.emit("error", new Error("ECONNRESET"));
  Object.assign(third, { destroyed: true });
  await turn();
  await turn();
  assert.deepEqual(begun, [first, second]);
  assert.equal(second.listenerCount("error"), 0, "from here on Node.js listens");
});
