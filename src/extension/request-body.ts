/** Reads the body of a request, within limits. */

import { IncomingMessage } from "node:http";

import type { BodyRoom, Taken } from "./body-room.ts";
import { COUNTED_BYTES, hasTooManyValues, ValueCounter } from "./body-values.ts";
import type { Connection } from "./connections.ts";
import { fairLoop } from "./fair-loop.ts";
import { readInTurns, sizeOf, TURN_BYTES } from "./reading-turns.ts";
import { freeAll, WholeBody } from "./whole-body.ts";

/**
 * "too-large": in bytes, or in values (body-values.ts). "no-room": other bodies take all of it (body-room.ts). "unread":
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

  /** Of the client, also when the connection has ended. */
  get address(): string {
    return this.via?.accepted.remoteAddress ?? "";
  }

  /** Bytes of the body; NaN: not told. */
  get announced(): number {
    return Number(this.headers["content-length"] ?? NaN);
  }

  /** Calls `done` when the address of the client has its turn, unless the client is gone by then. */
  inTurn(body: Body, done: (body: Body) => void, laterMs = 0): void {
    this.#body = body;
    const answer = (): void => {
      this.#body = undefined;
      if (!this.#isGone) done(body);
    };
    fairLoop.run(this.address, answer, {
      laterMs,
      size: typeof body === "string" ? "small" : sizeOf(body.size),
    });
  }

  /** The answer has been sent, or the client is gone: a body that waits must not take what is not its room any more. */
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
  /** What the answer costs after `done` has returned; default: nothing. */
  readonly laterMs?: number;
  readonly ignores?: boolean;
  /** Names the share of the room that a large body takes; `head` is its beginning. Default: that of the client's address. */
  readonly shareOf?: ((head: Buffer) => string) | undefined;
  readonly limits: BodyLimits;
  readonly room: BodyRoom;
}

/**
 * Calls `done` once, unless the client is gone before its turn. After anything but a whole body the connection cannot
 * be used for another request. The caller that answers the request releases its room.
 */
export function readBody(request: HookRequest, bounds: Bounds, done: (body: Body) => void): void {
  const { bodyBytes, discardedBytes } = bounds.limits;
  if (request.via?.broken === true && !request.complete) return request.inTurn("incomplete", done);
  const { announced } = request;
  if (announced > bodyBytes + discardedBytes) return request.inTurn("too-large", done);
  const reader = new BodyReader(request, bounds, done);
  if (!(announced <= TURN_BYTES)) readInTurns(request, request.address);
  request.on("data", (chunk: Buffer) => reader.take(chunk));
  request.on("end", () => reader.end());
  request.on("close", () => reader.giveUp()); // without a listener for errors, Node.js emits none when the client goes away
}

class BodyReader {
  readonly #request: HookRequest;
  readonly #bounds: Bounds;
  readonly #limit: number;
  readonly #done: (body: Body) => void;
  /** Only of a body that may be large. */
  readonly #values: ValueCounter | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  #refused: Exclude<Body, WholeBody> | undefined;
  #isDone = false;

  constructor(request: HookRequest, bounds: Bounds, done: (body: Body) => void) {
    const { announced, via } = request;
    this.#request = request;
    this.#bounds = bounds;
    this.#limit = limitOf(announced, bounds.limits.bodyBytes);
    this.#done = done;
    if (bounds.ignores === true) this.#refused = "unread";
    if (!(announced <= COUNTED_BYTES)) this.#values = new ValueCounter();
    if (via === undefined) return;
    via.reading += 1;
    if (!request.complete) via.onBreak = this.#onBreak;
  }

  take(chunk: Buffer): void {
    const { limits } = this.#bounds;
    this.#size += chunk.length;
    if (this.#refused === undefined) this.#refused = this.#refusalOf(chunk);
    else if (this.#refused === "unread" && this.#size > this.#limit) this.#refused = "too-large";
    this.#chunks.push(chunk);
    if (this.#refused === undefined) return;
    this.#drop();
    if (this.#size > limits.bodyBytes + limits.discardedBytes) this.#finish(this.#refused);
  }

  end(): void {
    const body = this.#refused ?? new WholeBody(this.#chunks);
    this.#chunks = []; // otherwise they stay in memory beside the whole body as long as the request
    this.#finish(body);
  }

  giveUp(): void {
    if (this.#isDone) return;
    if (this.#refused === undefined || this.#refused === "unread") this.#refused = "incomplete"; // drops what still arrives
    this.#drop();
    this.#finish(this.#refused);
  }

  readonly #onBreak = (): void => {
    if (!this.#request.complete) this.giveUp();
  };

  #refusalOf(chunk: Buffer): "too-large" | "no-room" | undefined {
    const { room, shareOf } = this.#bounds;
    const { taken, address } = this.#request;
    if (taken.share === undefined && this.#size > HEAD_BYTES)
      room.assign(taken, shareOf?.(headOf([...this.#chunks, chunk])) ?? address);
    const isDense = this.#values?.isOver(chunk) === true && this.#size > COUNTED_BYTES;
    if (this.#size > this.#limit || isDense) return "too-large";
    return room.take(taken, chunk.length) ? undefined : "no-room";
  }

  #finish(body: Body): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const { via } = this.#request;
    if (via !== undefined) via.reading -= 1;
    if (via?.onBreak === this.#onBreak) via.onBreak = undefined; // otherwise an idle connection keeps its last request
    this.#request.inTurn(body, this.#done, this.#bounds.laterMs);
  }

  #drop(): void {
    if (this.#request.head === NOTHING) this.#request.head = headOf(this.#chunks);
    freeAll(this.#chunks);
    this.#chunks = [];
    this.#bounds.room.leave(this.#request.taken);
  }
}

/** A body that announces too much is kept only as far as it may show what it is about. */
function limitOf(announced: number, bodyBytes: number): number {
  return announced > bodyBytes ? Math.min(HEAD_BYTES, bodyBytes) : bodyBytes;
}

/** The body, or "too-large" where parsing it would take too much. */
export function parsable(request: HookRequest, body: Body): Body {
  if (typeof body === "string" || body.size > COUNTED_BYTES || !hasTooManyValues(body)) return body;
  request.head = headOf(body.chunks);
  body.free();
  return "too-large";
}

/** A copy: the chunks take room. */
function headOf(chunks: readonly Buffer[]): Buffer {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat(chunks, Math.min(size, HEAD_BYTES));
}
