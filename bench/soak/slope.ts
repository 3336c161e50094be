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

interface Point {
  /** Hours */
  readonly x: number;
  readonly y: number;
}

/** At the start caches fill and code is compiled. */
const SKIPPED = 0.5;
const BLOCKS = 24;
const LEAST_BLOCKS = 6;
/** From this correlation of neighbouring blocks on, memory is taken to drift. */
const DRIFTS = 0.3;
const Z_95 = 1.96;

/**
 * Of the last minutes, at most of the second half; NaN where they have too few samples. `reduce` makes the value of a
 * block; the smallest is what garbage collection cannot free.
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

/**
 * Least squares where the blocks are independent of one another. Where each is like the one before, their interval is far
 * too narrow: the blocks are then taken as a random walk with drift. After Perron and Yabu (Journal of Econometrics 151,
 * 2009, pages 56 to 69), without their generalised least squares between the two.
 */
function fit(points: readonly Point[]): Slope {
  const blocks = points.length;
  if (blocks < LEAST_BLOCKS) return { perHour: NaN, plusMinus: NaN, blocks };
  const [meanX, meanY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  const spread = sum(points.map(({ x }) => (x - meanX) ** 2));
  const perHour = sum(points.map(({ x, y }) => (x - meanX) * (y - meanY))) / spread;
  const residuals = points.map(({ x, y }) => y - meanY - perHour * (x - meanX));
  if (correlation(residuals) > DRIFTS) return { ...drift(points), blocks };
  return { perHour, plusMinus: studentT95(blocks - 2) * standardError(residuals, spread), blocks };
}

/** From step to step: no more than the first and the last block tell of the slope. */
function drift(points: readonly Point[]): { perHour: number; plusMinus: number } {
  const steps = points.slice(1).map(({ x, y }, index) => {
    const before = points[index] ?? { x, y };
    return { hours: x - before.x, by: y - before.y };
  });
  const hours = mean(steps.map((step) => step.hours));
  const by = mean(steps.map((step) => step.by));
  const residuals = steps.map((step) => step.by - by);
  const plusMinus = studentT95(steps.length - 1) * standardError(residuals, steps.length, 1);
  return { perHour: by / hours, plusMinus: plusMinus / hours };
}

/** Of neighbours, corrected for the line that was fitted: what it leaves is less alike than the noise is. */
function correlation(residuals: readonly number[]): number {
  const squares = sum(residuals.map((residual) => residual ** 2));
  if (squares < 1e-12) return 0; // all blocks are on the line
  const neighbours = sum(residuals.slice(1).map((residual, index) => residual * (residuals[index] ?? 0)));
  const blocks = residuals.length;
  return (blocks * (neighbours / squares) + 2) / (blocks - 4);
}

function standardError(residuals: readonly number[], spread: number, parameters = 2): number {
  const squares = sum(residuals.map((residual) => residual ** 2));
  return Math.sqrt(squares / (residuals.length - parameters) / spread);
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
