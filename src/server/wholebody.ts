/** A body as it arrived: many calls are answered from its beginning and end, without parsing it or joining its chunks. */

/**
 * Enough for the bodies that Cluster API usually sends. They share one buffer: a buffer per call would make the garbage
 * collector traverse all memory several times a second, because it counts memory outside of its heap.
 */
const GATHERED_BYTES = 256 * 1024;
const gathered = Buffer.allocUnsafeSlow(GATHERED_BYTES);

export class WholeBody {
  readonly size: number;
  #chunks: readonly Buffer[];

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

  /** The body as UTF-8. */
  text(): string {
    if (this.#chunks.length <= 1 || this.size > GATHERED_BYTES) return this.bytes().toString();
    let end = 0;
    for (const chunk of this.#chunks) end += chunk.copy(gathered, end);
    return gathered.toString("utf8", 0, end);
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
}
