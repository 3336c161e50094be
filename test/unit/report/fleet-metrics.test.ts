/** Who is protected, as it is scraped. */

import assert from "node:assert/strict";
import test from "node:test";
import type { MetricsWorld } from "../../../src/report/metric-makers.ts";
import { createMetrics } from "../../../src/report/metrics.ts";
import { cluster, hookPolicy, NOW } from "../builders.ts";
import { storeWith } from "../memory/fixtures.ts";
import { readyStatus } from "../rollouts/fixtures.ts";
import { replicaOf } from "../rollouts/rollout-fixture.ts";
import { metricsWorld } from "./metrics-world.ts";

async function scraped(coverage: Partial<MetricsWorld>): Promise<Record<string, number>> {
  const metrics = createMetrics({ capiVersion: "1.14" });
  metrics.follow(metricsWorld(coverage));
  const lines = (await metrics.text())
    .split("\n")
    .filter((line) => /^hookpolicy_(clusters|policies_not_called|cluster_bypasses)\{/.test(line));
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
const COUNTS = {
  matched: 1,
  unmatched: 1,
  matched_without_topology: 1,
  unmatched_without_topology: 0,
  "ok-to-delete": 0,
  "disable-update-version-check": 0,
  "disable-update-class-name-check": 0,
};

test("Clusters are counted by whether a policy matches them and Cluster API calls hooks for them", async () => {
  const { store } = storeWith({
    policies: [hookPolicy({}, { name: "a", uid: "a" }), hookPolicy()],
    clusters,
  });
  const found = await scraped({ store, clusters: listed });
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

test("rollouts count with the policies, by the hook of their operation", async () => {
  const { rollouts } = replicaOf({ specs: { creations: { operation: "Create" }, upgrades: {} } });
  const { store } = storeWith({ policies: [hookPolicy()], clusters });
  const found = await scraped({
    store,
    clusters: listed,
    rollouts,
    hookNotCalled: (hook) =>
      hook === "BeforeClusterCreate" ? { reason: "HookNotRegistered", message: "" } : undefined,
  });
  assert.deepEqual(found, { ...COUNTS, ...NONE, HookNotRegistered: 1 });
});

test("a rollout of mode Audit is halted for nobody", async () => {
  const halted = { type: "Halted", status: "True", reason: "TooManyFailures", message: "" } as const;
  const status = readyStatus({ conditions: [{ ...halted, lastTransitionTime: NOW.toISOString() }] });
  const metrics = createMetrics({ capiVersion: "1.14" });
  const { rollouts } = replicaOf({ specs: { upgrades: {}, audit: { mode: "Audit" } }, status });
  metrics.follow(metricsWorld({ rollouts }));
  const lines = (await metrics.text())
    .split("\n")
    .filter((line) => line.startsWith("hookpolicy_rollout_halted{"));
  assert.deepEqual(lines.toSorted(), [
    'hookpolicy_rollout_halted{rollout="audit"} 0',
    'hookpolicy_rollout_halted{rollout="upgrades"} 1',
  ]);
});

test("before everything was read nothing is counted", async () => {
  const { store } = storeWith({ load: false });
  assert.deepEqual(await scraped({ store, clusters: listed }), NONE);
});

test("Clusters are counted by the annotations that let them past hooks, as long as no deletion has begun", async () => {
  const annotations = {
    "runtime.cluster.x-k8s.io/ok-to-delete": "",
    "unsafe.topology.cluster.x-k8s.io/disable-update-version-check": "",
  };
  const marked = [
    cluster({ name: "a", uid: "a", annotations }),
    cluster({ name: "b", uid: "b", annotations, deletionTimestamp: "2026-11-21T12:00:00Z" }),
    { ...plain, metadata: { ...plain.metadata, name: "c", uid: "c", annotations } },
  ];
  const { store } = storeWith({ clusters: marked });
  const found = await scraped({ store, clusters: { list: () => marked } });
  assert.deepEqual(
    [found["ok-to-delete"], found["disable-update-version-check"], found["disable-update-class-name-check"]],
    [1, 3, 0],
  );
});

test("of what is not known, or without leader election, there is no series", async () => {
  const single = async (given: Partial<MetricsWorld>): Promise<string[]> => {
    const metrics = createMetrics({ capiVersion: "1.14" });
    metrics.follow(metricsWorld(given));
    return (await metrics.text()).match(/^hookpolicy_(leader|discovery_failed) .*/gm) ?? [];
  };
  assert.deepEqual(await single({}), []);
  const known = { leading: () => false, discoveryFailed: () => true };
  assert.deepEqual(await single(known), ["hookpolicy_leader 0", "hookpolicy_discovery_failed 1"]);
});
