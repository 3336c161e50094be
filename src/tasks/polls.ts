/** When the objects of tasks are looked at: seldom once an attempt is old, and at a limited rate, namespaces in turns. */

import { MINUTE_MS } from "../lib/duration.ts";
import { FairQueue } from "../turns/fair-queue.ts";

/** Between two looks. */
const EVERY_MS = 50;

/** The pause after a look at an attempt of this age. */
export function pollAfterMs(ageMs: number): number {
  if (ageMs < MINUTE_MS) return 2000;
  return ageMs < 11 * MINUTE_MS ? 10_000 : 30_000;
}

export class Polls {
  readonly #onDue: (key: string) => void;
  readonly #queue = new FairQueue<{ readonly begin: () => void; readonly over: () => boolean }>();
  /** By key. Each waits for its time, then for its turn, and then it is due until it is taken. */
  readonly #looks = new Map<string, { isDue: boolean }>();
  #isTicking = false;

  /** `onDue`: it is the turn of a HookTask. */
  constructor(onDue: (key: string) => void) {
    this.#onDue = onDue;
  }

  /** Whether it is the HookTask's turn; consumes the turn. */
  take(key: string): boolean {
    return this.#looks.get(key)?.isDue === true && this.#looks.delete(key);
  }

  /** Whether the HookTask waits for its turn. */
  isScheduled(key: string): boolean {
    return this.#looks.get(key)?.isDue === false;
  }

  /** Does nothing if one is scheduled already. A turn that was not used for a poll is discarded. */
  schedule(key: string, group: string, afterMs: number): void {
    if (this.isScheduled(key)) return;
    const look = { isDue: false };
    this.#looks.set(key, look);
    const begin = (): void => {
      look.isDue = true;
      this.#onDue(key);
    };
    later(afterMs, () => {
      this.#queue.add(group, key, { begin, over: () => this.#looks.get(key) !== look });
      if (!this.#isTicking) this.#next();
    });
  }

  forget(key: string): void {
    this.#looks.delete(key);
  }

  /** One now, and the next after a while. */
  #next(): void {
    const next = this.#queue.take();
    this.#isTicking = next !== undefined;
    if (next === undefined) return;
    next.end();
    next.work.begin();
    later(EVERY_MS, () => this.#next());
  }
}

/** Keeps no process from ending. */
function later(ms: number, work: () => void): void {
  setTimeout(work, ms).unref();
}
