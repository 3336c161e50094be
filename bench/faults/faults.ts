/** Every fault under load: wrong allows, failed calls, and the time until all answers are right again. */

import { clusterApiBinaries } from "../../test/controlplane/binaries.ts";
import { Noise } from "../measure/noise.ts";
import { type Progress, QUICK, resultOf } from "../part.ts";
import { mergeResults } from "../report/merge.ts";
import { readResult } from "../report/report.ts";
import type { PartResult } from "../result.ts";
import { API_SERVER } from "./api-server.ts";
import { CERTIFICATES } from "./certificates.ts";
import { CLOCK } from "./clock.ts";
import { CLUSTER_API } from "./cluster-api.ts";
import { DISK } from "./disk.ts";
import { runScenario } from "./engine.ts";
import { HOARDER, NEIGHBOURS } from "./neighbours.ts";
import { POLICIES } from "./policies.ts";
import { REPLICAS } from "./replicas.ts";
import { type FinishedScenario, linesOf, tablesOf } from "./report.ts";
import type { Scenario } from "./scenario.ts";

const SCENARIOS: readonly Scenario[] = [
  ...REPLICAS,
  ...API_SERVER,
  ...POLICIES,
  NEIGHBOURS,
  HOARDER,
  ...CLOCK,
  ...CERTIFICATES,
  DISK,
  CLUSTER_API,
];

const NOTES = [
  "Each fault has a control plane of its own (etcd, kube-apiserver, kube-controller-manager) and two replicas. A balancer stands in for their Service: probes decide where new connections go, half a second late, and open connections stay. It gets 200 calls/s, three of four over kept connections, every fifth with an older copy of the Cluster. Some Clusters are held, some are approved, and some change between the two again and again. Where Cluster API itself is restarted, it creates what is approved, and what is answered about that afterwards is not judged.",
  "An answer is a wrong allow if at no instant between the call and the answer the API server may have held what releases the Cluster; the driver knows that from its own writes. A call fails if it gets no HTTP 200 with status Success within 10 s.",
  "A process that is killed, or runs out of memory, loses the calls that it is answering, and new connections fail while the Service still sends them there: no server can prevent that. Cluster API calls again after milliseconds, and the Cluster stays held until then.",
  "Expensive policies: 30 of 80 nested loops each, 256 object gates over 2,000 objects, 512 expressions over 1.2 MB of variables, and 50 edits a second, on Clusters with 1,000 annotations. Calls go to the replicas directly. The edits keep the API server busy on the same 2 cores, so it and etcd run at a lower priority (nice 5) than the replicas and the driver; a release waits for the API server's reads. A stretch is the CPU time of the operator's thread from one turn of the event loop to the next: no call is answered meanwhile.",
  "Too much of another tenant: 1,500 Clusters with an annotation of 255 KiB each, created while the calls go on; the replicas have the shipped memory limit for their heap.",
  "The clock is shifted inside the replicas' processes (Date), the memory limit is V8's, as the shipped NODE_OPTIONS sets one, and the full disk is a tmpfs, which needs root.",
];

/** FAULTS=id,id runs only these scenarios, and keeps the earlier figures of the others. */
export async function runFaults(progress: Progress): Promise<PartResult> {
  const only = process.env["FAULTS"]?.split(",");
  const done: FinishedScenario[] = [];
  const broken: string[] = [];
  const noise = new Noise();
  for (const scenario of SCENARIOS.filter(({ id }) => only?.includes(id) ?? true)) {
    progress(`${scenario.title} (${scenario.id})`);
    try {
      const noiseMs = noise.sample();
      const run = await runScenario(scenario);
      done.push({ scenario, run, noiseMs });
      for (const line of linesOf(run)) progress(`  ${line}`);
    } catch (error) {
      broken.push(`${scenario.title}: could not be run (${String(error).split("\n")[0]})`);
      progress(`  could not be run: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  const { version } = await clusterApiBinaries(progress);
  const result = resultOf("faults", {
    versions: { "Cluster API": version },
    tables: tablesOf(done),
    notes: [...NOTES, ...broken],
  });
  const again = done.map(({ scenario: { id } }) => id);
  return only === undefined || QUICK ? result : mergeResults(readResult("faults"), result, again);
}
