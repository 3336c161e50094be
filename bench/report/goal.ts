/** Whether a row's goal is met, by the median of its samples. */

import type { Goal, Row } from "../result.ts";
import { median } from "../measure/statistics.ts";

/** `undefined`: the row has no goal. A row without samples misses its goal. */
export function isMet({ goal, samples }: Row): boolean | undefined {
  if (goal === undefined) return undefined;
  return holds(goal, median(samples)); // no comparison with NaN is true
}

function holds({ is, value }: Goal, measured: number): boolean {
  switch (is) {
    case "at least":
      return measured >= value;
    case "at most":
      return measured <= value;
    case "below":
      return measured < value;
    case "exactly":
      return measured === value;
  }
}
