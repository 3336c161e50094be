/** What the operator tells of itself, every few seconds. */

import type { Operator } from "../../test/controlplane/operator.ts";
import type { Counts } from "./lives.ts";

export interface Traffic {
  calls: number;
  failed: number;
  /** Of the first failures, what they were. */
  readonly failures: string[];
}

export interface Reading {
  readonly minute: number;
  /** MiB */
  readonly rss: number;
  /** MiB */
  readonly heapUsed: number;
  /** Since the start of the process. */
  readonly cpuSeconds: number;
  readonly informerRestarts: number;
  readonly statusWrites: number;
}

const MIB = 2 ** 20;

export async function read({ metric }: Operator, minute: number): Promise<Reading> {
  return {
    minute,
    rss: (await metric("process_resident_memory_bytes")) / MIB,
    heapUsed: (await metric("nodejs_heap_size_used_bytes")) / MIB,
    cpuSeconds: await metric("process_cpu_seconds_total"),
    informerRestarts: await metric("hookpolicy_informer_restarts_total"),
    statusWrites: await metric("hookpolicy_status_writes_total"),
  };
}

/** One line of progress. */
export function tell(
  { minute, rss, heapUsed, cpuSeconds }: Reading,
  { calls, failed }: Traffic,
  { born, gone, wrongAllows, late }: Counts,
): string {
  return [
    `minute ${Math.floor(minute)}: RSS ${Math.round(rss)} MiB`,
    `heap ${Math.round(heapUsed)} MiB`,
    `CPU ${cpuSeconds.toFixed(0)} s`,
    `${calls} calls, ${failed} failed, ${wrongAllows} wrong, ${late} late`,
    `Clusters: ${born} created, ${gone} gone`,
  ].join("; ");
}
