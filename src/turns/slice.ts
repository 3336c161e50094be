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

/** Yielded after a step that may have taken long; other steps are cheap. */
export const COSTLY = "costly";

/** Work that can be interrupted after each step. */
export type Steps<T> = Generator<typeof COSTLY | void, T, void>;

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** The clock is checked after this many cheap steps, so a small fleet is always done at once. */
const STEPS = 64;

/** Returns the result itself if one slice is enough. */
export function inSlices<T>(steps: Steps<T>, sliceMs: number = SLICE_MS): T | Promise<T> {
  const first = runSlice(steps, sliceMs);
  return first.done === true ? first.value : theRest(steps, sliceMs);
}

async function theRest<T>(steps: Steps<T>, sliceMs: number): Promise<T> {
  for (;;) {
    await nextTurn();
    const next = runSlice(steps, sliceMs);
    if (next.done === true) return next.value;
  }
}

function runSlice<T>(steps: Steps<T>, sliceMs: number): IteratorResult<unknown, T> {
  const end = performance.now() + sliceMs;
  for (let count = 1; ; count += 1) {
    const step = steps.next();
    if (step.done === true) return step;
    if ((step.value === COSTLY || count % STEPS === 0) && performance.now() >= end) return step;
  }
}
