/**
 * TLS handshakes take turns: each takes a millisecond of CPU, and a thousand connections that are opened at once would keep
 * every other client waiting until all of them have a key.
 */

import type { Server, Socket } from "node:net";

/** To be called before others listen for connections: what listens already is Node.js, which begins the handshake. */
export function handshakesInTurns(server: Server): void {
  const begins = server.listeners("connection");
  server.removeAllListeners("connection");
  const waiting: Socket[] = [];
  const begin = (socket: Socket | undefined): void => {
    if (socket === undefined || socket.destroyed) return;
    socket.off("error", goes);
    for (const listener of begins) Reflect.apply(listener, server, [socket]);
  };
  /** The oldest must not wait for ever, nor the newest, which may be another client's, until all the others have begun. */
  const next = (): void => {
    begin(waiting.shift());
    begin(waiting.pop());
    if (waiting.length > 0) setImmediate(next);
  };
  server.on("connection", (socket: Socket) => {
    socket.on("error", goes);
    if (waiting.push(socket) === 1) setImmediate(next);
  });
}

/** The client is gone before its turn. */
function goes(): void {
  // Node.js closes the socket.
}
