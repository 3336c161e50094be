/**
 * The bodies of requests: read within a limit for each and one for all together, and kept as they arrived. Many calls are
 * answered from the beginning and the end of a body, without parsing it or joining its chunks.
 */

import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";

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

/**
 * A call contains one Cluster, a review an object and the old one. The API server accepts at most 3 MiB in a write
 * (k8s.io/apiserver, MaxRequestBodyBytes), and etcd 1.5 MiB by default.
 */
export const MAX_CALL_BYTES = 4 * 1024 * 1024;

/**
 * Enough for a Cluster with a thousand MachineDeployments, each with some variables; parsing that many takes some 15 ms. Parsed,
 * a body that consists of brackets takes 50 times its size.
 */
export const MAX_VALUES = 32 * 1024;

const [LIST, OBJECT, COMMA, QUOTE, ESCAPE] = [0x5b, 0x7b, 0x2c, 0x22, 0x5c];

/**
 * Joins the chunks of a body in one buffer, which is as large as a call may be. With a buffer for each call, the garbage collector
 * would traverse all memory several times a second, because it counts memory outside of its heap.
 */
const shared = Buffer.allocUnsafeSlow(MAX_CALL_BYTES);

/** A body as it arrived. */
export class WholeBody {
  readonly size: number;
  #chunks: readonly Buffer[];

  constructor(chunks: readonly Buffer[]) {
    this.#chunks = chunks;
    this.size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }

  /** All bytes, in a buffer of their own. */
  bytes(): Buffer {
    const [only] = this.#chunks;
    if (only !== undefined && this.#chunks.length === 1) return only;
    const bytes = Buffer.concat(this.#chunks, this.size);
    this.free(); // otherwise the body is kept twice while it is answered
    this.#chunks = [bytes];
    return bytes;
  }

  /** All bytes, until another body is looked at. */
  view(): Buffer {
    if (this.#chunks.length <= 1 || this.size > shared.length) return this.bytes();
    let end = 0;
    for (const chunk of this.#chunks) end += chunk.copy(shared, end);
    return shared.subarray(0, end);
  }

  /** `undefined`: not UTF-8, as JSON must be. Replacing invalid bytes would take 50 times as long as decoding the rest. */
  text(): string | undefined {
    const bytes = this.view();
    return isUtf8(bytes) ? bytes.toString() : undefined;
  }

  /** Counts the characters that start or separate values, without a parser. Those in strings, which can be long, do not count. */
  hasTooManyValues(): boolean {
    if (this.size <= MAX_VALUES) return false;
    let [values, isInText, isEscaped] = [0, false, false];
    for (const chunk of this.#chunks) {
      for (let at = 0; at < chunk.length; at += 1) {
        const byte = chunk[at];
        if (isEscaped) isEscaped = false;
        else if (byte === QUOTE) isInText = !isInText;
        else if (isInText) isEscaped = byte === ESCAPE;
        else if (byte === COMMA || byte === OBJECT || byte === LIST) values += 1;
      }
      if (values > MAX_VALUES) return true;
    }
    return false;
  }

  /** The beginning of the first chunk: at most `limit` bytes, each as one character. */
  head(limit: number): string {
    return this.#chunks[0]?.toString("latin1", 0, limit) ?? "";
  }

  /** The end of the last chunk: at most `limit` bytes, each as one character. */
  tail(limit: number): string {
    const last = this.#chunks.at(-1);
    return last?.toString("latin1", Math.max(0, last.length - limit)) ?? "";
  }

  /** Frees the body. Nothing may read it afterwards, nor what bytes() and view() have returned. */
  free(): void {
    freeAll(this.#chunks);
    this.#chunks = [];
  }
}

/**
 * Gives back the memory of the parts of a body at once. As garbage it would wait for a collection, and V8 collects its whole heap
 * when too much outside of it waits, which large bodies would cause several times a second.
 */
function freeAll(chunks: readonly Buffer[]): void {
  for (const { buffer, byteLength } of chunks) {
    if (byteLength === 0) continue; // it was freed before, and that throws
    if (buffer.byteLength !== byteLength) continue; // of the pool of Node.js for small buffers
    if (buffer instanceof ArrayBuffer) buffer.transfer(0);
  }
}
