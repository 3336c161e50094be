/**
 * Reads the body of a request. Fastify's own reader answers a body that is too large while the client still sends, and
 * the reset that follows can take the answer away from the client.
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
}

export interface BodyLimits {
  readonly bodyBytes: number;
  /**
   * How much more of a refused body is read and dropped before the answer: a client that still sends when the
   * connection closes sees a reset and not the answer.
   */
  readonly discardedBytes: number;
}

/** The limits of one body, and the room for all. */
export interface Bounds {
  readonly limits: BodyLimits;
  readonly room: BodyRoom;
}

/**
 * Calls `done` once. After anything but a whole body the connection cannot be used for another request. The caller that
 * answers the request releases its room.
 */
export function readBody(
  request: HookRequest,
  { limits: { bodyBytes: limit, discardedBytes }, room }: Bounds,
  done: (body: Body) => void,
): void {
  const { via, taken } = request;
  if (via?.broken === true && !request.complete) return done("incomplete");
  const discardLimit = limit + discardedBytes;
  if (Number(request.headers["content-length"] ?? 0) > discardLimit) return done("too-large");
  let chunks: Buffer[] = [];
  let size = 0;
  let refused: Exclude<Body, WholeBody> | undefined;
  let isDone = false;
  const finish = (body: Body): void => {
    if (isDone) return;
    isDone = true;
    done(body);
  };
  const drop = (): void => {
    chunks = [];
    room.leave(taken);
  };
  const giveUp = (): void => {
    if (isDone) return;
    refused ??= "incomplete"; // drops what still arrives
    drop();
    finish(refused);
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
    if (size > discardLimit) finish(refused);
  });
  request.once("end", () => {
    const body = refused ?? new WholeBody(chunks);
    chunks = []; // otherwise they stay in memory beside the whole body as long as the request
    finish(typeof body !== "string" && hasTooManyValues(body) ? "too-large" : body);
  });
  request.once("close", giveUp); // without a listener for errors, Node.js emits none when the client goes away
}
