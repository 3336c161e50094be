/** Whether memory grows: a line through one value per block of time, since neighbouring samples are nearly the same. */

import { mean } from "../measure/statistics.ts";

export interface Sample {
  readonly minute: number;
  readonly value: number;
}

export interface Slope {
  readonly perHour: number;
  /** Half of the 95 % confidence interval; NaN where there are too few blocks. */
  readonly plusMinus: number;
  readonly blocks: number;
}

interface Point {
  /** Hours */
  readonly x: number;
  readonly y: number;
}

/** A point of which others are independent, and what the line's constant is multiplied with there. */
interface Term extends Point {
  readonly one: number;
}

/** At the start caches fill and code is compiled. */
const SKIPPED = 0.5;
const BLOCKS = 24;
const LEAST_BLOCKS = 3;
const LEAST_FOR_INTERVAL = 6;
/** Above this correlation of neighbouring blocks, memory counts as drifting. */
const DRIFTS = 0.4;
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
 * Where each block is like the one before, the interval of least squares is far too narrow. Generalised least squares take the
 * correlation into account; above DRIFTS, where its estimate says little, the blocks are taken as a random walk with drift
 * (Perron and Yabu, Journal of Econometrics 151, 2009, pages 56 to 69). They begin to do so at 0.8, where the intervals of 24
 * blocks are still too narrow: from 0.4 on, 90 to 96 % of them hold a slope of 0, but fewer exclude a small one.
 */
function fit(values: readonly Point[]): Slope {
  const blocks = values.length;
  if (blocks < LEAST_BLOCKS) return { perHour: NaN, plusMinus: NaN, blocks };
  const points = centred(values);
  const line = regression(independent(points, 0));
  if (blocks < LEAST_FOR_INTERVAL) return { perHour: line.perHour, plusMinus: NaN, blocks };
  const alike = Math.max(0, correlation(line.residuals));
  const { perHour, error } = alike > DRIFTS ? drift(points) : regression(independent(points, alike));
  return { perHour, plusMinus: studentT95(blocks - 2) * error, blocks };
}

/** Around 0: squares of large numbers would lose the small differences. */
function centred(points: readonly Point[]): Point[] {
  const [meanX, meanY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  return points.map(({ x, y }) => ({ x: x - meanX, y: y - meanY }));
}

/** Prais and Winsten 1954: of each point, only what the one before does not tell. */
function independent(points: readonly Point[], alike: number): Term[] {
  const scale = Math.sqrt(1 - alike ** 2);
  return points.map(({ x, y }, index) => {
    const before = points[index - 1];
    if (before === undefined) return { one: scale, x: scale * x, y: scale * y };
    return { one: 1 - alike, x: x - alike * before.x, y: y - alike * before.y };
  });
}

/** Least squares with a constant; `error` is the standard error of the slope. */
function regression(terms: readonly Term[]): { perHour: number; error: number; residuals: number[] } {
  const of = (product: (term: Term) => number): number => sum(terms.map(product));
  const [ones, onesX, squaresX] = [
    of(({ one }) => one ** 2),
    of(({ one, x }) => one * x),
    of(({ x }) => x ** 2),
  ];
  const [onesY, xY] = [of(({ one, y }) => one * y), of(({ x, y }) => x * y)];
  const determinant = ones * squaresX - onesX ** 2;
  const perHour = (ones * xY - onesX * onesY) / determinant;
  const constant = (squaresX * onesY - onesX * xY) / determinant;
  const residuals = terms.map(({ one, x, y }) => y - constant * one - perHour * x);
  const variance = sum(residuals.map((residual) => residual ** 2)) / (terms.length - 2);
  return { perHour, error: Math.sqrt((variance * ones) / determinant), residuals };
}

/** The mean step, which depends on the first and the last block alone. */
function drift(points: readonly Point[]): { perHour: number; error: number } {
  const steps = points.slice(1).map(({ x, y }, index) => {
    const before = points[index] ?? { x, y };
    return { hours: x - before.x, by: y - before.y };
  });
  const hours = mean(steps.map((step) => step.hours));
  const by = mean(steps.map((step) => step.by));
  const variance = sum(steps.map((step) => (step.by - by) ** 2)) / (steps.length - 1);
  return { perHour: by / hours, error: Math.sqrt(variance / steps.length) / hours };
}

/** The correlation of neighbouring residuals, corrected for the bias that the fit of a line causes. */
function correlation(residuals: readonly number[]): number {
  const squares = sum(residuals.map((residual) => residual ** 2));
  if (squares < 1e-12) return 0; // all blocks are on the line
  const neighbours = sum(residuals.slice(1).map((residual, index) => residual * (residuals[index] ?? 0)));
  const blocks = residuals.length;
  return (blocks * (neighbours / squares) + 2) / (blocks - 4);
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
