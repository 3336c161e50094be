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

/** What was counted in between, up to each bound. */
export function between(before: Buckets, after: Buckets): Buckets {
  return new Map(
    [...after].toSorted(([a], [b]) => a - b).map(([le, count]) => [le, count - (before.get(le) ?? 0)]),
  );
}

/** Spread evenly within each bucket: as Prometheus' histogram_quantile does. */
export function quantileOf(counted: Buckets, quantile: number): number {
  const wanted = (counted.get(Infinity) ?? NaN) * quantile;
  const bounds = [...counted.keys()];
  const index = bounds.findIndex((bound) => (counted.get(bound) ?? 0) >= wanted);
  const upper = bounds[index] ?? Infinity;
  if (upper === Infinity) return Infinity;
  const lower = bounds[index - 1];
  const below = lower === undefined ? 0 : (counted.get(lower) ?? 0);
  const inside = (counted.get(upper) ?? 0) - below;
  return inside === 0 ? upper : (lower ?? 0) + (upper - (lower ?? 0)) * ((wanted - below) / inside);
}
