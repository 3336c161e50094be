/** Does work over thousands of Clusters in slices, so that calls are answered in between. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { COSTLY, type Steps } from "../lib/steps.ts";
import { TURN_MS } from "./turn.ts";

/** The clock is checked after this many cheap steps, so a small fleet is always done at once. */
const STEPS = 64;

/** Returns the result itself if one slice is enough. */
export function inSlices<T>(steps: Steps<T>, turnMs: number = TURN_MS): T | Promise<T> {
  const first = slice(steps, turnMs);
  return first.done === true ? first.value : theRest(steps, turnMs);
}

async function theRest<T>(steps: Steps<T>, turnMs: number): Promise<T> {
  for (;;) {
    await nextTurn();
    const next = slice(steps, turnMs);
    if (next.done === true) return next.value;
  }
}

function slice<T>(steps: Steps<T>, turnMs: number): IteratorResult<unknown, T> {
  const end = performance.now() + turnMs;
  for (let count = 1; ; count += 1) {
    const step = steps.next();
    if (step.done === true) return step;
    if ((step.value === COSTLY || count % STEPS === 0) && performance.now() >= end) return step;
  }
}
