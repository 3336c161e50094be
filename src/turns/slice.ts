/** A slice of the event loop: how long work may keep it, so that calls are answered in between. */

import { setImmediate as nextTurn } from "node:timers/promises";

/** Short enough that no call waits longer than some 25 ms, even if one more decision, forecast or row follows. */
export const SLICE_MS = 3;

/** What all the work in one turn of the event loop shares. */
export class Slice {
  readonly #lengthMs: number;
  #endsAt: number | undefined;

  constructor(lengthMs: number = SLICE_MS) {
    this.#lengthMs = lengthMs;
  }

  /** Begins work; work that began before in the same turn of the event loop counts. Returns when its time is over. */
  begin(): number {
    if (this.#endsAt === undefined) setImmediate(() => (this.#endsAt = undefined));
    this.#endsAt ??= performance.now() + this.#lengthMs;
    return this.#endsAt;
  }

  isOver(): boolean {
    return performance.now() >= this.begin();
  }
}

/** Takes each item in its turn; calls are answered between slices. */
export async function eachInSlices<T>(items: Iterable<T>, take: (item: T) => void): Promise<void> {
  const slice = new Slice();
  for (const item of items) {
    slice.begin();
    take(item);
    if (slice.isOver()) await nextTurn();
  }
}
