/** Limits the memory of the bodies of all connections together: any client that reaches the port can send them. */

/** The room that the requests of one sender take together. */
interface Share {
  readonly name: string;
  bytes: number;
  requests: number;
}

/** The bytes that one request takes. */
export interface Taken {
  bytes: number;
  share?: Share | undefined;
}

export class BodyRoom {
  readonly #maxBytes: number;
  readonly #smallBytes: number;
  readonly #shares = new Map<string, Share>();
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
    if (taken.bytes + bytes > this.#smallBytes && !this.#hasRoom(taken, bytes)) return false;
    this.#add(taken, bytes);
    return true;
  }

  /**
   * Counts the request for this share. A share with one request may fill the room; with more, it must leave as much room
   * as it takes.
   */
  assign(taken: Taken, name: string): void {
    const share = this.#shares.get(name) ?? { name, bytes: 0, requests: 0 };
    this.#shares.set(name, share);
    share.requests += 1;
    share.bytes += taken.bytes;
    taken.share = share;
  }

  leave(taken: Taken): void {
    this.#add(taken, -taken.bytes);
    const { share } = taken;
    taken.share = undefined;
    if (share === undefined) return;
    share.requests -= 1;
    if (share.requests === 0) this.#shares.delete(share.name);
  }

  #hasRoom({ share }: Taken, bytes: number): boolean {
    const left = this.#maxBytes - this.#total - bytes;
    if (left < 0) return false;
    return share === undefined || share.requests === 1 || share.bytes + bytes <= left;
  }

  #add(taken: Taken, bytes: number): void {
    taken.bytes += bytes;
    this.#total += bytes;
    if (taken.share !== undefined) taken.share.bytes += bytes;
  }
}
