/** How soon a change in the API server changes the answer. */

import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { HookCaller } from "./calls.ts";
import { patchCluster } from "./clusters.ts";
import { APPROVED } from "./fleet.ts";
import { bodyAbout } from "./bodies.ts";

const LIMIT_MS = 30_000;

/**
 * Milliseconds from the API server's answer to the annotation until the first call that is let go, for each Cluster;
 * calls follow one another. The annotation goes again.
 */
export async function approvals(
  cp: ControlPlane,
  caller: HookCaller,
  clusters: readonly KubeObject[],
): Promise<number[]> {
  const latencies: number[] = [];
  for (const cluster of clusters) {
    const { namespace = "", name } = cluster.metadata;
    const at = { namespace, name };
    const body = bodyAbout(cluster);
    await annotate(cp, at, "yes");
    const annotated = performance.now();
    while ((await caller.call("BeforeClusterDelete", body)).retryAfterSeconds !== 0) {
      if (performance.now() - annotated > LIMIT_MS) throw new Error(`${namespace}/${name} is never let go`);
    }
    latencies.push(performance.now() - annotated);
    await annotate(cp, at, null);
  }
  return latencies;
}

async function annotate(
  cp: ControlPlane,
  at: { namespace: string; name: string },
  value: string | null,
): Promise<void> {
  await patchCluster(cp, at, { metadata: { annotations: { [APPROVED]: value } } });
}
