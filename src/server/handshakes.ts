/**
 * TLS handshakes take turns: each takes a millisecond of CPU, and a thousand connections that are opened at once would keep
 * every other client waiting until all of them have a key.
 */

import type { Server, Socket } from "node:net";

/** How many begin in a turn of the event loop, which answers other clients in between. */
const IN_A_TURN = 2;

/** To be called before others listen for connections: what listens already is Node.js, which begins the handshake. */
export function handshakesInTurns(server: Server): void {
  const begins = server.listeners("connection");
  server.removeAllListeners("connection");
  const waiting = new Set<Socket>();
  const next = (): void => {
    for (const socket of waiting.values().take(IN_A_TURN)) {
      waiting.delete(socket);
      socket.off("error", goes);
      for (const begin of begins) Reflect.apply(begin, server, [socket]);
    }
    if (waiting.size > 0) setImmediate(next);
  };
  server.on("connection", (socket: Socket) => {
    if (waiting.size === 0) setImmediate(next);
    waiting.add(socket);
    socket.on("error", goes);
    socket.once("close", () => waiting.delete(socket));
  });
}

/** The client is gone before its turn. */
function goes(): void {
  // Node.js closes the socket.
}
