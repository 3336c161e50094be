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

test("two handshakes begin in a turn of the event loop, the oldest connections first", async () => {
  const { connect, begun } = lab();
  const sockets = Array.from({ length: 5 }, connect);
  for (const count of [2, 4, 5, 5]) {
    await turn();
    assert.deepEqual(begun, sockets.slice(0, count));
  }
  const late = connect();
  await turn();
  assert.equal(begun.at(-1), late);
});

test("a client that is gone before its turn has none, and breaks nothing", async () => {
  const { connect, begun } = lab();
  const [first, second, third] = [connect(), connect(), connect()];
  second.emit("error", new Error("ECONNRESET"));
  second.emit("close");
  await turn();
  assert.deepEqual(begun, [first, third]);
  assert.equal(third.listenerCount("error"), 0, "from here on Node.js listens");
});
