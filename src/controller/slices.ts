/** Work over thousands of Clusters, in slices between which calls are answered. */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Steps } from "../api/steps.ts";
import { TURN_MS } from "./turn.ts";

/** The clock is looked at after so many steps: a small fleet is always done at once. */
const STEPS = 64;

/** At once if that is quick. */
export function inSlices<T>(steps: Steps<T>): T | Promise<T> {
  const first = slice(steps);
  return first.done === true ? first.value : theRest(steps);
}

async function theRest<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    await nextTurn();
    const next = slice(steps);
    if (next.done === true) return next.value;
  }
}

function slice<T>(steps: Steps<T>): IteratorResult<void, T> {
  const end = performance.now() + TURN_MS;
  for (let count = 1; ; count += 1) {
    const step = steps.next();
    if (step.done === true || (count % STEPS === 0 && performance.now() >= end)) return step;
  }
}
