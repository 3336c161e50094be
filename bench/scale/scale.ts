/** A whole fleet: how long it takes to load, what it costs to hold, and how soon a change counts everywhere. */

import { join } from "node:path";
import { loadGenerator } from "../../test/controlplane/binaries.ts";
import { CONCURRENCY } from "../../test/controlplane/post.ts";
import { keptConnections } from "../calls/caller.ts";
import { writeBodies } from "../calls/generator.ts";
import { createFleet, policiesPerCluster } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import { settled } from "../fleet/settled.ts";
import { rounded } from "../measure/statistics.ts";
import { LARGE_FLEET_MIB, onControlPlane, type Progress, QUICK, resultOf, type Site } from "../part.ts";
import { mergeResults } from "../report/merge.ts";
import { readResult } from "../report/report.ts";
import { atMost, type PartResult, prefixed, type Row, type Table } from "../result.ts";
import { approvalRows, editRows } from "./changes.ts";
import { idleMemory, memoryRows, restRows } from "./cost.ts";
import type { Lab, ScaleSize } from "./lab.ts";
import { measureStarts } from "./startup.ts";

const ROUNDS = {
  startRounds: 3,
  editRounds: 5,
  approvalRounds: 3,
  approvalsPerRound: 150,
  loadSeconds: 60,
  restSeconds: 600,
} as const;

const FULL: readonly ScaleSize[] = [
  // A start of 1.5 s differs by a quarter from round to round.
  { ...ROUNDS, clusters: 1000, policies: 50, startRounds: 9, restSeconds: 120, memoryGoal: atMost(40) },
  { ...ROUNDS, clusters: 10_000, policies: 100, memoryMiB: LARGE_FLEET_MIB, memoryGoal: atMost(200) },
];

const SKETCH: readonly ScaleSize[] = [
  {
    clusters: 200,
    policies: 10,
    startRounds: 2,
    editRounds: 2,
    approvalRounds: 1,
    approvalsPerRound: 20,
    loadSeconds: 10,
    restSeconds: 20,
  },
];

/** CLUSTERS=1000 measures only the fleet of that size, and keeps the earlier figures of the other. */
export async function runScale(progress: Progress): Promise<PartResult> {
  const only = process.env["CLUSTERS"];
  const all = QUICK ? SKETCH : FULL;
  const sizes = all.filter(({ clusters }) => only === undefined || String(clusters) === only);
  if (sizes.length === 0)
    throw new Error(`CLUSTERS is ${only}; allowed: ${all.map(({ clusters }) => clusters).join(", ")}`);
  const tables: Table[] = [];
  let versions = {};
  for (const size of sizes) {
    const title = `${size.clusters.toLocaleString("en")} Clusters, ${size.policies} policies`;
    const work = async (site: Site): Promise<void> => {
      ({ versions } = site);
      tables.push({ title, rows: await measureSize(size, site) });
    };
    await onControlPlane((line) => progress(`${title}: ${line}`), work);
  }
  const result = resultOf("scale", { versions, tables, notes: notesOf(all) });
  return only === undefined || QUICK ? result : mergeResults(readResult("scale"), result, sizes.map(partOf));
}

/** Begins the ids of the rows. */
function partOf({ clusters }: ScaleSize): string {
  return `scale-${clusters}`;
}

async function measureSize(size: ScaleSize, site: Site): Promise<Row[]> {
  const { cp, noise, progress } = site;
  const generator = await loadGenerator(progress);
  const idle = await idleMemory(site);
  const clusters = await createFleet(cp, size, progress);
  const bodies = join(cp.folder, "bodies");
  await writeBodies(bodies, clusters, (cluster) => requestAbout(cluster));
  const lab: Lab = { ...site, size, clusters, generator, bodies };
  const memory = await memoryRows(lab, idle);
  const { start, operator } = await measureStarts(lab);
  const server = keptConnections(cp, operator, CONCURRENCY);
  const approvals = await approvalRows(lab, server);
  await settled(cp, operator);
  const edits = await editRows(lab, operator, server);
  const rows = [start, ...memory, ...approvals, ...edits, ...(await restRows(lab, operator))];
  const part = partOf(size);
  return [...prefixed(part, rows), noise.row(part)];
}

function notesOf(sizes: readonly ScaleSize[]): string[] {
  const perCluster = sizes.map((size) => `${rounded(policiesPerCluster(size))} of ${size.policies}`);
  return [
    `Every Cluster has topology variables of 26 KB, is being deleted and is held: the worst case. Each is matched by ${perCluster.join(" and ")} policies (annotation, window and CEL gates in equal parts), one of which matches all.`,
    "The start counts from the spawn of the process to the log line that says that everything is loaded. The plain LIST is a bundled program that lists Clusters, policies, overrides and Namespaces side by side as client-go's pager does: pages of 500 one after the other on kept connections, compressed if the API server does so, each parsed and dropped. It shares no code with the operator, whose faster lists would otherwise make faster what they are compared with. Both run one after the other in each round, each after a change of one Cluster, as they come all the time in a real fleet: in a lab at rest, the API server's watch cache keeps no snapshot after etcd's compaction (every 5 minutes), and then reads each page after the first from etcd, for three to five times the CPU time.",
    "Resident memory is VmRSS of the process; the inspector collects the garbage, and the idle process has an inspector, too. An operator that is loaded and asked finds neither statuses nor Events, and has written them all by then. The idle process has done nothing yet: compiled code, more pages of Node.js's own file and what the lists leave in malloc come with the first work, whatever the number of Clusters.",
    "An approval is a PATCH of the Cluster; the time runs from the API server's answer until a call is released, which includes the read that confirms it. Calls follow one another on one connection, and 0.15 to 0.6 s pass between two approvals. A release takes two rounds of reads: a consistent LIST of the ClusterHookPolicies, then all others side by side, at the version of that LIST. Newer API servers answer it from their watch cache, which first asks etcd how new it is, at most every 100 ms (storage/cacher/progress, ConditionalProgressRequester). For the median it makes little difference whether approvals come apart or in a row.",
    "After an edit the operator decides about Clusters in steps of a few milliseconds and answers calls in between; a call about a Cluster that is not decided yet is decided when it comes. The driver, the API server and etcd share the two cores with the operator, which the slowest calls show.",
  ];
}
