/** How soon a change in the API server changes the answer. */

import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { callHook, type HookServer } from "../calls/caller.ts";
import { APPROVED } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import { median, quantile, rounded } from "../measure/statistics.ts";
import { inRounds } from "../part.ts";
import { below, row, type Row } from "../result.ts";
import type { Lab } from "./lab.ts";

const LIMIT_MS = 30_000;

export async function approvalsRow(lab: Lab, server: HookServer): Promise<Row> {
  const { cp, clusters, size, progress } = lab;
  const { approvalRounds, approvalsPerRound } = size;
  const rounds = await inRounds(lab, approvalRounds, async (round) => {
    const latencies: number[] = [];
    for (const cluster of clusters.slice(round * approvalsPerRound, (round + 1) * approvalsPerRound))
      latencies.push(await approve(cp, server, cluster));
    progress(`approvals: round ${round + 1} of ${approvalRounds}`);
    return latencies;
  });
  const p99 = rounds.map((latencies) => rounded(quantile(latencies, 0.99)));
  const note = `p50 ${rounded(median(rounds.flat()))} ms, ${rounds.flat().length} changes`;
  const work = "annotation set → answer changes, p99";
  return row("annotation", work, p99, { unit: "ms", goal: below(120), note });
}

/**
 * Milliseconds from the API server's answer to the annotation until the first call that is released; calls follow one
 * another. The annotation is removed afterwards.
 */
async function approve(cp: ControlPlane, server: HookServer, cluster: KubeObject): Promise<number> {
  const { namespace = "", name } = cluster.metadata;
  const annotate = async (value: string | null): Promise<unknown> =>
    await cp.patch(clusterRef(namespace, name), { metadata: { annotations: { [APPROVED]: value } } });
  const call = { ...server, body: requestAbout(cluster) };
  await annotate("yes");
  const annotated = performance.now();
  while ((await callHook("BeforeClusterDelete", call)).retryAfterSeconds !== 0) {
    if (performance.now() - annotated > LIMIT_MS) throw new Error(`${namespace}/${name} is never released`);
  }
  const latency = performance.now() - annotated;
  await annotate(null);
  return latency;
}
