/** Work over thousands of Clusters, in slices between which calls are answered. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { TURN_MS } from "./turn.ts";

/** Yields where it may be interrupted. */
export type Slices<T> = Generator<void, T, void>;

/** The clock is looked at after so many steps: a small fleet is always done at once. */
const STEPS = 64;

/** At once if that is quick. */
export function inSlices<T>(steps: Slices<T>): T | Promise<T> {
  const first = slice(steps);
  return first.done === true ? first.value : theRest(steps);
}

async function theRest<T>(steps: Slices<T>): Promise<T> {
  for (;;) {
    await nextTurn();
    const next = slice(steps);
    if (next.done === true) return next.value;
  }
}

function slice<T>(steps: Slices<T>): IteratorResult<void, T> {
  const end = performance.now() + TURN_MS;
  for (let count = 1; ; count += 1) {
    const step = steps.next();
    if (step.done === true || (count % STEPS === 0 && performance.now() >= end)) return step;
  }
}
