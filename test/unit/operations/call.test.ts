/** The call that Cluster API would make: nothing but what the Cluster shows, its topology wants or a person says. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookCall, HookName } from "../../../src/api/runtime-hooks.ts";
import { HOOK_NAMES, VERSION_FIELDS } from "../../../src/api/runtime-hooks.ts";
import { expectedCall } from "../../../src/operations/call.ts";
import { cluster } from "../builders.ts";
import { blocking, type ClusterState, shown, versions } from "../../redteam/shown-clusters.ts";

interface Case {
  readonly hook: HookName;
  readonly shows: ClusterState;
  /** That a person asks about. */
  readonly version?: string;
  readonly want: Omit<HookCall, "hook">;
}

const AT_REST: ClusterState = { version: "v1.35.0" };
const UPGRADING: ClusterState = {
  version: "v1.35.0",
  marks: "AfterClusterUpgrade",
  step: "v1.33.0",
  message: blocking("BeforeControlPlaneUpgrade", "v1.35.0", "v1.34.0", "v1.35.0"),
};

describe("expectedCall", () => {
  const cases: Readonly<Record<string, Case>> = {
    "an upgrade goes from the version that the control plane has to the one that the topology wants": {
      hook: "BeforeClusterUpgrade",
      shows: { ...AT_REST, controlPlane: { versions: versions("v1.34.0") } },
      want: { fromKubernetesVersion: "v1.34.0", toKubernetesVersion: "v1.35.0" },
    },
    "an upgrade of a Cluster that shows no version comes from an unknown one": {
      hook: "BeforeClusterUpgrade",
      shows: AT_REST,
      want: { toKubernetesVersion: "v1.35.0" },
    },
    "an upgrade of a control plane that has several versions comes from an unknown one": {
      hook: "BeforeClusterUpgrade",
      shows: { ...AT_REST, controlPlane: { versions: versions("v1.33.0", "v1.34.0") } },
      want: { toKubernetesVersion: "v1.35.0" },
    },
    "another version that is asked about changes only where the upgrade goes to": {
      hook: "BeforeClusterUpgrade",
      shows: { ...AT_REST, controlPlane: { versions: versions("v1.34.0") } },
      version: "v1.36.0",
      want: { fromKubernetesVersion: "v1.34.0", toKubernetesVersion: "v1.36.0" },
    },
    "another version that is asked about tells nothing of where the upgrade comes from": {
      hook: "BeforeClusterUpgrade",
      shows: AT_REST,
      version: "v1.36.0",
      want: { toKubernetesVersion: "v1.36.0" },
    },
    "a step of the control plane goes from its version to the next of the plan": {
      hook: "BeforeControlPlaneUpgrade",
      shows: UPGRADING,
      want: { fromKubernetesVersion: "v1.33.0", toKubernetesVersion: "v1.34.0" },
    },
    "a step that no plan shows goes to the version that the topology wants": {
      hook: "BeforeControlPlaneUpgrade",
      shows: AT_REST,
      want: { toKubernetesVersion: "v1.35.0" },
    },
    "workers go from their version to that of the step": {
      hook: "BeforeWorkersUpgrade",
      shows: { ...UPGRADING, step: "v1.34.0", workers: { versions: versions("v1.33.0") } },
      want: { fromKubernetesVersion: "v1.33.0", toKubernetesVersion: "v1.34.0" },
    },
    "a step has ended at its version": {
      hook: "AfterControlPlaneUpgrade",
      shows: { ...UPGRADING, step: "v1.34.0" },
      want: { kubernetesVersion: "v1.34.0" },
    },
    "an upgrade has ended at the version that the topology wants": {
      hook: "AfterClusterUpgrade",
      shows: UPGRADING,
      want: { kubernetesVersion: "v1.35.0" },
    },
    "a deletion is about no version, whichever is asked about": {
      hook: "BeforeClusterDelete",
      shows: AT_REST,
      version: "v1.36.0",
      want: {},
    },
  };
  for (const [name, { hook, shows, version, want }] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(expectedCall(hook, shown(shows), version), { hook, ...want }));
  }
});

test("a call has no field that the requests of its hook do not have", () => {
  for (const on of [shown(AT_REST), shown(UPGRADING), cluster()]) {
    for (const hook of HOOK_NAMES) {
      const { hook: _, ...rest } = expectedCall(hook, on, "v1.36.0");
      const allowed: readonly string[] = VERSION_FIELDS[hook];
      assert.deepEqual(
        Object.keys(rest).filter((field) => !allowed.includes(field)),
        [],
        hook,
      );
    }
  }
});
