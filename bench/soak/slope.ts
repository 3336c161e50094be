/** Whether memory grows: a line through one value per block of time, since neighbouring samples are nearly the same. */

import { mean } from "../measure/statistics.ts";

export interface Sample {
  readonly minute: number;
  readonly value: number;
}

export interface Slope {
  readonly perHour: number;
  /** Half of the 95 % confidence interval; NaN where the blocks are too much alike to tell. */
  readonly plusMinus: number;
  readonly blocks: number;
}

/** At the start caches fill and code is compiled. */
const SKIPPED = 0.5;
const BLOCKS = 24;
const LEAST_INDEPENDENT = 6;
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
  const blocks = points.length;
  const [meanX, meanY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  const spread = sum(points.map(({ x }) => (x - meanX) ** 2));
  if (blocks < 3 || spread === 0) return { perHour: NaN, plusMinus: NaN, blocks };
  const perHour = sum(points.map(({ x, y }) => (x - meanX) * (y - meanY))) / spread;
  const residuals = points.map(({ x, y }) => y - meanY - perHour * (x - meanX));
  return { perHour, plusMinus: halfOfInterval(residuals, spread), blocks };
}

/**
 * Neighbouring blocks are alike, too: they count as fewer independent ones, or the interval is too narrow (Santer et al. 2000,
 * Journal of Geophysical Research 105, pages 7337 to 7356).
 */
function halfOfInterval(residuals: readonly number[], spread: number): number {
  const squares = sum(residuals.map((residual) => residual ** 2));
  if (squares < 1e-12) return 0; // all blocks are on the line
  const neighbours = sum(residuals.slice(1).map((residual, index) => residual * (residuals[index] ?? 0)));
  const alike = Math.max(0, neighbours / squares);
  const independent = (residuals.length * (1 - alike)) / (1 + alike);
  if (independent < LEAST_INDEPENDENT) return NaN;
  const freedom = independent - 2;
  return studentT95(freedom) * Math.sqrt(squares / freedom / spread);
}

/** Of Student's distribution with so many degrees of freedom, 4 at least (Abramowitz and Stegun, 26.7.5). */
function studentT95(freedom: number): number {
  const [first, second] = [(Z_95 ** 3 + Z_95) / 4, (5 * Z_95 ** 5 + 16 * Z_95 ** 3 + 3 * Z_95) / 96];
  return Z_95 + first / freedom + second / freedom ** 2;
}

export function least(values: readonly number[]): number {
  return Math.min(...values);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
