/** Plans of fleets in which workers are pinned: what waits for somebody to raise the pin. */

import assert from "node:assert/strict";
import test from "node:test";
import { rawCluster } from "../raw.ts";
import { FLEET, plan, rolloutOf } from "./planned-fleet.ts";

const canary = (version: string, pin: string, status = {}): object => ({
  ...rawCluster({ namespace: "fleet", name: "b", uid: "b", generation: 1, labels: { wave: "canary" } }),
  spec: {
    topology: {
      classRef: { name: "lab" },
      version,
      workers: { machineDeployments: [{ class: "w", name: "md-0", version: pin }] },
    },
  },
  status,
});
const RECONCILED = {
  conditions: [
    { type: "TopologyReconciled", status: "True", observedGeneration: 1 },
    { type: "Available", status: "True" },
  ],
};
const others = FLEET.filter((_, index) => index !== 1);
const WAITS =
  /^Stage canary waits for fleet\/b \(workers are pinned: md-0 to v1\.34\.0\)\. The plan has no time for what comes after that\.$/m;

test("a canary that will stay behind is upgraded, and the next stage has no time", async (t) => {
  const objects = [canary("v1.34.0", "v1.34.0"), ...others, rolloutOf("upgrades")];
  const { stdout } = await plan(t, objects, "--to-version", "v1.35.0");
  assert.match(stdout, WAITS);
  assert.match(stdout, /^canary +1 +0 +2026-12-01T08:00Z +2026-12-01T08:40Z/m);
  assert.doesNotMatch(stdout, /^rest .*2026-12-01/m);
});

test("the JSON says which Cluster does not succeed", async (t) => {
  const objects = [canary("v1.34.0", "v1.34.0"), ...others, rolloutOf("upgrades")];
  const { stdout } = await plan(t, objects, "--to-version", "v1.35.0", "-o", "json");
  const { clusters } = JSON.parse(stdout) as { clusters: readonly { name: string; staysBehind?: true }[] };
  assert.deepEqual(
    clusters.map(({ name, staysBehind }) => [name, staysBehind]),
    [["b", true]],
  );
});

test("a canary that stays behind after its upgrade is named, and nothing begins", async (t) => {
  const objects = [canary("v1.35.0", "v1.34.0", RECONCILED), ...others, rolloutOf("upgrades")];
  const { stdout } = await plan(t, objects, "--to-version", "v1.35.0");
  assert.match(stdout, WAITS);
  assert.doesNotMatch(stdout, /2026-12-01T08:40Z/);
});

test("a stage that needs fewer passes without it", async (t) => {
  const stages = [
    { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSucceeded: "0%" },
    { name: "rest" },
  ];
  const objects = [canary("v1.34.0", "v1.34.0"), ...others, rolloutOf("upgrades", { stages })];
  const { stdout } = await plan(t, objects, "--to-version", "v1.35.0");
  assert.doesNotMatch(stdout, /pinned/);
  assert.match(stdout, /^rest +1 +0 +2026-12-01T0/m);
});

test("without a version, the plan is about the one at which workers are behind", async (t) => {
  const rest = {
    ...canary("v1.35.0", "v1.35.0", RECONCILED),
    metadata: { namespace: "fleet", name: "a", uid: "a", generation: 1 },
  };
  const objects = [canary("v1.35.0", "v1.34.0", RECONCILED), rest, ...others.slice(1), rolloutOf("upgrades")];
  const { stdout } = await plan(t, objects);
  assert.match(stdout, WAITS);
});
