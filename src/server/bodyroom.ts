/** How much memory bodies may take, of all connections together: whoever reaches the port can send them. */

import type { IncomingMessage } from "node:http";

export class BodyRoom {
  readonly #maxBytes: number;
  readonly #smallBytes: number;
  readonly #taken = new Map<IncomingMessage, number>();
  #total = 0;

  /** Up to `smallBytes` of each request find room beside `maxBytes`: no stranger's body keeps out a common one. */
  constructor(maxBytes: number, smallBytes: number) {
    this.#maxBytes = maxBytes;
    this.#smallBytes = smallBytes;
  }

  /** Whether there is room for so much more of the request's body; it is taken then. */
  take(request: IncomingMessage, bytes: number): boolean {
    const own = (this.#taken.get(request) ?? 0) + bytes;
    if (own > this.#smallBytes && this.#total + bytes > this.#maxBytes) return false;
    this.#taken.set(request, own);
    this.#total += bytes;
    return true;
  }

  leave(request: IncomingMessage): void {
    this.#total -= this.#taken.get(request) ?? 0;
    this.#taken.delete(request);
  }
}
