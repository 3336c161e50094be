/** Whether memory grows: a line through means of blocks, since neighbouring samples say nearly the same. */

import { mean } from "../measure/statistics.ts";

export interface Sample {
  readonly minute: number;
  readonly value: number;
}

export interface Slope {
  /** Per hour. */
  readonly perHour: number;
  /** Half of the 95 % confidence interval. */
  readonly plusMinus: number;
  readonly blocks: number;
}

/** The start belongs to caches that fill and code that is compiled. */
const SKIPPED = 0.5;
const BLOCKS = 24;
const Z_95 = 1.96;

/** `reduce` makes one value of a block; the smallest is what garbage collection cannot free. */
export function slopeOf(samples: readonly Sample[], reduce: (values: readonly number[]) => number): Slope {
  const last = samples.at(-1)?.minute ?? 0;
  const from = last * SKIPPED;
  const width = (last - from) / BLOCKS;
  const points = Array.from({ length: BLOCKS }, (_, index) => {
    const begin = from + index * width;
    return samples.filter(({ minute }) => minute >= begin && minute < begin + width);
  })
    .filter((block) => block.length > 0)
    .map((block) => {
      const hour = mean(block.map(({ minute }) => minute)) / 60;
      return [hour, reduce(block.map(({ value }) => value))] as const;
    });
  return fit(points);
}

/** Ordinary least squares. */
function fit(points: readonly (readonly [x: number, y: number])[]): Slope {
  const n = points.length;
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  const spread = sum(points.map(([x]) => (x - meanX) ** 2));
  if (n < 3 || spread === 0) return { perHour: NaN, plusMinus: NaN, blocks: n };
  const perHour = sum(points.map(([x, y]) => (x - meanX) * (y - meanY))) / spread;
  const residual = sum(points.map(([x, y]) => (y - meanY - perHour * (x - meanX)) ** 2));
  return { perHour, plusMinus: Z_95 * Math.sqrt(residual / (n - 2) / spread), blocks: n };
}

export function least(values: readonly number[]): number {
  return Math.min(...values);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
