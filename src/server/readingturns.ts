/**
 * Large bodies take turns: libuv reads up to 2 MiB of one connection in one turn of the event loop, and
 * every other client would wait until that is decrypted, parsed and answered.
 */

import type { Readable } from "node:stream";

/** Bodies of most Clusters are smaller, and never wait. */
export const TURN_BYTES = 128 * 1024;

/** Parsing takes longer only from about 1 MiB on, which etcd hardly stores: the calls of no real fleet have to rest. */
const LONG_MS = 8;
/** Of its own length after a long turn: large bodies that are parsed take at most a seventh of the time. */
const RESTS = 6;
const MAX_REST_MS = 200;

const waiting = new Set<Readable>();
/** Whether next() will be called. */
let isTurning = false;
let hasEnded = false;

/** Makes a body wait, after each part of TURN_BYTES, until all that wait already have had their turn. */
export function readInTurns(body: Readable): void {
  let bytes = 0;
  body.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < TURN_BYTES) return;
    bytes = 0;
    body.pause();
    waiting.add(body);
    if (!isTurning) setImmediate(next);
    isTurning = true;
  });
  body.once("end", () => (hasEnded = true));
}

/**
 * One of them continues in each turn of the event loop. When one has ended, it is also parsed and answered in that turn; then all
 * of them rest, because a new connection needs several turns until it has its answer.
 */
function next(): void {
  const [body] = waiting;
  isTurning = body !== undefined;
  if (body === undefined) return;
  waiting.delete(body);
  hasEnded = false;
  const begun = performance.now();
  body.resume();
  setImmediate(() => {
    const tookMs = performance.now() - begun;
    if (hasEnded && tookMs > LONG_MS) setTimeout(next, Math.min(RESTS * tookMs, MAX_REST_MS));
    else next();
  });
}
