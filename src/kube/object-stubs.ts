/** Counts the objects that an informer keeps, and replaces them by stubs while their owner is over the budget of memory. */

import { type MemoryBudget, type MemoryUse, NO_MEMORY } from "./memory-budget.ts";
import type { InformerObject } from "./object-store.ts";

export interface StubOptions<T> {
  readonly budget: MemoryBudget;
  /** The namespace, or PLATFORM. */
  readonly ownerOf: (object: T) => string;
  readonly memoryUseOf: (object: T) => MemoryUse;
  /** The object without what decisions need, and with `tooLarge`. */
  readonly stub: (object: T) => T;
}

interface CountedObject {
  readonly owner: string;
  readonly use: MemoryUse;
}

export class ObjectStubs<T extends InformerObject> {
  readonly #options: StubOptions<T>;
  /** By key, which tells the owner. */
  readonly #counted = new Map<string, CountedObject>();

  constructor(options: StubOptions<T>) {
    this.#options = options;
  }

  /** The object, or its stub. */
  keep(key: string, object: T): T {
    const { budget, ownerOf, memoryUseOf, stub } = this.#options;
    const [owner, use] = [ownerOf(object), memoryUseOf(object)];
    const before = this.#counted.get(key)?.use;
    this.#counted.set(key, { owner, use });
    budget.change(owner, use, before);
    return budget.isOver(owner) ? stub(object) : object;
  }

  drop(key: string): void {
    const counted = this.#counted.get(key);
    this.#counted.delete(key);
    if (counted !== undefined) this.#options.budget.change(counted.owner, NO_MEMORY, counted.use);
  }

  /** Drops all others. */
  retain(keys: ReadonlyMap<string, unknown>): void {
    for (const key of this.#counted.keys()) if (!keys.has(key)) this.drop(key);
  }

  /** The stub, if the object is one that `owner` may no longer keep. */
  shed(object: T, owner: string): T | undefined {
    const { budget, ownerOf, stub } = this.#options;
    const isMeant = object.tooLarge !== true && ownerOf(object) === owner && budget.isOver(owner);
    return isMeant ? stub(object) : undefined;
  }

  /** Whether it is a stub that no longer has to be one. */
  isRestorable(object: T): boolean {
    return object.tooLarge === true && !this.#options.budget.isOver(this.#options.ownerOf(object));
  }
}
