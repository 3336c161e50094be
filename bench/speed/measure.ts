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
  /** Each call has bytes that were never sent before. */
  readonly fresh: boolean;
  /** Those bytes are other settings. */
  readonly newSettings?: boolean;
  readonly connections?: number;
  readonly reconnect?: boolean;
  /** Calls per second; absent: as many as are answered. */
  readonly rate?: number;
}

/** Times in milliseconds. */
export interface Sample {
  readonly callsPerSecond: number;
  readonly callsPerCpuSecond: number;
  /** Seen by the client. */
  readonly p99: number;
  /** The part of a core that the client used. Near 1, the client may be what was measured. */
  readonly clientCores: number;
  /** From HookPolicy's own histogram. */
  readonly serverP99: number | undefined;
}

export interface Lab extends Servers {
  /** The program of the load generator. */
  readonly load: string;
  readonly folder: string;
  /** The Clusters that are asked about in turn. */
  readonly clusters: readonly KubeObject[];
}

const CONNECTIONS = 16;
const DURATION = "hookpolicy_hook_call_duration_seconds";

export async function measure(lab: Lab, work: Work, seconds: number): Promise<Sample> {
  const { operator, servers } = lab;
  const { server, bytes, newSettings, ...load } = work;
  const { port, pid } = servers[server];
  const before = await bucketsOf(operator, DURATION);
  const cpuBefore = cpuSeconds(pid);
  const result = await callUnderLoad(lab.load, {
    connections: CONNECTIONS,
    ...load,
    hook: "BeforeClusterDelete",
    port,
    bodies: bodiesOf(lab, work),
    seconds,
  });
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

/** Writes the requests of all works before the first of them is measured. */
export async function writeAllBodies(lab: Lab, works: readonly Work[]): Promise<void> {
  for (const [file, { bytes, newSettings }] of new Map(works.map((work) => [bodiesOf(lab, work), work]))) {
    await writeBodies(file, lab.clusters, (cluster) => requestAbout(cluster, bytes, newSettings));
  }
}

function bodiesOf({ folder }: Lab, { bytes, newSettings = false }: Work): string {
  return join(folder, `bodies-${bytes}-${newSettings}`);
}
