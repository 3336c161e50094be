/**
 * Reads the body of a hook request. Not Fastify's own reader: that answers a body that is too large while the client
 * still sends, and the reset that follows can take the answer away from the client.
 */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

import type { BodyRoom } from "./bodyroom.ts";
import { hasTooManyValues } from "./bodyvalues.ts";
import { WholeBody } from "./wholebody.ts";

/** "too-large": in bytes, or in values (bodyvalues.ts). "no-room": others take it all (bodyroom.ts). */
export type Body = WholeBody | "too-large" | "no-room" | "incomplete";

/** How much of a body that is too large is read and dropped, in multiples of the limit, to end the exchange in order. */
const DISCARD_FACTOR = 2;

const reading = new WeakMap<Duplex, () => void>();
/** Connections on which nothing more can be read. */
const broken = new WeakSet<Duplex>();

/**
 * Never rejects. After anything but a whole body the connection cannot be used for another request. Whoever answers the
 * request gives its room back.
 */
export async function readBody(request: IncomingMessage, limit: number, room: BodyRoom): Promise<Body> {
  if (isBroken(request.socket) && !request.complete) return "incomplete";
  const discardLimit = limit * DISCARD_FACTOR;
  if (Number(request.headers["content-length"] ?? 0) > discardLimit) return "too-large";
  const { promise, resolve } = Promise.withResolvers<Body>();
  let chunks: Buffer[] = [];
  let size = 0;
  let refused: "too-large" | "no-room" | undefined;
  const incomplete = (): void => resolve(refused ?? "incomplete");
  reading.set(request.socket, () => {
    if (!request.complete) incomplete();
  });
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) refused ??= "too-large";
    else if (refused === undefined && !room.take(request, chunk.length)) refused = "no-room";
    if (refused === undefined) {
      chunks.push(chunk);
      return;
    }
    chunks = [];
    room.leave(request);
    if (size > discardLimit) resolve(refused);
  });
  request.once("end", () => {
    resolve(refused ?? new WholeBody(chunks));
  });
  request.once("error", incomplete);
  request.once("close", incomplete);
  const body = await promise;
  reading.delete(request.socket);
  request.removeAllListeners("data");
  request.on("error", () => undefined); // the client goes away while its answer is made
  return typeof body !== "string" && hasTooManyValues(body) ? "too-large" : body;
}

/** To be called when a connection stops to be HTTP or takes too long; a body that is being read there is incomplete. */
export function breakOff(socket: Duplex): void {
  broken.add(socket);
  reading.get(socket)?.();
}

/** Then an answer on it must be the last one. */
export function isBroken(socket: Duplex): boolean {
  return broken.has(socket);
}
