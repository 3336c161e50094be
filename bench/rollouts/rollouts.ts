/** A HookRollout over a whole fleet: how soon a free slot is taken, and what taking and waiting cost. */

import { PERIOD_SECONDS } from "../calls/generator.ts";
import { onControlPlane, type Progress, QUICK, resultOf } from "../part.ts";
import { type PartResult, prefixed } from "../result.ts";
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
    const title = `${clusters.toLocaleString("en")} Clusters, maxConcurrency ${slots}`;
    return resultOf("rollouts", {
      versions: site.versions,
      tables: [{ title, rows: [...prefixed(`rollouts-${clusters}`, rows), site.noise.row("rollouts")] }],
      notes: notesOf(size),
    });
  });
}

function notesOf({ endsPerSecond }: RolloutSize): string[] {
  return [
    `Two replicas; all calls go to the one that does not lead, because Cluster API keeps its connections. Cluster API's part is played by the driver: it calls about each Cluster, with 26 KB, as many seconds later as the answer says, and sets and removes the marks of an upgrade. The rollout has two stages and a spread over ten regions.`,
    `Slots become free one by one, ${endsPerSecond} per second; the time counts from the API server's answer to the removal of the mark. Cluster API asks about the next Cluster every ${PERIOD_SECONDS} s, so on average half of that passes, and all of it at worst.`,
    "Reads and bytes are the API server's own counts of GET and LIST for policies, rollouts, Clusters and Namespaces while upgrades ended, divided by the number of releases. They include the reads of releases that were not confirmed, and of slots that were given back. A release reads one Cluster to learn the present resourceVersion, and lists the metadata of every Cluster only where memory does not reach that version within 0.4 s: such lists are nearly all of the bytes.",
    "The driver, etcd, kube-apiserver and both replicas share the machine, and other work may run on it. CPU time is the process's own, and says more than the milliseconds.",
  ];
}
