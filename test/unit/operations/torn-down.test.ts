/** What others do to what a Cluster owns, as the Cluster and its references show it. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { OK_TO_DELETE_ANNOTATION } from "../../../src/api/meta.ts";
import { tornDown } from "../../../src/operations/torn-down.ts";
import { viewCluster } from "../../../src/views/cluster.ts";

const HOLDING = "Following hooks are blocking upgrade: BeforeClusterUpgrade: policy";

const V1BETA2 = {
  controlPlaneRef: { apiGroup: "controlplane.cluster.x-k8s.io", kind: "LabControlPlane", name: "c1-x" },
  infrastructureRef: { apiGroup: "infrastructure.cluster.x-k8s.io", kind: "LabCluster", name: "c1-y" },
};
const V1BETA1 = {
  controlPlaneRef: {
    apiVersion: "controlplane.cluster.x-k8s.io/v1beta1",
    kind: "LabControlPlane",
    name: "c1-x",
  },
  infrastructureRef: {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1",
    kind: "LabCluster",
    name: "c1-y",
  },
};
const DELETED = { deletionTimestamp: "2026-11-21T12:00:00Z" };
const FOREGROUND = { finalizers: ["cluster.cluster.x-k8s.io", "foregroundDeletion"] };
const gone = (type: string): object => ({ type, status: "False", reason: "ObjectDeleted", message: "" });
const BOTH_GONE = { conditions: [gone("ControlPlaneAvailable"), gone("InfrastructureReady")] };

interface Raw {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function torn(
  { metadata, spec, status }: Raw,
  isBeingDeleted?: (part: { name: string }) => boolean,
): unknown {
  const raw = {
    metadata: { name: "c1", namespace: "team-a", uid: "u", resourceVersion: "1", ...metadata },
    spec: { topology: { classRef: { name: "lab" }, version: "v1.34.0" }, ...V1BETA2, ...spec },
    status,
  };
  const found = tornDown(viewCluster(raw), isBeingDeleted);
  return found && [found.reason, found.message];
}

const GONE = "LabControlPlane c1-x is gone; LabCluster c1-y is gone";
const BY_GC =
  "the garbage collector deletes what the Cluster owns, whatever holds it: its deletion is a foreground deletion";

describe("a Cluster is torn down", () => {
  test("while it is deleted in the foreground, and names what is gone already", () => {
    const metadata = { ...DELETED, ...FOREGROUND };
    assert.deepEqual(torn({ metadata }), ["ForegroundDeletion", BY_GC]);
    assert.deepEqual(torn({ metadata, status: BOTH_GONE }), ["ForegroundDeletion", `${BY_GC}; ${GONE}`]);
  });

  test("will be, where only the finalizer is there", () => {
    const [reason, message] = [torn({ metadata: FOREGROUND })].flat();
    assert.equal(reason, "ForegroundDeletion");
    assert.match(
      String(message),
      /^a deletion without a propagation policy will delete what the Cluster owns/,
    );
  });

  test("where Cluster API finds its parts no more, in each version of the Cluster", () => {
    const expected = ["OwnedObjectsDeleted", `${GONE}: Cluster API has not deleted that`];
    assert.deepEqual(torn({ metadata: DELETED, status: BOTH_GONE }), expected);
    const v1beta2 = { conditions: [], v1beta2: BOTH_GONE };
    assert.deepEqual(torn({ metadata: DELETED, spec: V1BETA1, status: v1beta2 }), expected);
  });

  test("where a part is being deleted", () => {
    assert.deepEqual(
      torn({ metadata: DELETED }, ({ name }) => name === "c1-y"),
      ["OwnedObjectsDeleted", "LabCluster c1-y is being deleted: Cluster API has not deleted that"],
    );
  });

  test("while a hook holds its upgrade", () => {
    const condition = { type: "TopologyReconciled", status: "False", reason: "x", message: HOLDING };
    const status = { conditions: [...BOTH_GONE.conditions, condition] };
    assert.deepEqual([torn({ status })].flat()[0], "OwnedObjectsDeleted");
    // Cluster API's condition then shows an error in place of the hook.
    assert.deepEqual([torn({ status: BOTH_GONE })].flat()[0], "OwnedObjectsDeleted");
  });
});

describe("a Cluster is not torn down", () => {
  const sane: readonly (readonly [why: string, raw: Raw])[] = [
    ["without a deletion", {}],
    ["by a deletion that waits", { metadata: DELETED }],
    [
      "once its deletion is released",
      {
        metadata: { ...DELETED, ...FOREGROUND, annotations: { [OK_TO_DELETE_ANNOTATION]: "" } },
        status: BOTH_GONE,
      },
    ],
    [
      "without a topology, where no hook is called",
      { metadata: { ...DELETED, ...FOREGROUND }, spec: { topology: undefined } },
    ],
    [
      "by parts that are not ready, or never were there",
      {
        metadata: DELETED,
        status: { conditions: [{ type: "InfrastructureReady", status: "False", reason: "DoesNotExist" }] },
      },
    ],
    [
      "without parts",
      { metadata: DELETED, spec: { controlPlaneRef: {}, infrastructureRef: null }, status: BOTH_GONE },
    ],
  ];
  for (const [why, raw] of sane) {
    test(why, () =>
      assert.equal(
        torn(raw, () => false),
        undefined,
      ),
    );
  }

  test("by parts that are being deleted once its deletion is released", () => {
    const metadata = { ...DELETED, annotations: { [OK_TO_DELETE_ANNOTATION]: "" } };
    assert.equal(
      torn({ metadata }, () => true),
      undefined,
    );
  });
});
