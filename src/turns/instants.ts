/** Work by key, each with the instant for which it is set; the earliest comes first. */

import TinyQueue from "tinyqueue";

interface Instant {
  readonly key: string;
  /** In milliseconds, of any one clock. */
  readonly at: number;
}

interface QueueEntry extends Instant {
  /** When it was set, among all work. */
  readonly place: number;
}

export class Instants {
  readonly #timed = new Map<string, number>();
  /** Entries that were deleted or set to another instant stay in it, and are skipped when their turn comes. */
  #queue = queueOf([]);
  #places = 0;

  get(key: string): number | undefined {
    return this.#timed.get(key);
  }

  /** Replaces the instant of the same key. */
  set(key: string, at: number): void {
    if (this.#timed.get(key) === at) return;
    this.#timed.delete(key); // what is set last comes last, also after #dropStale()
    this.#timed.set(key, at);
    this.#queue.push({ key, at, place: this.#places++ });
    if (this.#queue.length > 2 * this.#timed.size) this.#dropStale();
  }

  delete(key: string): void {
    this.#timed.delete(key);
  }

  /** No later than the earliest; Infinity: there is none. */
  get next(): number {
    return this.#queue.peek()?.at ?? Infinity;
  }

  /** Takes out what has come at `now`, after a look at `most` entries at most. */
  take(now: number, most = Infinity): readonly Instant[] {
    const come: Instant[] = [];
    for (let looked = 0; looked < most && this.next <= now; looked += 1) {
      const queued = this.#queue.pop();
      if (queued === undefined || this.#timed.get(queued.key) !== queued.at) continue;
      this.#timed.delete(queued.key);
      come.push(queued);
    }
    return come;
  }

  #dropStale(): void {
    this.#queue = queueOf([...this.#timed].map(([key, at]) => ({ key, at, place: this.#places++ })));
  }
}

function queueOf(queued: QueueEntry[]): TinyQueue<QueueEntry> {
  return new TinyQueue(queued, (a, b) => a.at - b.at || a.place - b.place);
}
