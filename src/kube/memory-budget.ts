/**
 * Bounds what objects take in memory, by namespace. If all of them take more than the budget, the namespaces that take most
 * are over it, and only stubs of their objects are kept until the rest fits. A stub counts as much as the object it stands
 * for, so that every replica finds the same, in whatever order it reads objects. A namespace that takes less than its part of
 * the budget is never over it, whatever others store.
 */

import { getHeapStatistics } from "node:v8";
import { sizeOf } from "../lib/json-size.ts";
import type { Logger } from "../lib/logger.ts";

/** The owner of objects in no namespace. They are the platform team's, and the last to be replaced by stubs. */
export const PLATFORM = "";

/** Of the heap, for what is kept; the other half is for what is read, decided and answered. */
const SHARE_OF_HEAP = 0.5;

/** What objects take in memory. */
export interface MemoryUse {
  readonly bytes: number;
  /** What the HookPolicies of a namespace remember of each Cluster of it that they hold. */
  readonly bytesForEachCluster: number;
  readonly clusters: number;
}

export const NO_MEMORY: MemoryUse = { bytes: 0, bytesForEachCluster: 0, clusters: 0 };

/** What an object takes in addition to its contents. */
const OBJECT_BYTES = 1024;

export function memoryUseOf(object: object): MemoryUse {
  return { ...NO_MEMORY, bytes: OBJECT_BYTES + sizeOf(object) };
}

/** What keeps objects in memory, and can replace those of an owner by stubs. */
export interface MemoryUser {
  shed(owner: string): void;
}

export class MemoryBudget {
  readonly limit: number;
  readonly #log: Logger;
  readonly #uses = new Map<string, MemoryUse>();
  readonly #users = new Set<MemoryUser>();
  #over: ReadonlySet<string> = new Set();
  #total = 0;

  constructor(log: Logger, limit: number = getHeapStatistics().heap_size_limit * SHARE_OF_HEAP) {
    this.#log = log;
    this.limit = limit;
  }

  join(user: MemoryUser): void {
    this.#users.add(user);
  }

  leave(user: MemoryUser): void {
    this.#users.delete(user);
  }

  isOver(owner: string): boolean {
    return this.#over.has(owner);
  }

  /** An object of the owner takes `added`, and has taken `removed`. */
  change(owner: string, added: MemoryUse, removed: MemoryUse = NO_MEMORY): void {
    const before = this.#uses.get(owner) ?? NO_MEMORY;
    const now = {
      bytes: before.bytes + added.bytes - removed.bytes,
      bytesForEachCluster:
        before.bytesForEachCluster + added.bytesForEachCluster - removed.bytesForEachCluster,
      clusters: before.clusters + added.clusters - removed.clusters,
    };
    this.#total += weightOf(now) - weightOf(before);
    if (now.bytes === 0) this.#uses.delete(owner);
    else this.#uses.set(owner, now);
    if (this.#over.size > 0 || this.#total > this.limit) this.#judge();
  }

  #judge(): void {
    const before = this.#over;
    const now = this.#largest();
    this.#over = now;
    for (const owner of now.difference(before)) {
      this.#log.warn("Objects are not kept: together they take more than their share of memory", {
        owner: nameOf(owner),
        bytes: this.#weight(owner),
        budget: Math.round(this.limit),
      });
      for (const user of this.#users) user.shed(owner);
    }
    for (const owner of before.difference(now))
      this.#log.info("Objects fit into memory again, and are read anew", { owner: nameOf(owner) });
  }

  /** The owners to leave out, the largest first, so that the rest fits. */
  #largest(): Set<string> {
    const over = new Set<string>();
    let rest = this.#total;
    while (rest > this.limit) {
      const next = this.#largestBeside(over);
      if (next === undefined) break;
      over.add(next);
      rest -= this.#weight(next);
    }
    return over;
  }

  #largestBeside(over: ReadonlySet<string>): string | undefined {
    let [largest, most]: [string | undefined, number] = [undefined, -1];
    for (const [owner, use] of this.#uses) {
      if (owner === PLATFORM || over.has(owner)) continue;
      const weight = weightOf(use);
      // Of two that take the same, every replica takes the same one.
      if (weight > most || (weight === most && owner > (largest ?? ""))) [largest, most] = [owner, weight];
    }
    const isLast = largest === undefined && this.#uses.has(PLATFORM) && !over.has(PLATFORM);
    return isLast ? PLATFORM : largest;
  }

  #weight(owner: string): number {
    const use = this.#uses.get(owner);
    return use === undefined ? 0 : weightOf(use);
  }
}

function nameOf(owner: string): string {
  return owner === PLATFORM ? "what is in no namespace" : owner;
}

function weightOf({ bytes, bytesForEachCluster, clusters }: MemoryUse): number {
  return bytes + bytesForEachCluster * clusters;
}
