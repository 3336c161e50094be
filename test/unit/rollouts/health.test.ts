import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { type Health, isAtTarget, reachedVersion } from "../../../src/rollouts/health.ts";
import { clusterMeta, TARGET, waitingCluster } from "./fixtures.ts";

const NEWER = "v1.36.0";

interface Case {
  readonly version?: string;
  readonly reconciled?: boolean;
  readonly marked?: boolean;
  readonly health?: Health;
  /** What was known before. */
  readonly before?: string;
  readonly reached: string | undefined;
}

function reachedOf({
  version = TARGET,
  reconciled = false,
  marked = false,
  health = "Healthy",
  before,
}: Case) {
  const cluster = waitingCluster("a", {
    metadata: clusterMeta("a", {}, marked),
    topology: { className: "lab", version },
    progress: { reconciled },
  });
  return reachedVersion(cluster, health, new Map(before === undefined ? [] : [["uid-a", before]]));
}

describe("a version is reached", () => {
  const cases: Readonly<Record<string, Case>> = {
    "by a Cluster that is reconciled and healthy": { reconciled: true, reached: TARGET },
    "not by one that only wants it": { reached: undefined },
    "not by one that is reconciled and not healthy": {
      reconciled: true,
      health: "Unhealthy",
      reached: undefined,
    },
    "not by one whose health was never known": { reconciled: true, health: "Unknown", reached: undefined },
    "not while the upgrade runs": { reconciled: true, marked: true, reached: undefined },
  };
  for (const [title, each] of Object.entries(cases))
    test(title, () => assert.equal(reachedOf(each), each.reached));
});

describe("a version that was reached", () => {
  const cases: Readonly<Record<string, Case>> = {
    "stays so while Cluster API reconciles something else": { before: TARGET, reached: TARGET },
    "stays so while healthyWhen is not evaluable": { before: TARGET, health: "Unknown", reached: TARGET },
    "is reached again when the Cluster is reconciled": { before: TARGET, reconciled: true, reached: TARGET },
    "does not once the Cluster was unhealthy": { before: TARGET, health: "Unhealthy", reached: undefined },
    "does not for another version that is wanted": { before: TARGET, version: NEWER, reached: undefined },
    "makes place for a newer one": { before: TARGET, version: NEWER, reconciled: true, reached: NEWER },
    "does not while an upgrade runs": { before: TARGET, marked: true, reached: undefined },
  };
  for (const [title, each] of Object.entries(cases))
    test(title, () => assert.equal(reachedOf(each), each.reached));
});

describe("the build of a version counts", () => {
  const cases: readonly (readonly [own: string, target: string, isAt: boolean])[] = [
    ["v1.34.0+vmware.2", "v1.34.0+vmware.2", true],
    ["v1.34.0+vmware.1", "v1.34.0+vmware.2", false],
    ["v1.34.0+vmware.10", "v1.34.0+vmware.9", true],
    ["v1.34.0+rke2r1", "v1.34.0+rke2r2", false],
    ["v1.34.0+rke2r2", "v1.34.0+rke2r1", false],
    ["v1.34.1+rke2r1", "v1.34.0+rke2r2", true],
  ];
  for (const [own, target, isAt] of cases)
    test(`a Cluster at ${own} has ${isAt ? "" : "not "}reached ${target}`, () => {
      const topology = { className: "lab", version: own };
      const cluster = waitingCluster("a", { topology, progress: { reconciled: true } });
      assert.equal(isAtTarget(cluster, target), isAt);
    });
});
