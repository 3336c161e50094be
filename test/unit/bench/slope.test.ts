import assert from "node:assert/strict";
import { test } from "node:test";
import { mean, quantile } from "../../../bench/measure/statistics.ts";
import { least, type Sample, type Slope, slopeOf } from "../../../bench/soak/slope.ts";

/** One sample every 10 s. */
function samples(minutes: number, value: (minute: number, index: number) => number): Sample[] {
  return Array.from({ length: minutes * 6 }, (_, index) => ({
    minute: index / 6,
    value: value(index / 6, index),
  }));
}

test("memory that grows by 6 an hour has a slope of 6, however long it is looked at", () => {
  for (const minutes of [10, 60]) {
    const { perHour, plusMinus } = slopeOf(
      samples(minutes, (minute) => 100 + minute / 10),
      mean,
    );
    assert.ok(Math.abs(perHour - 6) < 0.01, String(perHour));
    assert.ok(plusMinus < 0.01, String(plusMinus));
  }
});

test("what is taken at the start, and kept, is no growth", () => {
  const { perHour } = slopeOf(
    samples(60, (minute) => (minute < 10 ? 50 + minute * 10 : 150)),
    mean,
  );
  assert.equal(perHour, 0);
});

test("only the last minutes count, where they are less than the second half", () => {
  const late = samples(60, (minute) => Math.min(minute, 50));
  assert.equal(slopeOf(late, mean, 9).perHour, 0);
  assert.ok(slopeOf(late, mean, 40).perHour > 30);
});

test("garbage that comes and goes is no growth, and the interval holds 0", () => {
  const sawtooth = samples(60, (_, index) => 60 + ((index * 7) % 13));
  for (const reduce of [mean, least]) {
    const { perHour, plusMinus } = slopeOf(sawtooth, reduce);
    assert.ok(Math.abs(perHour) <= plusMinus + 1e-9, `${perHour} ± ${plusMinus}`);
  }
});

test("growth below the garbage is seen in what collection leaves", () => {
  const leak = samples(60, (minute, index) => 60 + minute / 6 + ((index * 7) % 13));
  const { perHour, plusMinus } = slopeOf(leak, least);
  assert.ok(Math.abs(perHour - 10) < plusMinus + 2, `${perHour} ± ${plusMinus}`);
  assert.ok(perHour - plusMinus > 0);
});

/** Neighbouring blocks have the correlation `alike`: an autoregressive process, with 1 as its noise. */
function drifting(alike: number, next: () => number, growthPerBlock = 0): Sample[] {
  let drift = 0;
  const blocks = Array.from({ length: 48 }, () => (drift = alike * drift + next()));
  return blocks.map((value, index) => ({ minute: index, value: 100 + value + growthPerBlock * index }));
}

/** The same numbers in each run (Park and Miller 1988); the sum of 12 is nearly normal. */
function normals(seed: number): () => number {
  let state = seed;
  const uniform = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return () => Array.from({ length: 12 }, uniform).reduce((a, b) => a + b, -6);
}

/** Of so many soaks. */
function shareOf(alike: number, growthPerBlock: number, is: (slope: Slope) => boolean): number {
  const next = normals(1);
  const slopes = Array.from({ length: 2000 }, () => slopeOf(drifting(alike, next, growthPerBlock), mean));
  return slopes.filter(is).length / slopes.length;
}

for (const alike of [0, 0.3, 0.5, 0.7, 0.9, 1]) {
  test(`of what does not grow, the interval of 95 % holds 0 nearly as often where the correlation is ${alike}`, () => {
    const held = shareOf(alike, 0, ({ perHour, plusMinus }) => Math.abs(perHour) <= plusMinus);
    assert.ok(held > 0.89, String(held));
  });
}

for (const [alike, atLeast] of [
  [0, 0.93],
  [0.3, 0.63],
] as const)
  test(`growth by the noise of a block in four blocks is seen where the correlation is ${alike}`, () => {
    const seen = shareOf(alike, 0.25, ({ perHour, plusMinus }) => perHour > plusMinus);
    assert.ok(seen > atLeast, String(seen));
  });

test("growth is seen where each block is like the one before", () => {
  for (const grown of [
    (minute: number): number => Math.sqrt(minute),
    (minute: number): number => minute ** 2,
  ]) {
    const { perHour, plusMinus } = slopeOf(samples(60, grown), mean);
    assert.ok(perHour > plusMinus, `${perHour} ± ${plusMinus}`);
  }
});

test("in two minutes there are too few blocks for an interval", () => {
  const { perHour, plusMinus } = slopeOf(
    samples(2, (minute) => 100 + minute),
    mean,
  );
  assert.ok(Math.abs(perHour - 60) < 1e-6, String(perHour));
  assert.ok(Number.isNaN(plusMinus));
});

test("too few samples give no slope, rather than a flat one", () => {
  const few = [0, 7, 9, 12].map((minute) => ({ minute, value: minute })); // the first and the last do not count
  assert.ok(Number.isNaN(slopeOf(few, mean).perHour));
});

test("a quantile is a value that occurred", () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.equal(quantile(values, 0.5), 50);
  assert.equal(quantile(values, 0.99), 99);
  assert.equal(quantile([7], 0.99), 7);
});
