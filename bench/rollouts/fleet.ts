/** A fleet whose every Cluster waits for an upgrade, the part of Cluster API in it, and what Cluster API sends. */

import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import type { HookRolloutSpec } from "../../src/api/hookpolicy.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { createClusters, kindOf } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import type { Progress } from "../part.ts";

/** Whole seconds: how soon Cluster API asks again. */
export const RETRY_SECONDS = 10;

const REGIONS = 10;
const REGION = "example.com/region";
/** The version of the topology in bench/bodies. */
const TARGET = "v1.35.0";
const HELD = "Following hooks are blocking upgrade: BeforeClusterUpgrade: waits for a free slot";

export function rolloutSpec(maxConcurrency: number): Partial<HookRolloutSpec> {
  return {
    maxConcurrency,
    // Regions limit at times, and not always: together they have twice the slots.
    spread: [{ labelKey: REGION, maxConcurrency: Math.ceil((2 * maxConcurrency) / REGIONS) }],
    retryAfterSeconds: RETRY_SECONDS,
    stages: [
      { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSucceeded: 0 },
      { name: "production" },
    ],
  };
}

/** Gives the metadata of the Clusters, as it is stored. */
export async function createWaiting(
  cp: ControlPlane,
  count: number,
  progress: Progress,
): Promise<KubeObject[]> {
  return await createClusters(cp, {
    count,
    size: "1k",
    labels: (index) => ({ [REGION]: `r${kindOf(index, REGIONS)}` }),
    finish: async (ref) => await cp.patchStatus(ref, statusOf("False", HELD)),
    progress,
  });
}

function statusOf(reconciled: "True" | "False", message: string): object {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return {
    conditions: [
      { type: "Available", status: "True", reason: "Available", message: "", lastTransitionTime },
      {
        type: "TopologyReconciled",
        status: reconciled,
        reason: reconciled === "True" ? "ReconcileSucceeded" : "ClusterUpgrading",
        message,
        observedGeneration: 1,
        lastTransitionTime,
      },
    ],
  };
}

/** When it resolves, the Cluster is not in operation any more. */
export async function endUpgrade(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const ref = clusterRef(namespace, name);
  await cp.patchStatus(ref, statusOf("True", ""));
  await cp.patch(ref, { metadata: { annotations: { [PENDING_HOOKS_ANNOTATION]: null } } });
}

/** Of the common size. */
export function upgradeRequest(cluster: KubeObject): string {
  const versions = `"fromKubernetesVersion": "v1.34.0", "toKubernetesVersion": "${TARGET}", "cluster": {`;
  return requestAbout(cluster)
    .replace("BeforeClusterDeleteRequest", "BeforeClusterUpgradeRequest")
    .replace(`"cluster": {`, versions);
}
