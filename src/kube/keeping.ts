/** Counts what an informer keeps, and replaces it by stubs where its owner is over the share of memory. */

import { type Amount, NOTHING } from "../api/amount.ts";
import type { MemoryShares } from "./memory-shares.ts";
import type { InformerObject } from "./object-store.ts";

export interface Share<T> {
  readonly shares: MemoryShares;
  /** The namespace, or PLATFORM. */
  readonly ownerOf: (object: T) => string;
  readonly amountOf: (object: T) => Amount;
  /** The object without what decisions need, and with `tooLarge`. */
  readonly stub: (object: T) => T;
}

interface CountedObject {
  readonly owner: string;
  readonly amount: Amount;
}

export class Keeping<T extends InformerObject> {
  readonly #share: Share<T>;
  /** By key, which tells the owner. */
  readonly #counted = new Map<string, CountedObject>();

  constructor(share: Share<T>) {
    this.#share = share;
  }

  /** The object, or its stub. */
  keep(key: string, object: T): T {
    const { shares, ownerOf, amountOf, stub } = this.#share;
    const [owner, amount] = [ownerOf(object), amountOf(object)];
    const before = this.#counted.get(key)?.amount;
    this.#counted.set(key, { owner, amount });
    shares.change(owner, amount, before);
    return shares.isOver(owner) ? stub(object) : object;
  }

  drop(key: string): void {
    const counted = this.#counted.get(key);
    this.#counted.delete(key);
    if (counted !== undefined) this.#share.shares.change(counted.owner, NOTHING, counted.amount);
  }

  /** Drops all others. */
  retain(keys: ReadonlyMap<string, unknown>): void {
    for (const key of this.#counted.keys()) if (!keys.has(key)) this.drop(key);
  }

  /** The stub, if the object is one that `owner` may no longer keep. */
  shed(object: T, owner: string): T | undefined {
    const { shares, ownerOf, stub } = this.#share;
    const isMeant = object.tooLarge !== true && ownerOf(object) === owner && shares.isOver(owner);
    return isMeant ? stub(object) : undefined;
  }

  /** Whether it is a stub that no longer has to be one. */
  isRestorable(object: T): boolean {
    return object.tooLarge === true && !this.#share.shares.isOver(this.#share.ownerOf(object));
  }
}
