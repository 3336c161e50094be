/** One server under one kind of load: how much it answers, how fast, and what that costs it. */

import { join } from "node:path";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { callUnderLoad, writeBodies } from "../calls/generator.ts";
import { requestAbout } from "../fleet/requests.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import { between, bucketsOf, quantileOf } from "../measure/histogram.ts";
import type { ServerName, Servers } from "./servers.ts";

export interface Work {
  readonly server: ServerName;
  readonly bytes: number;
  /** Whether each call has bytes that were never sent before. */
  readonly fresh: boolean;
  /** In those bytes, other settings each time, which no rule reads. */
  readonly newSettings?: boolean;
  readonly connections?: number;
  readonly reconnect?: boolean;
  /** Calls per second; absent: as many as are answered. */
  readonly rate?: number;
}

export interface Sample {
  readonly callsPerSecond: number;
  readonly callsPerCpuSecond: number;
  /** Milliseconds, as the client sees it. */
  readonly p99: number;
  /** How much of a core the client used: near 1, it may be what was measured. */
  readonly clientCores: number;
  /** Milliseconds, of HookPolicy's own histogram. */
  readonly serverP99: number | undefined;
}

export interface Lab {
  /** The load generator. */
  readonly load: string;
  readonly folder: string;
  readonly servers: Servers;
  /** Asked about in turn. */
  readonly clusters: readonly KubeObject[];
}

const CONNECTIONS = 16;
const DURATION = "hookpolicy_hook_call_duration_seconds";

export async function measure(lab: Lab, work: Work, seconds: number): Promise<Sample> {
  const { server, fresh, reconnect, rate, connections = CONNECTIONS } = work;
  const { operator, servers } = lab.servers;
  const { port, pid } = servers[server];
  const load = {
    hook: "BeforeClusterDelete",
    port,
    bodies: bodiesOf(lab, work),
    seconds,
    connections,
  } as const;
  const before = await bucketsOf(operator, DURATION);
  const cpuBefore = cpuSeconds(pid);
  const result = await callUnderLoad(lab.load, { ...load, reconnect, rate, fresh });
  const cpu = cpuSeconds(pid) - cpuBefore;
  const answered = between(before, await bucketsOf(operator, DURATION));
  return {
    callsPerSecond: result.calls / result.seconds,
    callsPerCpuSecond: result.calls / cpu,
    p99: result.p99,
    clientCores: result.cpuSeconds / result.seconds,
    serverP99: server === "hookpolicy" ? quantileOf(answered, 0.99) * 1000 : undefined,
  };
}

/** Before the first of them is measured. */
export async function writeAllBodies(lab: Lab, works: readonly Work[]): Promise<void> {
  for (const [file, { bytes, newSettings }] of new Map(works.map((work) => [bodiesOf(lab, work), work]))) {
    await writeBodies(file, lab.clusters, (cluster) => requestAbout(cluster, bytes, newSettings));
  }
}

function bodiesOf({ folder }: Lab, { bytes, newSettings = false }: Work): string {
  return join(folder, `bodies-${bytes}-${newSettings}`);
}
