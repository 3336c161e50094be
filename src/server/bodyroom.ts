/** How much memory bodies may take, of all connections together: whoever reaches the port can send them. */

/** Of one request. */
export interface Taken {
  bytes: number;
}

export class BodyRoom {
  readonly #maxBytes: number;
  readonly #smallBytes: number;
  #total = 0;

  /** Up to `smallBytes` of each request find room beside `maxBytes`: no stranger's body keeps out a common one. */
  constructor(maxBytes: number, smallBytes: number) {
    this.#maxBytes = maxBytes;
    this.#smallBytes = smallBytes;
  }

  /** Whether there is room for so much more of the request's body; it is taken then. */
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
