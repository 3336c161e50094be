/** Reads the body of a request, within limits. */

import { IncomingMessage } from "node:http";

import type { BodyRoom, Taken } from "./bodyroom.ts";
import { hasTooManyValues } from "./bodyvalues.ts";
import type { Connection } from "./connections.ts";
import { fairLoop } from "./fairloop.ts";
import { readInTurns, TURN_BYTES } from "./readingturns.ts";
import { freeAll, WholeBody } from "./wholebody.ts";

/**
 * "too-large": in bytes, or in values (bodyvalues.ts). "no-room": other bodies take all of it (bodyroom.ts). "unread":
 * the answer does not depend on the body.
 */
export type Body = WholeBody | "too-large" | "no-room" | "incomplete" | "unread";

const NOTHING = Buffer.alloc(0);
/** At most what each request may take in addition to the room that all share. */
const HEAD_BYTES = 64 * 1024;

/**
 * Carries what the server keeps of a request. A WeakMap would keep it much longer than the request: V8 treats the
 * values of a WeakMap as alive in each young collection, and what survives two of these waits for a full collection.
 */
export class HookRequest extends IncomingMessage {
  via: Connection | undefined;
  /** The beginning of a refused body, which can show what the request was about. */
  head: Buffer = NOTHING;
  readonly taken: Taken = { bytes: 0 };
  /** Read, and waiting for its turn. */
  #body: Body | undefined;
  #isGone = false;

  /** Calls `done` when the address of the client has its turn, unless the client is gone by then. */
  inTurn(body: Body, done: (body: Body) => void): void {
    this.#body = body;
    fairLoop.run(this.via?.accepted.remoteAddress ?? "", () => {
      this.#body = undefined;
      if (!this.#isGone) done(body);
    });
  }

  /** Called when the answer has been sent, or the client is gone: a body that waits must not take what is not its room any more. */
  leave(): void {
    this.#isGone = true;
    if (typeof this.#body === "object") this.#body.free();
  }
}

export interface BodyLimits {
  readonly bodyBytes: number;
  /**
   * How much more of a refused body is read and dropped before the answer: a client that still sends when the
   * connection closes sees a reset and not the answer.
   */
  readonly discardedBytes: number;
}

/** The limits of one body, and the room for all. `ignores`: nothing of it is kept. */
export interface Bounds {
  readonly ignores?: boolean;
  /** Names the share of the room that a large body takes; `head` is its beginning. */
  readonly shareOf?: ((head: Buffer) => string) | undefined;
  readonly limits: BodyLimits;
  readonly room: BodyRoom;
}

/**
 * Calls `done` once, unless the client is gone before its turn. After anything but a whole body the connection cannot be used for another request. The caller that
 * answers the request releases its room.
 */
export function readBody(
  request: HookRequest,
  { limits: { bodyBytes, discardedBytes }, room, ignores = false, shareOf }: Bounds,
  done: (body: Body) => void,
): void {
  const { via, taken } = request;
  if (via?.broken === true && !request.complete) return done("incomplete");
  const discardLimit = bodyBytes + discardedBytes;
  const announced = Number(request.headers["content-length"] ?? NaN);
  if (announced > discardLimit) return done("too-large");
  const limit = limitOf(announced, bodyBytes);
  let chunks: Buffer[] = [];
  let size = 0;
  let refused: Exclude<Body, WholeBody> | undefined = ignores ? "unread" : undefined;
  let isDone = false;
  if (via !== undefined) via.reading += 1;
  const finish = (body: Body): void => {
    if (isDone) return;
    isDone = true;
    if (via !== undefined) via.reading -= 1;
    if (via?.onBreak === onBreak) via.onBreak = undefined; // otherwise an idle connection keeps its last request
    request.inTurn(body, done);
  };
  const drop = (): void => {
    if (request.head === NOTHING) request.head = headOf(chunks);
    freeAll(chunks);
    chunks = [];
    room.leave(taken);
  };
  const giveUp = (): void => {
    if (isDone) return;
    if (refused === undefined || refused === "unread") refused = "incomplete"; // drops what still arrives
    drop();
    finish(refused);
  };
  const onBreak = (): void => {
    if (!request.complete) giveUp();
  };
  if (via !== undefined && !request.complete) via.onBreak = onBreak;
  if (!(announced <= TURN_BYTES)) readInTurns(request);
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (refused === undefined && size > HEAD_BYTES && shareOf !== undefined && taken.share === undefined)
      room.assign(taken, shareOf(headOf([...chunks, chunk])));
    if (size > limit && (refused === undefined || refused === "unread")) refused = "too-large";
    else if (refused === undefined && !room.take(taken, chunk.length)) refused = "no-room";
    chunks.push(chunk);
    if (refused === undefined) return;
    drop();
    if (size > discardLimit) finish(refused);
  });
  request.on("end", () => {
    const body = refused ?? new WholeBody(chunks);
    chunks = []; // otherwise they stay in memory beside the whole body as long as the request
    finish(body);
  });
  request.on("close", giveUp); // without a listener for errors, Node.js emits none when the client goes away
}

/** A body that announces too much is kept only as far as it may show what it is about. */
function limitOf(announced: number, bodyBytes: number): number {
  return announced > bodyBytes ? Math.min(HEAD_BYTES, bodyBytes) : bodyBytes;
}

/** The body, or "too-large" where parsing it would take too much. */
export function parsable(request: HookRequest, body: Body): Body {
  if (typeof body === "string" || !hasTooManyValues(body)) return body;
  request.head = headOf([body.view()]);
  body.free();
  return "too-large";
}

/** A copy: the chunks take room. */
function headOf(chunks: readonly Buffer[]): Buffer {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat(chunks, Math.min(size, HEAD_BYTES));
}
