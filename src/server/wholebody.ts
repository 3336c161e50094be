/** A body as it arrived: many calls are answered by its print, and need it neither parsed nor in one piece. */

import { crc32 } from "node:zlib";

/** No Cluster that etcd accepts is larger; larger bodies are rarely repeated. */
const PRINTED_BYTES = 2 * 1024 * 1024;
/**
 * Enough for the bodies that Cluster API usually sends. They share one buffer: a buffer per call would make the garbage
 * collector traverse all memory several times a second, because it counts memory outside of its heap.
 */
const GATHERED_BYTES = 256 * 1024;
const gathered = Buffer.allocUnsafeSlow(GATHERED_BYTES);

export class WholeBody {
  readonly size: number;
  #chunks: readonly Buffer[];
  #print: number | undefined;

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

  /** As UTF-8. */
  text(): string {
    if (this.#chunks.length <= 1 || this.size > GATHERED_BYTES) return this.bytes().toString();
    let end = 0;
    for (const chunk of this.#chunks) end += chunk.copy(gathered, end);
    return gathered.toString("utf8", 0, end);
  }

  /**
   * The same for the same bytes. Other bytes with the same print are improbable, but a client can find some.
   * `undefined`: too large to be worth the time.
   */
  print(): number | undefined {
    if (this.size > PRINTED_BYTES) return undefined;
    this.#print ??=
      this.#chunks.reduce((crc, chunk) => crc32(chunk, crc), 0) * 2 ** 21 + (this.size % 2 ** 21);
    return this.#print;
  }

  /** Whether the body begins with these characters, each of which is a byte. */
  startsWith(head: string): boolean {
    const [first] = this.#chunks;
    return (
      first !== undefined && first.length >= head.length && first.toString("latin1", 0, head.length) === head
    );
  }

  /**
   * The beginning up to and with `mark` followed by `rest`, where these are the first `mark`, within `limit` characters,
   * and arrived together; each character is a byte.
   */
  headWith(mark: string, rest: string, limit: number): string | undefined {
    const head = this.#chunks[0]?.subarray(0, limit);
    const at = head?.indexOf(mark, 0, "latin1") ?? -1;
    const end = at + mark.length + rest.length;
    const isRest = at >= 0 && head?.toString("latin1", at + mark.length, end) === rest;
    return isRest ? head.toString("latin1", 0, end) : undefined;
  }
}
