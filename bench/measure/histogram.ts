/** A histogram of the operator's metrics, between two readings. */

import type { Operator } from "../../test/controlplane/operator.ts";

/** Cumulative counts by upper bound in seconds, of all series together. */
export type Buckets = ReadonlyMap<number, number>;

export async function bucketsOf(operator: Operator, metric: string): Promise<Buckets> {
  const line = new RegExp(`^${metric}_bucket\\{(?:.*,)?le="([^"]+)".*\\} (\\S+)$`, "gm");
  const counts = new Map<number, number>();
  for (const [, le = "", count] of (await operator.scrape()).matchAll(line)) {
    const bound = le === "+Inf" ? Infinity : Number(le);
    counts.set(bound, (counts.get(bound) ?? 0) + Number(count));
  }
  return counts;
}

/** Counts between the two readings, up to each bound. */
export function between(before: Buckets, after: Buckets): Buckets {
  return new Map(
    [...after].toSorted(([a], [b]) => a - b).map(([le, count]) => [le, count - (before.get(le) ?? 0)]),
  );
}

/** Assumes that each bucket is filled evenly, as Prometheus' histogram_quantile does. */
export function quantileOf(counted: Buckets, quantile: number): number {
  const wanted = (counted.get(Infinity) || NaN) * quantile;
  let [lower, below] = [0, 0];
  for (const [upper, count] of counted) {
    if (upper === Infinity) break;
    if (count >= wanted) return lower + ((upper - lower) * (wanted - below)) / (count - below);
    [lower, below] = [upper, count];
  }
  return Infinity;
}
