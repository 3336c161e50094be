/**
 * Connections that send much take turns: libuv reads up to 2 MiB of one connection in one turn of the event loop, and
 * every other client would wait until that is decrypted, parsed and answered.
 */

import type { Readable } from "node:stream";

/** Bodies of most Clusters are smaller, and never wait. */
export const TURN_BYTES = 128 * 1024;

const waiting = new Set<Readable>();

/** Stops reading until all that wait already have had their turn; one of them continues in each turn of the event loop. */
export function awaitTurn(stream: Readable): void {
  stream.pause();
  if (waiting.size === 0) setImmediate(next);
  waiting.add(stream);
}

/** Makes a body wait for its turn after each part of TURN_BYTES. */
export function readInTurns(body: Readable): void {
  let bytes = 0;
  body.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < TURN_BYTES) return;
    bytes = 0;
    awaitTurn(body);
  });
}

function next(): void {
  const [stream] = waiting;
  if (stream === undefined) return;
  waiting.delete(stream);
  stream.resume();
  if (waiting.size > 0) setImmediate(next);
}
