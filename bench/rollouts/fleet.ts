/** A fleet whose every Cluster waits for an upgrade, and what Cluster API writes and sends about it. */

import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import type { HookRolloutSpec } from "../../src/api/hook-policy.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { PERIOD_SECONDS } from "../calls/generator.ts";
import { createClusters, kindOf } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import type { Progress } from "../part.ts";

const REGIONS = 10;
const REGION = "example.com/region";
/** The version in the topology of bench/bodies. */
const TARGET = "v1.35.0";
const HELD = "Following hooks are blocking upgrade: BeforeClusterUpgrade: waits for a free slot";

export function rolloutSpec(maxConcurrency: number): Partial<HookRolloutSpec> {
  return {
    maxConcurrency,
    // Together the regions have twice the slots, so that they limit the rollout at times.
    spread: [{ labelKey: REGION, maxConcurrency: Math.ceil((2 * maxConcurrency) / REGIONS) }],
    retryAfterSeconds: PERIOD_SECONDS,
    stages: [
      { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSucceeded: 0 },
      { name: "production" },
    ],
  };
}

/** Returns the stored metadata of the Clusters. */
export async function createWaiting(
  cp: ControlPlane,
  count: number,
  progress: Progress,
): Promise<KubeObject[]> {
  return await createClusters(cp, {
    count,
    size: "1k",
    labels: (index) => ({ [REGION]: `r${kindOf(index, REGIONS)}` }),
    finish: async (ref) => await cp.patchStatus(ref, statusOf("False", "ClusterUpgrading", HELD)),
    progress,
  });
}

function statusOf(reconciled: "True" | "False", reason: string, message: string): object {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const available = { type: "Available", status: "True", reason: "Available", message: "" };
  const topology = { type: "TopologyReconciled", status: reconciled, reason, message, observedGeneration: 1 };
  return { conditions: [available, topology].map((each) => ({ ...each, lastTransitionTime })) };
}

/** Once it resolves, the Cluster shows no operation any more. */
export async function endUpgrade(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const ref = clusterRef(namespace, name);
  await cp.patchStatus(ref, statusOf("True", "ReconcileSucceeded", ""));
  await cp.patch(ref, { metadata: { annotations: { [PENDING_HOOKS_ANNOTATION]: null } } });
}

/** A request of 26 KB. */
export function upgradeRequest(cluster: KubeObject): string {
  const versions = `"fromKubernetesVersion": "v1.34.0", "toKubernetesVersion": "${TARGET}", "cluster": {`;
  return requestAbout(cluster)
    .replace("BeforeClusterDeleteRequest", "BeforeClusterUpgradeRequest")
    .replace(`"cluster": {`, versions);
}
