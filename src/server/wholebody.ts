/** A body as it arrived: nearly every call is answered by its digest, and almost never needs it in one piece. */

import { hash } from "node:crypto";

/** No Cluster that etcd accepts is larger; larger bodies are rarely repeated. */
const DIGESTED_BYTES = 2 * 1024 * 1024;
/** Enough for the bodies that Cluster API usually sends; larger ones are not worth the memory. */
const GATHERED_BYTES = 256 * 1024;
const gathered = Buffer.allocUnsafeSlow(GATHERED_BYTES);

export class WholeBody {
  readonly size: number;
  #chunks: readonly Buffer[];
  #digest: string | undefined;

  constructor(chunks: readonly Buffer[]) {
    this.#chunks = chunks;
    this.size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }

  bytes(): Buffer {
    const [only] = this.#chunks;
    if (only !== undefined && this.#chunks.length === 1) return only;
    const bytes = Buffer.concat(this.#chunks, this.size);
    this.#chunks = [bytes]; // otherwise the body is kept twice while it is answered
    return bytes;
  }

  /**
   * Callers choose the bytes, but cannot find two bodies with the same digest. `undefined`: too large to be worth the
   * time.
   */
  digest(): string | undefined {
    if (this.size > DIGESTED_BYTES) return undefined;
    this.#digest ??= hash("sha256", this.#gather(), "base64");
    return this.#digest;
  }

  /**
   * Valid until the next body is gathered. All calls share one buffer: a buffer per call would make the garbage
   * collector traverse all memory several times a second, because it counts memory outside of its heap.
   */
  #gather(): Buffer {
    if (this.#chunks.length === 1 || this.size > GATHERED_BYTES) return this.bytes();
    let end = 0;
    for (const chunk of this.#chunks) end += chunk.copy(gathered, end);
    return gathered.subarray(0, end);
  }
}
