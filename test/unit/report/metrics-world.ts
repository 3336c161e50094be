/** What metrics mirror of an operator that has nothing but what a test gives. */

import type { MetricsWorld } from "../../../src/report/metric-makers.ts";
import { NOW } from "../builders.ts";
import { storeWith } from "../memory/fixtures.ts";

export function metricsWorld(given: Partial<MetricsWorld>): MetricsWorld {
  return {
    store: storeWith({}).store,
    clusters: { list: () => [] },
    rollouts: { entries: () => [] },
    tasks: { all: () => [] },
    queue: { depth: 0 },
    informers: () => [],
    notCalled: () => undefined,
    hookNotCalled: () => undefined,
    discoveryFailed: () => undefined,
    expiries: () => [],
    leading: false,
    clusterNames: false,
    now: () => NOW,
    ...given,
  };
}
