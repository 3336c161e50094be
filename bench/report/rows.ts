/** Rows and goals of tables. */

import type { Goal, Row } from "../result.ts";

export const atLeast = (value: number): Goal => ({ is: "at least", value });
export const atMost = (value: number): Goal => ({ is: "at most", value });
export const below = (value: number): Goal => ({ is: "below", value });
export const NONE: Goal = { is: "exactly", value: 0 };

interface Rest {
  readonly unit: string;
  readonly goal?: Goal | undefined;
  readonly note?: string | undefined;
}

/** `samples`: one per round, or one number. */
export function row(
  id: string,
  work: string,
  samples: number | readonly number[],
  { unit, goal, note }: Rest,
): Row {
  const list = typeof samples === "number" ? [samples] : samples;
  return { id, work, goal, samples: list, unit, ...(note !== undefined && { note }) };
}
