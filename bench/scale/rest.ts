/** Nothing changes: for a while Cluster API asks about all Clusters, and then about none. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Operator } from "../../test/controlplane/operator.ts";
import { PERIOD_SECONDS } from "../calls/generator.ts";
import { EVERYTHING } from "../fleet/fleet.ts";
import { settled } from "../fleet/settled.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import { countRequests } from "../measure/requests.ts";
import { kibibytes, rounded } from "../measure/statistics.ts";
import { atMost, none, row, type Row } from "../result.ts";
import { allAsk, type Lab } from "./lab.ts";

export async function restRows(lab: Lab, operator: Operator): Promise<Row[]> {
  const { cp, noise, progress } = lab;
  const { clusters, loadSeconds, restSeconds } = lab.size;
  await allAsk(lab, operator, PERIOD_SECONDS); // the first answer about each Cluster costs more
  await settled(cp, operator);
  noise.sample();
  const requests = await countRequests(cp);
  const begun = performance.now();
  const cpuBefore = cpuSeconds(operator.daemon.pid);
  const { seconds, p50, p99 } = await allAsk(lab, operator, loadSeconds);
  const cpu = cpuSeconds(operator.daemon.pid) - cpuBefore;
  progress(`all ask: ${cpu} s of CPU in ${seconds} s, p99 ${p99} ms`);
  await sleep(Math.max(0, restSeconds * 1000 - (performance.now() - begun)));
  const { writes } = await requests();
  const holding = `status of the policy that holds all ${clusters.toLocaleString("en")} Clusters`;
  const asking = `all Clusters ask every ${PERIOD_SECONDS} s (${clusters / PERIOD_SECONDS} calls/s of 26 KB)`;
  return [
    row("status-size", holding, kibibytes((await cp.get(EVERYTHING)).status), {
      unit: "KiB",
      goal: atMost(64),
    }),
    row("writes-at-rest", `writes at rest in ${Math.round(restSeconds / 60)} minutes`, writes, {
      ...none("writes"),
      note: `the first ${loadSeconds} s with all Clusters asking`,
    }),
    row("all-ask-cpu", asking, rounded((100 * cpu) / seconds), {
      unit: "% of a core",
      goal: atMost(50),
      note: `p50 ${rounded(p50)} ms, p99 ${rounded(p99)} ms`,
    }),
  ];
}
