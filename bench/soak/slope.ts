/** Whether memory grows: a line through one value per block of time, since neighbouring samples are nearly the same. */

import { mean } from "../measure/statistics.ts";

export interface Sample {
  readonly minute: number;
  readonly value: number;
}

export interface Slope {
  readonly perHour: number;
  /** Half of the 95 % confidence interval. */
  readonly plusMinus: number;
  readonly blocks: number;
}

/** At the start caches fill and code is compiled. */
const SKIPPED = 0.5;
const BLOCKS = 24;
const Z_95 = 1.96;

/**
 * Of the last minutes, at most of the second half. `reduce` makes the value of a block; the smallest is what garbage
 * collection cannot free.
 */
export function slopeOf(
  samples: readonly Sample[],
  reduce: (values: readonly number[]) => number,
  lastMinutes = Infinity,
): Slope {
  const last = samples.at(-1)?.minute ?? 0;
  const from = Math.max(last * SKIPPED, last - lastMinutes);
  const width = (last - from) / BLOCKS;
  const counted = samples.filter(({ minute }) => minute >= from && minute < last);
  const blocks = Map.groupBy(counted, ({ minute }) => Math.floor((minute - from) / width));
  return fit(
    [...blocks.values()].map((block) => ({
      x: mean(block.map(({ minute }) => minute)) / 60,
      y: reduce(block.map(({ value }) => value)),
    })),
  );
}

function fit(points: readonly { readonly x: number; readonly y: number }[]): Slope {
  const n = points.length;
  const [meanX, meanY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  const spread = sum(points.map(({ x }) => (x - meanX) ** 2));
  if (n < 3 || spread === 0) return { perHour: NaN, plusMinus: NaN, blocks: n };
  const perHour = sum(points.map(({ x, y }) => (x - meanX) * (y - meanY))) / spread;
  const residual = sum(points.map(({ x, y }) => (y - meanY - perHour * (x - meanX)) ** 2));
  return { perHour, plusMinus: Z_95 * Math.sqrt(residual / (n - 2) / spread), blocks: n };
}

export function least(values: readonly number[]): number {
  return Math.min(...values);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
