/** A HookRollout over a whole fleet: how soon a free slot is taken, what that costs, and what it costs to wait. */

import { onControlPlane, type Progress, QUICK, resultOf } from "../part.ts";
import type { PartResult } from "../result.ts";
import { RETRY_SECONDS } from "./fleet.ts";
import { measureRollout, type RolloutSize } from "./measure.ts";

const FULL: RolloutSize = {
  clusters: 10_000,
  slots: 200,
  ends: 100,
  endsPerSecond: 1,
  loadSeconds: 60,
  restSeconds: 60,
};

const SKETCH: RolloutSize = { ...FULL, clusters: 200, slots: 20, ends: 10, loadSeconds: 10, restSeconds: 10 };

export async function runRollouts(progress: Progress): Promise<PartResult> {
  const size = QUICK ? SKETCH : FULL;
  const { clusters, slots } = size;
  return await onControlPlane(progress, async (site) => {
    const rows = await measureRollout(size, site);
    const named = rows.map((each) => ({ ...each, id: `rollouts-${clusters}-${each.id}` }));
    const title = `${clusters.toLocaleString("en")} Clusters, maxConcurrency ${slots}`;
    return resultOf("rollouts", {
      versions: site.versions,
      tables: [{ title, rows: [...named, site.noise.row("rollouts")] }],
      notes: notesOf(size),
    });
  });
}

function notesOf({ endsPerSecond }: RolloutSize): string[] {
  return [
    `Two replicas; all calls go to the one that does not lead, as they do where Cluster API keeps its connections. Each Cluster is asked about again after as many seconds as the answer says, with 26 KB; a stand-in for Cluster API sets and removes the marks. The rollout has two stages and a spread over ten regions.`,
    `Slots become free ${endsPerSecond} per second, one by one, from the API server's answer to the removal of the mark. The Cluster that is next asks every ${RETRY_SECONDS} s, so half of that passes on average, and all of it at worst.`,
    `Reads and bytes are the API server's own counts of GET and LIST for policies, rollouts, Clusters and Namespaces while upgrades ended, divided by the number of gos: the reads of gos that were not confirmed and those that give slots back are in them. A go reads one Cluster to learn the present resourceVersion, and lists the metadata of every Cluster only where memory does not reach that version within 0.4 s: such lists are nearly all of the bytes.`,
    "The driver, etcd, kube-apiserver and both replicas share the machine, also with work that is not part of the bench. CPU time is the process's own, and says more than the milliseconds.",
  ];
}
