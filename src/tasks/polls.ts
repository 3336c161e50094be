/** When the objects of tasks are looked at: seldom once an attempt is old, and at a limited rate, namespaces in turns. */

import { FairQueue } from "../turns/fair-queue.ts";

export interface PollsOptions {
  /** It is the turn of a HookTask. */
  readonly onDue: (key: string) => void;
  readonly perSecond?: number;
}

interface Poll {
  readonly begin: () => void;
  readonly over: () => boolean;
}

const PER_SECOND = 20;
const [MINUTE_MS, ELEVEN_MINUTES_MS] = [60_000, 660_000];

/** The pause after a look at an attempt of this age. */
export function pollAfterMs(ageMs: number): number {
  if (ageMs < MINUTE_MS) return 2000;
  return ageMs < ELEVEN_MINUTES_MS ? 10_000 : 30_000;
}

export class Polls {
  readonly #onDue: (key: string) => void;
  readonly #everyMs: number;
  readonly #queue = new FairQueue<Poll>();
  /** By key: the timer, or `undefined` once it waits for its turn. */
  readonly #scheduled = new Map<string, NodeJS.Timeout | undefined>();
  readonly #granted = new Set<string>();
  #isTicking = false;

  constructor({ onDue, perSecond = PER_SECOND }: PollsOptions) {
    this.#onDue = onDue;
    this.#everyMs = 1000 / perSecond;
  }

  /** Whether the HookTask has its turn, which it then has used. */
  take(key: string): boolean {
    return this.#granted.delete(key);
  }

  /** Whether the HookTask waits for its turn. */
  isScheduled(key: string): boolean {
    return this.#scheduled.has(key);
  }

  /** A look that is scheduled already stays as it is. A turn that something else than a look has followed is used up. */
  schedule(key: string, group: string, afterMs: number): void {
    this.#granted.delete(key);
    if (this.#scheduled.has(key)) return;
    this.#scheduled.set(
      key,
      later(afterMs, () => this.#wait(key, group)),
    );
  }

  forget(key: string): void {
    clearTimeout(this.#scheduled.get(key));
    this.#scheduled.delete(key);
    this.#granted.delete(key);
  }

  #wait(key: string, group: string): void {
    this.#scheduled.set(key, undefined);
    const grant = (): void => {
      this.#scheduled.delete(key);
      this.#granted.add(key);
      this.#onDue(key);
    };
    const over = (): boolean => !this.#scheduled.has(key);
    this.#queue.add(group, key, { begin: grant, over });
    if (!this.#isTicking) this.#next();
  }

  /** One now, and the next after a while. */
  #next(): void {
    const next = this.#queue.take();
    this.#isTicking = next !== undefined;
    if (next === undefined) return;
    next.end();
    next.work.begin();
    later(this.#everyMs, () => this.#next());
  }
}

/** Keeps no process from ending. */
function later(ms: number, work: () => void): NodeJS.Timeout {
  return setTimeout(work, ms).unref();
}
