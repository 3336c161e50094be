/** A fleet whose every Cluster waits for an upgrade, the part of Cluster API in it, and what Cluster API sends. */

import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import { GROUP, type HookRolloutSpec, VERSION } from "../../src/api/hookpolicy.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { patchCluster, patchClusterStatus, postCluster } from "../scale/clusters.ts";
import { inParallel } from "../scale/parallel.ts";
import { COMMON_BYTES, requestAbout } from "../speed/bodies.ts";

/** Whole seconds: how soon Cluster API asks again. */
export const RETRY_SECONDS = 10;
export const ROLLOUT = {
  apiVersion: `${GROUP}/${VERSION}`,
  kind: "HookRollout",
  name: "upgrades",
} as const;

const NAMESPACES = 10;
const REGIONS = 10;
const REGION = "example.com/region";
/** The version of the topology in bench/bodies. */
const TARGET = "v1.35.0";
const HELD = "Following hooks are blocking upgrade: BeforeClusterUpgrade: waits for a free slot";

export function rollout(maxConcurrency: number): KubeObject & { readonly spec: HookRolloutSpec } {
  const { apiVersion, kind, name } = ROLLOUT;
  return {
    apiVersion,
    kind,
    metadata: { name },
    spec: {
      operation: "Upgrade",
      namespaceSelector: {},
      maxConcurrency,
      // Regions limit at times, and not always: together they have twice the slots.
      spread: [{ labelKey: REGION, maxConcurrency: Math.ceil((2 * maxConcurrency) / REGIONS) }],
      retryAfterSeconds: RETRY_SECONDS,
      progressDeadline: "6h",
      stages: [
        { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSucceeded: 0 },
        { name: "production" },
      ],
    },
  };
}

/** Gives the metadata of the Clusters, as it is stored. */
export async function createWaiting(
  cp: ControlPlane,
  clusters: number,
  progress: (line: string) => void,
): Promise<KubeObject[]> {
  for (let index = 0; index < NAMESPACES; index++)
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: `team-${index}` } });
  const created: KubeObject[] = [];
  await inParallel(clusters, async (index) => {
    const at = { namespace: `team-${index % NAMESPACES}`, name: `cluster-${index}` };
    const region = `r${Math.floor(index / NAMESPACES) % REGIONS}`;
    await postCluster(cp, { ...at, size: "1k", labels: { [REGION]: region }, created: true });
    const { apiVersion, kind, metadata } = await patchClusterStatus(cp, at, statusOf("False", HELD));
    created[index] = { apiVersion, kind, metadata };
    if ((index + 1) % 1000 === 0) progress(`${index + 1} Clusters created`);
  });
  return created;
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

/** Cluster API does so in the reconcile that was answered "go". */
export async function beginUpgrade(cp: ControlPlane, { metadata }: KubeObject): Promise<void> {
  await mark(cp, metadata, "AfterClusterUpgrade");
}

/** When it resolves, the Cluster is not in operation any more. */
export async function endUpgrade(cp: ControlPlane, { metadata }: KubeObject): Promise<void> {
  const { namespace = "", name } = metadata;
  await patchClusterStatus(cp, { namespace, name }, statusOf("True", ""));
  await mark(cp, metadata, null);
}

async function mark(
  cp: ControlPlane,
  { namespace = "", name }: KubeObject["metadata"],
  hook: string | null,
): Promise<void> {
  const annotations = { [PENDING_HOOKS_ANNOTATION]: hook };
  await patchCluster(cp, { namespace, name }, { metadata: { annotations } });
}

/** Of the common size. */
export function upgradeRequest(cluster: KubeObject): Buffer {
  const versions = `"fromKubernetesVersion": "v1.34.0", "toKubernetesVersion": "${TARGET}", "cluster": {`;
  const about = requestAbout(cluster, COMMON_BYTES);
  return Buffer.from(
    about
      .replace("BeforeClusterDeleteRequest", "BeforeClusterUpgradeRequest")
      .replace(`"cluster": {`, versions),
  );
}
