/**
 * Bounds what objects take in memory, by namespace. If all of them take more than the budget, the namespaces that take most
 * are over: of their objects only stubs are kept, until the rest fits. Stubs count as what they stand for, so every replica
 * finds the same, in whatever order it has read them; and a namespace that takes less than its part of the budget is never
 * over, whatever others store.
 */

import { getHeapStatistics } from "node:v8";
import { type Amount, NOTHING } from "../api/amount.ts";
import type { Logger } from "../lib/logger.ts";

/** The owner of what is in no namespace: the platform team's, which comes last. */
export const PLATFORM = "";

/** Of the heap, for what is kept; the other half is for what is read, decided and answered. */
const SHARE_OF_HEAP = 0.5;
/** Measured: what a policy remembers of one Cluster that it holds. */
const PAIR_BYTES = 1024;

/** Someone who keeps objects: replaces those of an owner by stubs. */
export interface Keeper {
  shed(owner: string): void;
}

export class MemoryShares {
  readonly budget: number;
  readonly #log: Logger;
  readonly #amounts = new Map<string, Amount>();
  readonly #keepers = new Set<Keeper>();
  #over: ReadonlySet<string> = new Set();
  #total = 0;

  constructor(log: Logger, budget: number = getHeapStatistics().heap_size_limit * SHARE_OF_HEAP) {
    this.#log = log;
    this.budget = budget;
  }

  join(keeper: Keeper): void {
    this.#keepers.add(keeper);
  }

  leave(keeper: Keeper): void {
    this.#keepers.delete(keeper);
  }

  isOver(owner: string): boolean {
    return this.#over.has(owner);
  }

  /** An object of the owner takes `added`, and has taken `removed`. */
  change(owner: string, added: Amount, removed: Amount = NOTHING): void {
    const before = this.#amounts.get(owner) ?? NOTHING;
    const now = {
      bytes: before.bytes + added.bytes - removed.bytes,
      policies: before.policies + added.policies - removed.policies,
      clusters: before.clusters + added.clusters - removed.clusters,
    };
    this.#total += weightOf(now) - weightOf(before);
    if (now.bytes === 0) this.#amounts.delete(owner);
    else this.#amounts.set(owner, now);
    if (this.#over.size > 0 || this.#total > this.budget) this.#judge();
  }

  #judge(): void {
    const before = this.#over;
    const now = this.#largest();
    this.#over = now;
    for (const owner of now.difference(before)) {
      this.#log.warn("Objects are not kept: together they take more than their share of memory", {
        owner: nameOf(owner),
        bytes: this.#weight(owner),
        budget: Math.round(this.budget),
      });
      for (const keeper of this.#keepers) keeper.shed(owner);
    }
    for (const owner of before.difference(now))
      this.#log.info("Objects fit into memory again, and are read anew", { owner: nameOf(owner) });
  }

  /** The owners to leave out, the largest first, so that the rest fits. */
  #largest(): Set<string> {
    const over = new Set<string>();
    let rest = this.#total;
    while (rest > this.budget) {
      const next = this.#largestBeside(over);
      if (next === undefined) break;
      over.add(next);
      rest -= this.#weight(next);
    }
    return over;
  }

  #largestBeside(over: ReadonlySet<string>): string | undefined {
    let [largest, most]: [string | undefined, number] = [undefined, -1];
    for (const [owner, amount] of this.#amounts) {
      if (owner === PLATFORM || over.has(owner)) continue;
      const weight = weightOf(amount);
      // Of two that take the same, every replica takes the same one.
      if (weight > most || (weight === most && owner > (largest ?? ""))) [largest, most] = [owner, weight];
    }
    const isLast = largest === undefined && this.#amounts.has(PLATFORM) && !over.has(PLATFORM);
    return isLast ? PLATFORM : largest;
  }

  #weight(owner: string): number {
    const amount = this.#amounts.get(owner);
    return amount === undefined ? 0 : weightOf(amount);
  }
}

function nameOf(owner: string): string {
  return owner === PLATFORM ? "what is in no namespace" : owner;
}

function weightOf({ bytes, policies, clusters }: Amount): number {
  return bytes + policies * clusters * PAIR_BYTES;
}
