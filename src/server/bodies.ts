/** Reads bodies within a limit for each body and a limit for all bodies together. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { freeAll, WholeBody } from "./whole-body.ts";

export interface BodyLimits {
  readonly bodyBytes: number;
  /** For all bodies that are read or answered at the same time, in addition to the first SMALL_BYTES of each. */
  readonly bodiesBytes: number;
}

/** A body that was not kept. */
export interface RefusedBody {
  readonly reason: "too-large" | "no-room";
  /** Its first bytes, which can show what the request was about. */
  readonly head: Buffer;
}

/** More than the bodies of most Clusters take, so that large bodies cannot keep these out. */
const SMALL_BYTES = 64 * 1024;

export class Bodies {
  readonly #limits: BodyLimits;
  readonly #byAddress = new Map<string, number>();
  #total = 0;
  /** Large bodies that have arrived. */
  readonly #whole: (() => void)[] = [];

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /**
   * Calls `done` when all of the body has arrived, and never if the client is gone by then. Reads a refused body to its end,
   * too, because a client that is still sending when the connection closes may see a reset instead of the answer. Frees the
   * room of the body when `response` closes.
   */
  read(
    request: IncomingMessage,
    response: ServerResponse,
    done: (body: WholeBody | RefusedBody) => void,
  ): void {
    const { remoteAddress: address = "" } = request.socket;
    let chunks: Buffer[] = [];
    let [size, taken] = [0, 0];
    let refused: RefusedBody | undefined;
    const leave = (): void => {
      this.#count(address, -taken);
      taken = 0;
    };
    request.on("data", (chunk: Buffer) => {
      if (response.destroyed) return;
      chunks.push(chunk);
      size += chunk.length;
      const more = Math.max(0, size - SMALL_BYTES) - taken;
      const reason = refused?.reason ?? this.#refusal(address, size, more);
      if (reason === undefined) {
        this.#count(address, more);
        taken += more;
        return;
      }
      refused ??= { reason, head: headOf(chunks) };
      freeAll(chunks);
      chunks = [];
      leave();
    });
    request.on("end", () => {
      const body = refused ?? new WholeBody(chunks);
      chunks = []; // the request may outlive the body
      if (size <= SMALL_BYTES) return done(body);
      this.#whole.push(() => {
        if (!response.destroyed) done(body);
        else if (body instanceof WholeBody) body.free();
      });
      if (this.#whole.length === 1) setImmediate(this.#next);
    });
    response.on("close", leave);
  }

  /**
   * Passes on one large body in each turn of the event loop. Parsing one can take 20 ms, and a new connection needs several
   * turns until it has its answer.
   */
  readonly #next = (): void => {
    this.#whole[0]?.();
    this.#whole.shift();
    if (this.#whole.length > 0) setImmediate(this.#next);
  };

  /** An address may take as much as it leaves to the others, so that there is always room for another address. */
  #refusal(address: string, size: number, more: number): RefusedBody["reason"] | undefined {
    const { bodyBytes, bodiesBytes } = this.#limits;
    if (size > bodyBytes) return "too-large";
    const own = (this.#byAddress.get(address) ?? 0) + more;
    return more > 0 && own > bodiesBytes - this.#total - more ? "no-room" : undefined;
  }

  #count(address: string, bytes: number): void {
    if (bytes === 0) return;
    this.#total += bytes;
    const own = (this.#byAddress.get(address) ?? 0) + bytes;
    if (own === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, own);
  }
}

/** A copy: the chunks are freed. */
function headOf(chunks: readonly Buffer[]): Buffer {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat(chunks, Math.min(size, SMALL_BYTES));
}
