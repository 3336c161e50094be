/**
 * Reads the body of a hook request. Fastify's own reader answers a body that is too large while the client still sends,
 * and the reset that follows can take the answer away from the client.
 */

import { IncomingMessage } from "node:http";

import type { BodyRoom, Taken } from "./bodyroom.ts";
import { hasTooManyValues } from "./bodyvalues.ts";
import type { Connection } from "./connections.ts";
import { WholeBody } from "./wholebody.ts";

/** "too-large": in bytes, or in values (bodyvalues.ts). "no-room": other bodies take all of it (bodyroom.ts). */
export type Body = WholeBody | "too-large" | "no-room" | "incomplete";

/**
 * Carries what the server keeps of a request. A WeakMap would keep it much longer than the request: V8 treats the
 * values of a WeakMap as alive in each young collection, and what survives two of these waits for a full collection.
 */
export class HookRequest extends IncomingMessage {
  via: Connection | undefined;
  readonly taken: Taken = { bytes: 0 };
  body: Promise<Body> | undefined;
}

export interface BodyLimits {
  readonly bodyBytes: number;
  /**
   * How much more of a refused body is read and dropped before the answer: a client that still sends when the
   * connection closes sees a reset and not the answer.
   */
  readonly discardedBytes: number;
}

/**
 * Never rejects. After anything but a whole body the connection cannot be used for another request. The caller that
 * answers the request releases its room.
 */
export async function readBody(
  request: HookRequest,
  { bodyBytes: limit, discardedBytes }: BodyLimits,
  room: BodyRoom,
): Promise<Body> {
  const { via, taken } = request;
  if (via?.broken === true && !request.complete) return "incomplete";
  const discardLimit = limit + discardedBytes;
  if (Number(request.headers["content-length"] ?? 0) > discardLimit) return "too-large";
  const { promise, resolve } = Promise.withResolvers<Body>();
  let chunks: Buffer[] = [];
  let size = 0;
  let refused: Exclude<Body, WholeBody> | undefined;
  let ended = false;
  const drop = (): void => {
    chunks = [];
    room.leave(taken);
  };
  const giveUp = (): void => {
    if (ended) return;
    refused ??= "incomplete"; // drops what still arrives
    drop();
    resolve(refused);
  };
  // Of pipelined requests only one is still being read.
  if (via !== undefined && !request.complete) {
    via.onBreak = () => {
      if (!request.complete) giveUp();
    };
  }
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) refused ??= "too-large";
    else if (refused === undefined && !room.take(taken, chunk.length)) refused = "no-room";
    if (refused === undefined) {
      chunks.push(chunk);
      return;
    }
    drop();
    if (size > discardLimit) resolve(refused);
  });
  request.once("end", () => {
    ended = true;
    const body = refused ?? new WholeBody(chunks);
    chunks = []; // otherwise they stay in memory beside the whole body as long as the request
    resolve(typeof body !== "string" && hasTooManyValues(body) ? "too-large" : body);
  });
  request.once("close", giveUp); // without a listener for errors, Node.js emits none when the client goes away
  return await promise;
}
