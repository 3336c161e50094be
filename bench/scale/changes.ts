/** How soon a change in the API server changes the answer. */

import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import type { HookCaller } from "../calls/caller.ts";
import { APPROVED } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";

const LIMIT_MS = 30_000;

/**
 * Milliseconds from the API server's answer to the annotation until the first call that is released, for each Cluster;
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
    const annotate = async (value: string | null): Promise<unknown> =>
      await cp.patch(clusterRef(namespace, name), { metadata: { annotations: { [APPROVED]: value } } });
    const body = requestAbout(cluster);
    await annotate("yes");
    const annotated = performance.now();
    while ((await caller.call("BeforeClusterDelete", body)).retryAfterSeconds !== 0) {
      if (performance.now() - annotated > LIMIT_MS) throw new Error(`${namespace}/${name} is never released`);
    }
    latencies.push(performance.now() - annotated);
    await annotate(null);
  }
  return latencies;
}
