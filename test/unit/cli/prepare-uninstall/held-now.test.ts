/** Of the Clusters that are being deleted and paused, those that something may hold when they are resumed. */

import assert from "node:assert/strict";
import test from "node:test";
import { heldNow, isDeletionPaused } from "../../../../src/cli/prepare-uninstall/held-now.ts";
import type { KubeObject } from "../../../../src/kube/resource.ts";
import { viewCluster } from "../../../../src/views/cluster.ts";

type Input = Parameters<typeof heldNow>[0];

const DYING = { deletionTimestamp: "2026-11-23T12:00:00Z" };
const SPEC = { paused: true, topology: { classRef: { name: "c" }, version: "v1.34.0" } };
const RULES = [{ name: "r", hooks: ["BeforeClusterDelete"] }];
const API = "hookpolicy.dev/v1alpha1";

const metadata = (name: string, namespace?: string): KubeObject["metadata"] => ({
  name,
  uid: `${namespace}-${name}`,
  resourceVersion: "1",
  ...(namespace !== undefined && { namespace }),
});
const cluster = (over: object = DYING, spec: object = {}, namespace = "team-a") =>
  viewCluster({ metadata: { ...metadata("prod-1", namespace), ...over }, spec: { ...SPEC, ...spec } });
const policy = (over: object = {}): Input["policies"][number] => ({
  apiVersion: API,
  kind: "HookPolicy",
  metadata: metadata("protect", "team-a"),
  spec: { rules: RULES, ...over },
});
const line = (namespace: string): string =>
  `Cluster ${namespace}/prod-1, which is being deleted and paused: BeforeClusterDelete may hold it when it is resumed`;

function held(given: Partial<Input> = {}): string[] {
  const deployment = { metadata: metadata("hookpolicy"), status: { availableReplicas: 2 } };
  const paused = [cluster(), cluster(DYING, {}, "team-b")];
  return heldNow({ policies: [policy()], rollouts: [], deployment, paused, ...given }).map(
    ({ text }) => text,
  );
}

test("a policy holds those of its namespace", () => {
  assert.deepEqual(held(), [line("team-a")]);
});

test("a ClusterHookPolicy, or a rollout of deletions, those of each", () => {
  const all = {
    apiVersion: API,
    kind: "ClusterHookPolicy",
    metadata: metadata("all"),
    spec: { rules: RULES },
  } as const;
  assert.deepEqual(held({ policies: [all] }), [line("team-a"), line("team-b")]);
  const rollout = (spec: object): KubeObject => ({ metadata: metadata("all"), spec });
  assert.deepEqual(held({ policies: [], rollouts: [rollout({ operation: "Delete" })] }), [
    line("team-a"),
    line("team-b"),
  ]);
  for (const spec of [{ operation: "Upgrade" }, { operation: "Delete", mode: "Audit" }])
    assert.deepEqual(held({ policies: [], rollouts: [rollout(spec)] }), []);
});

test("nothing holds them where no policy holds deletions", () => {
  for (const over of [{ mode: "Audit" }, { rules: [{ name: "r", hooks: ["BeforeClusterUpgrade"] }] }])
    assert.deepEqual(held({ policies: [policy(over)], paused: undefined }), []);
});

test("a Cluster is named once, also if a status still names it", () => {
  const row = {
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID: "team-a-prod-1",
    hook: "BeforeClusterDelete",
  };
  const status = { decisions: [{ ...row, verdict: "Blocked" }] };
  assert.deepEqual(held({ policies: [{ ...policy(), status }] }), [
    "Cluster team-a/prod-1 at BeforeClusterDelete, by HookPolicy team-a/protect",
  ]);
});

test("a Cluster that is not paused, not being deleted, without topology, or released is none of them", () => {
  assert.ok(isDeletionPaused(cluster()));
  const released = { ...DYING, annotations: { "runtime.cluster.x-k8s.io/ok-to-delete": "" } };
  for (const other of [
    cluster(DYING, { paused: false }),
    cluster({}),
    cluster(DYING, { topology: undefined }),
    cluster(released),
  ])
    assert.ok(!isDeletionPaused(other));
});
