/**
 * Large bodies take turns: libuv reads up to 2 MiB of one connection in one turn of the event loop, and
 * every other client would wait until that is decrypted, parsed and answered.
 */

import type { Readable } from "node:stream";

/** Bodies of most Clusters are smaller, and never wait. */
export const TURN_BYTES = 128 * 1024;

const waiting = new Set<Readable>();

/** Makes a body wait, after each part of TURN_BYTES, until all that wait already have had their turn. */
export function readInTurns(body: Readable): void {
  let bytes = 0;
  body.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < TURN_BYTES) return;
    bytes = 0;
    body.pause();
    if (waiting.size === 0) setImmediate(next);
    waiting.add(body);
  });
}

/** One of them continues in each turn of the event loop. */
function next(): void {
  const [body] = waiting;
  if (body === undefined) return;
  waiting.delete(body);
  body.resume();
  if (waiting.size > 0) setImmediate(next);
}
