/** Limits the memory of the bodies of all connections together: any client that reaches the port can send them. */

/** The bytes that one request takes. */
export interface Taken {
  bytes: number;
}

export class BodyRoom {
  readonly #maxBytes: number;
  readonly #smallBytes: number;
  #total = 0;

  /**
   * Up to `smallBytes` of each request always have room beyond `maxBytes`, so that large bodies cannot keep out common
   * ones.
   */
  constructor(maxBytes: number, smallBytes: number) {
    this.#maxBytes = maxBytes;
    this.#smallBytes = smallBytes;
  }

  /** Takes room for that many more bytes of the request's body; false when there is none. */
  take(taken: Taken, bytes: number): boolean {
    if (taken.bytes + bytes > this.#smallBytes && this.#total + bytes > this.#maxBytes) return false;
    taken.bytes += bytes;
    this.#total += bytes;
    return true;
  }

  leave(taken: Taken): void {
    this.#total -= taken.bytes;
    taken.bytes = 0;
  }
}
