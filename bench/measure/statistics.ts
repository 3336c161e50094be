/** Statistics of samples in any order; NaN where there are none. */

/** The middle one; of an even number, the mean of the two in the middle. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = NaN, high = NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}

/** One of the samples: where none lies exactly there, the next greater one. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

export function mean(samples: readonly number[]): number {
  return samples.reduce((a, b) => a + b, 0) / samples.length;
}

export function rounded(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}

export function kibibytes(value: unknown): number {
  return rounded(Buffer.byteLength(JSON.stringify(value)) / 1024);
}
