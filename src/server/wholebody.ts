/** A body as it arrived: nearly every call is answered by its digest, and needs it in one piece never. */

import { hash } from "node:crypto";

/** No Cluster that etcd takes has more; what is larger is not repeated often. */
const DIGESTED_BYTES = 2 * 1024 * 1024;
/** Bodies of Cluster API's fit, and others do not stay in memory for it. */
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
    this.#chunks = [bytes]; // else it is kept twice while it is answered
    return bytes;
  }

  /** Callers choose the bytes, and cannot find two bodies of one digest. `undefined`: too large to be worth its time. */
  digest(): string | undefined {
    if (this.size > DIGESTED_BYTES) return undefined;
    this.#digest ??= hash("sha256", this.#gather(), "base64");
    return this.#digest;
  }

  /**
   * Good until the next body is gathered. In one place that all share: a buffer for each call would have the garbage
   * collector go through all of memory several times a second, because it counts what lies outside of its heap.
   */
  #gather(): Buffer {
    if (this.#chunks.length === 1 || this.size > GATHERED_BYTES) return this.bytes();
    let end = 0;
    for (const chunk of this.#chunks) end += chunk.copy(gathered, end);
    return gathered.subarray(0, end);
  }
}
