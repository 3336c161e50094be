/** Which requests to the API server begin an operation that a hook would be asked about. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Cluster, ObjectMeta } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import {
  type RequestedOperation,
  requestedOperation,
  type RequestedChange,
} from "../../../src/operations/requested-operation.ts";
import { cluster, DELETE } from "../builders.ts";

const MOVED = { annotations: { "clusterctl.cluster.x-k8s.io/delete-for-move": "" } };

const RUNS = { annotations: { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" } };

function at(version: string, rest: Partial<Cluster> = {}, meta: Partial<ObjectMeta> = {}): Cluster {
  return cluster(meta, { topology: { className: "lab", version }, ...rest });
}

const reconciled = { progress: { reconciled: true } };
const from = at("v1.34.0", reconciled);
const to = at("v1.35.0", reconciled);

const upgrade = (fromKubernetesVersion: string, toKubernetesVersion: string): HookCall => ({
  hook: "BeforeClusterUpgrade",
  fromKubernetesVersion,
  toKubernetesVersion,
});

describe("a request begins", () => {
  const cases: Record<string, { change: RequestedChange; call: RequestedOperation["call"] }> = {
    "a deletion, of a Cluster that is stored": { change: { before: from }, call: DELETE },
    "a deletion, of a paused Cluster": { change: { before: cluster({}, { paused: true }) }, call: DELETE },
    "a deletion, of a Cluster with the mark of clusterctl move that is not paused": {
      change: { before: cluster(MOVED) },
      call: DELETE,
    },
    "a creation": { change: { after: from }, call: { hook: "BeforeClusterCreate" } },
    "an upgrade, from the version that the Cluster has reached": {
      change: { before: from, after: to },
      call: upgrade("v1.34.0", "v1.35.0"),
    },
    "an upgrade, from the version of its machines while its spec has another one": {
      change: { before: at("v1.34.0", { progress: { version: "v1.33.0" } }), after: to },
      call: upgrade("v1.33.0", "v1.35.0"),
    },
    "an upgrade, from the version of its spec, which is in calls, whatever its kubelets are named": {
      change: {
        before: at("v1.34.0", { progress: { reconciled: true, version: "v1.34.0-eks-1" } }),
        after: to,
      },
      call: upgrade("v1.34.0", "v1.35.0"),
    },
    "an upgrade, from a version that nothing shows": {
      change: { before: at("v1.34.0"), after: to },
      call: { hook: "BeforeClusterUpgrade", toKubernetesVersion: "v1.35.0" },
    },
    "an upgrade, to what is no version": {
      change: { before: from, after: at("latest") },
      call: { hook: "BeforeClusterUpgrade", fromKubernetesVersion: "v1.34.0" },
    },
    "an upgrade, of a paused Cluster whose upgrade to another version runs": {
      change: { before: at("v1.34.0", reconciled, RUNS), after: { ...to, paused: true } },
      call: upgrade("v1.34.0", "v1.35.0"),
    },
    "an upgrade, together with the mark of one and a pause": {
      change: { before: from, after: { ...at("v1.35.0", reconciled, RUNS), paused: true } },
      call: upgrade("v1.34.0", "v1.35.0"),
    },
    "an upgrade, together with the end of a pause": {
      change: { before: at("v1.34.0", { ...reconciled, paused: true }), after: to },
      call: upgrade("v1.34.0", "v1.35.0"),
    },
  };
  for (const [name, { change, call }] of Object.entries(cases)) {
    test(name, () => {
      const requested = requestedOperation(change);
      assert.deepEqual(requested?.call, call);
      assert.equal(requested.cluster, change.after ?? change.before);
    });
  }
});

const deleted = { deletionTimestamp: "2026-11-21T12:00:00Z" };
const { topology: _, ...without } = cluster();
const APPROVED = { annotations: { "runtime.cluster.x-k8s.io/ok-to-delete": "" } };

describe("a deletion in the foreground, or one that orphans what the Cluster owns", () => {
  const cases: Record<string, { cluster: Cluster; begins: boolean; cascades: boolean }> = {
    "is asked about": { cluster: from, begins: true, cascades: true },
    "is asked about once more while the Cluster is being deleted": {
      cluster: at("v1.34.0", {}, deleted),
      begins: true,
      cascades: true,
    },
    "is asked about with the mark of clusterctl move, too": {
      cluster: at("v1.34.0", { paused: true }, MOVED),
      begins: true,
      cascades: true,
    },
    "is as any other once the hook has released the Cluster": {
      cluster: at("v1.34.0", {}, { ...APPROVED, ...deleted }),
      begins: false,
      cascades: false,
    },
    "is as any other for a Cluster without topology, which has no hooks": {
      cluster: without,
      begins: true,
      cascades: false,
    },
  };
  for (const [name, { cluster: before, begins, cascades }] of Object.entries(cases)) {
    test(name, () => {
      for (const cascade of ["Foreground", "Orphan"] as const) {
        const requested = requestedOperation({ before, cascade });
        assert.deepEqual([requested !== undefined, requested?.cascade === cascade], [begins, cascades]);
      }
    });
  }
});

describe("a request begins nothing", () => {
  const cases: Record<string, RequestedChange> = {
    "that repeats a deletion": { before: cluster(deleted) },
    "by which clusterctl move deletes what it has moved": { before: cluster(MOVED, { paused: true }) },
    "that creates a paused Cluster": { after: cluster({}, { paused: true }) },
    "that creates a paused Cluster whose upgrade runs, as a restore": {
      after: cluster(RUNS, { paused: true }),
    },
    "that pauses a Cluster whose upgrade runs": {
      before: at("v1.34.0", {}, RUNS),
      after: at("v1.34.0", { paused: true }, RUNS),
    },
    "that leaves the version": { before: from, after: at("v1.34.0", {}, { labels: { a: "b" } }) },
    "that changes the version of a paused Cluster": { before: from, after: { ...to, paused: true } },
    "that changes the version of a Cluster that is being deleted": {
      before: from,
      after: at("v1.35.0", {}, deleted),
    },
    "that gives a Cluster a topology": { before: without, after: to },
    "that takes the topology away": { before: from, after: without },
  };
  for (const [name, change] of Object.entries(cases)) {
    test(name, () => assert.equal(requestedOperation(change), undefined));
  }
});
