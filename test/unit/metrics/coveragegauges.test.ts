/** Who is protected, as it is scraped. */

import assert from "node:assert/strict";
import test from "node:test";
import { type Coverage, followCoverage } from "../../../src/metrics/coveragegauges.ts";
import { createMetrics } from "../../../src/metrics/metrics.ts";
import { cluster, hookPolicy } from "../builders.ts";
import { storeWith } from "../controller/fixtures.ts";

async function scraped(coverage: Coverage): Promise<Record<string, number>> {
  const metrics = createMetrics({ capiVersion: "1.14" });
  followCoverage(metrics, coverage);
  const lines = (await metrics.text())
    .split("\n")
    .filter((line) => /^hookpolicy_(clusters|policies_not_called)\{/.test(line));
  return Object.fromEntries(
    lines.map((line) => {
      const [, label = "", value] = /\{\w+="(.*)"\} (\S+)$/.exec(line) ?? [];
      return [label, Number(value)];
    }),
  );
}

const { topology: _, ...plain } = cluster();
const clusters = [
  cluster(),
  cluster({ name: "b", uid: "b", namespace: "other" }),
  { ...plain, metadata: { ...plain.metadata, name: "c", uid: "c" } },
];
const listed = { list: () => clusters };
const NONE = {
  RuntimeSDKNotInstalled: 0,
  NotRegistered: 0,
  NotDiscovered: 0,
  NamespaceNotSelected: 0,
  HookNotRegistered: 0,
};
const COUNTS = { matched: 1, unmatched: 1, matched_without_topology: 1, unmatched_without_topology: 0 };

test("Clusters are counted by whether a policy matches them and Cluster API calls hooks for them", async () => {
  const { store } = storeWith({
    policies: [hookPolicy({}, { name: "a", uid: "a" }), hookPolicy()],
    clusters,
  });
  const found = await scraped({ store, clusters: listed, notCalled: () => undefined });
  assert.deepEqual(found, { ...COUNTS, ...NONE });
});

test("policies are counted by why Cluster API never calls, and not at all until that is known", async () => {
  const { store } = storeWith({ policies: [hookPolicy()], clusters });
  const notCalled = (): { reason: string; message: string } => ({ reason: "NotRegistered", message: "" });
  assert.deepEqual(await scraped({ store, clusters: listed, notCalled }), {
    ...COUNTS,
    ...NONE,
    NotRegistered: 1,
  });
  assert.deepEqual(await scraped({ store, clusters: listed, notCalled: () => "Unknown" }), COUNTS);
});

test("before everything was read nothing is counted", async () => {
  const { store } = storeWith({ load: false });
  assert.deepEqual(await scraped({ store, clusters: listed, notCalled: () => undefined }), NONE);
});
