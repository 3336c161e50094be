/**
 * Large bodies take turns: libuv reads up to 2 MiB of one connection in one turn of the event loop, and every other
 * client would wait until that is decrypted and looked at.
 */

import type { Readable } from "node:stream";
import { fairLoop, type Size, TURN_MS } from "./fair-loop.ts";

/** Bodies of most Clusters are smaller, and never wait. */
export const TURN_BYTES = 128 * 1024;

/** None is larger: by default etcd stores at most 1.5 MiB (--max-request-bytes). */
const HUGE_BYTES = 2 * 1024 * 1024;

export function sizeOf(bytes: number): Size {
  if (bytes <= TURN_BYTES) return "small";
  return bytes <= HUGE_BYTES ? "large" : "huge";
}

/** Makes a body wait, after each part of TURN_BYTES, until it is the turn of the large bodies of this address. */
export function readInTurns(body: Readable, address: string): void {
  let bytes = 0;
  body.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes < TURN_BYTES) return;
    bytes = 0;
    body.pause();
    fairLoop.run(address, () => body.resume(), { size: "large", laterMs: TURN_MS });
  });
}
