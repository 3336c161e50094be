/** Which requests upgrade workers by a pin, about which Cluster API calls no hook. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Cluster } from "../../../src/api/meta.ts";
import {
  type RequestedOperation,
  requestedOperation,
  requestedOperations,
} from "../../../src/operations/requested-operation.ts";
import type { Workers } from "../../../src/views/cluster.ts";
import { cluster } from "../builders.ts";

const md = (name: string, version?: string): Workers => ({
  kind: "MachineDeployment",
  name,
  ...(version !== undefined && { version }),
});
const mp = (name: string, version?: string): Workers => ({ ...md(name, version), kind: "MachinePool" });

interface Given {
  readonly version?: string;
  readonly workers: readonly Workers[];
  readonly rest?: Partial<Cluster>;
}

const RECONCILED: Partial<Cluster> = { progress: { reconciled: true } };
const HELD: Partial<Cluster> = {
  progress: { heldAt: "BeforeWorkersUpgrade", workersVersion: "v1.34.0" },
};

function attempts(before: Given, after: Given): readonly RequestedOperation[] {
  const [old, now] = [before, after].map(({ version = "v1.35.0", rest = RECONCILED }) =>
    cluster(rest.metadata ?? {}, { ...rest, topology: { className: "lab", version } }),
  );
  assert.ok(old !== undefined && now !== undefined);
  const change = { before: old, after: now, workers: { before: before.workers, after: after.workers } };
  const all = requestedOperations(change);
  const own = requestedOperation(change);
  assert.deepEqual(own === undefined ? [] : all.slice(0, 1), own === undefined ? [] : [own]);
  const rest = own === undefined ? all : all.slice(1);
  for (const each of rest) assert.equal(each.cluster, now);
  return rest;
}

/** [from, to, names] of each. */
const shown = (each: readonly RequestedOperation[]): unknown[] =>
  each.map(({ call, workers }) => {
    assert.equal(call.hook, "BeforeClusterUpgrade");
    return [call.fromKubernetesVersion, call.toKubernetesVersion, workers];
  });

interface Case {
  readonly before: Given;
  readonly after: Given;
  readonly begins: readonly unknown[];
}

const UP = [["v1.33.0", "v1.34.0", ["md-0"]]];

describe("workers are upgraded", () => {
  const cases: Readonly<Record<string, Case>> = {
    "by a pin that is raised": {
      before: { workers: [md("md-0", "v1.33.0")] },
      after: { workers: [md("md-0", "v1.34.0")] },
      begins: UP,
    },
    "by the pin of a MachinePool, and not that of a MachineDeployment of the same name": {
      before: { workers: [md("a", "v1.34.0"), mp("a", "v1.33.0")] },
      after: { workers: [md("a", "v1.34.0"), mp("a", "v1.34.0")] },
      begins: [["v1.33.0", "v1.34.0", ["a"]]],
    },
    "by a pin that is lowered, too: Cluster API refuses that unless it is told not to": {
      before: { workers: [md("md-0", "v1.34.0")] },
      after: { workers: [md("md-0", "v1.33.0")] },
      begins: [["v1.34.0", "v1.33.0", ["md-0"]]],
    },
    "by the loss of a pin behind the topology": {
      before: { workers: [md("md-0", "v1.33.0")] },
      after: { workers: [md("md-0")] },
      begins: [["v1.33.0", "v1.35.0", ["md-0"]]],
    },
    "by a pin beyond the topology": {
      before: { workers: [md("md-0")] },
      after: { workers: [md("md-0", "v1.36.0")] },
      begins: [["v1.35.0", "v1.36.0", ["md-0"]]],
    },
    "by a pin to what is no version": {
      before: { workers: [md("md-0", "v1.33.0")] },
      after: { workers: [md("md-0", "newest")] },
      begins: [["v1.33.0", undefined, ["md-0"]]],
    },
    "by a pin, while a hook holds them at an older version than the topology has": {
      before: { workers: [md("md-0")], rest: HELD },
      after: { workers: [md("md-0", "v1.35.0")], rest: HELD },
      begins: [["v1.34.0", "v1.35.0", ["md-0"]]],
    },
    "by a pin, while it is not known which version they have": {
      before: { workers: [md("md-0")], rest: {} },
      after: { workers: [md("md-0", "v1.35.0")], rest: {} },
      begins: [[undefined, "v1.35.0", ["md-0"]]],
    },
    "of a paused Cluster, for which no hook is called later": {
      before: { workers: [md("md-0", "v1.33.0")], rest: { ...RECONCILED, paused: true } },
      after: { workers: [md("md-0", "v1.34.0")], rest: { ...RECONCILED, paused: true } },
      begins: UP,
    },
    "beside the topology, and each way by itself": {
      before: {
        version: "v1.34.0",
        workers: [md("a", "v1.33.0"), md("b", "v1.33.0"), md("c", "v1.33.1"), md("d")],
      },
      after: { workers: [md("a", "v1.34.0"), md("b", "v1.34.0"), md("c", "v1.34.0"), md("d")] },
      begins: [
        ["v1.33.0", "v1.34.0", ["a", "b"]],
        ["v1.33.1", "v1.34.0", ["c"]],
      ],
    },
  };
  for (const [title, { before, after, begins }] of Object.entries(cases))
    test(title, () => assert.deepEqual(shown(attempts(before, after)), begins));
});

describe("no workers are upgraded", () => {
  const cases: Readonly<Record<string, Omit<Case, "begins">>> = {
    "by the same pins in another order": {
      before: { workers: [md("a", "v1.33.0"), md("b")] },
      after: { workers: [md("b"), md("a", "v1.33.0")] },
    },
    "by a pin to the version that they have": {
      before: { workers: [md("md-0")] },
      after: { workers: [md("md-0", "v1.35.0")] },
    },
    "by the loss of a pin that is at the topology": {
      before: { workers: [md("md-0", "v1.35.0")] },
      after: { workers: [md("md-0")] },
    },
    "by new workers with a pin, or by the end of pinned ones": {
      before: { workers: [md("old", "v1.33.0")] },
      after: { workers: [md("new", "v1.34.0")] },
    },
    "that follow the topology to another version, about which hooks are called": {
      before: { version: "v1.34.0", workers: [md("a"), md("b", "v1.34.0")] },
      after: { workers: [md("a"), md("b")] },
    },
    "of a Cluster that is being deleted": {
      before: { workers: [md("md-0", "v1.33.0")] },
      after: {
        workers: [md("md-0", "v1.34.0")],
        rest: { metadata: { ...cluster().metadata, deletionTimestamp: "2026-11-21T12:00:00Z" } },
      },
    },
  };
  for (const [title, { before, after }] of Object.entries(cases))
    test(title, () => assert.deepEqual(shown(attempts(before, after)), []));
});

test("a creation with pins is one creation, and a deletion one deletion", () => {
  const workers = { before: [], after: [md("md-0", "v1.33.0")] };
  assert.deepEqual(
    requestedOperations({ after: cluster(), workers }).map(({ call }) => call.hook),
    ["BeforeClusterCreate"],
  );
  assert.deepEqual(
    requestedOperations({ before: cluster(), workers: { before: workers.after, after: [] } }).map(
      ({ call }) => call.hook,
    ),
    ["BeforeClusterDelete"],
  );
});
