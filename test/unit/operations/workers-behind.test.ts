import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { PinnedWorkers, TopologyProgress } from "../../../src/api/meta.ts";
import { hasWorkersBehind, pinnedBehind } from "../../../src/operations/workers-behind.ts";
import { cluster } from "../builders.ts";

const TARGET = "v1.35.0";

interface Case {
  readonly pins?: readonly string[];
  readonly progress?: TopologyProgress;
  readonly isBehind: boolean;
  readonly pinned?: string;
}

const pinnedTo = (version: string, index: number): PinnedWorkers => ({
  kind: index % 2 === 0 ? "MachineDeployment" : "MachinePool",
  name: `w${index}`,
  version,
});

describe("workers", () => {
  const cases: Readonly<Record<string, Case>> = {
    "without a pin are not behind: Cluster API waits for them": {
      progress: { workersVersion: "v1.34.0" },
      isBehind: false,
    },
    "with an older pin are behind": {
      pins: ["v1.35.0", "v1.34.1"],
      progress: { workersVersion: TARGET },
      isBehind: true,
      pinned: "workers are pinned: w1 to v1.34.1",
    },
    "with many older pins are behind, and the first are named": {
      pins: ["v1.34.0", "v1.34.1", "v1.34.2", "v1.34.3", "v1.34.4", "v1.34.5", "v1.34.6"],
      isBehind: true,
      pinned:
        "workers are pinned: w0 to v1.34.0, w1 to v1.34.1, w2 to v1.34.2, w3 to v1.34.3, w4 to v1.34.4 and 2 more",
    },
    "with a pin that is no version are behind": {
      pins: ["newest"],
      isBehind: true,
      pinned: "workers are pinned: w0 to newest",
    },
    "with a pin at the version, or a newer one, are not behind": {
      pins: ["v1.35.0", "v1.36.0"],
      isBehind: false,
    },
    "whose pin was raised are behind until their machines follow": {
      pins: [TARGET],
      progress: { workersVersion: "v1.34.0" },
      isBehind: true,
    },
    "are behind while one of several versions is older": {
      pins: [TARGET],
      progress: { workersVersions: ["v1.35.0", "v1.34.0"] },
      isBehind: true,
    },
    "at several newer versions are not behind": {
      pins: [TARGET, "v1.36.0"],
      progress: { workersVersions: ["v1.35.0", "v1.36.0"] },
      isBehind: false,
    },
  };
  for (const [title, { pins = [], progress, isBehind, pinned }] of Object.entries(cases))
    test(title, () => {
      const pinnedWorkers = pins.map(pinnedTo);
      const topology = {
        className: "lab",
        version: "v1.36.0",
        ...(pins.length > 0 && { pinnedWorkers }),
      };
      const given = cluster({}, { topology, ...(progress && { progress }) });
      assert.equal(hasWorkersBehind(given, TARGET), isBehind);
      assert.equal(pinnedBehind(given, TARGET), pinned);
    });
});

test("workers at a build that has no order with the version are behind", () => {
  const pinnedWorkers = [pinnedTo("v1.35.0+rke2r2", 0)];
  const given = cluster({}, { topology: { className: "lab", version: TARGET, pinnedWorkers } });
  assert.equal(hasWorkersBehind(given, "v1.35.0+rke2r1"), true);
  assert.equal(hasWorkersBehind(given, "v1.35.0+rke2r2"), false);
});
