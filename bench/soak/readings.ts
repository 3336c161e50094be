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

export async function read({ ports }: Operator, minute: number): Promise<Reading> {
  const answer = await fetch(`http://127.0.0.1:${ports.metrics}/metrics`, {
    signal: AbortSignal.timeout(10_000),
  });
  const text = await answer.text();
  const of = (name: string): number => sumOf(text, name);
  return {
    minute,
    rss: of("process_resident_memory_bytes") / MIB,
    heapUsed: of("nodejs_heap_size_used_bytes") / MIB,
    cpuSeconds: of("process_cpu_seconds_total"),
    informerRestarts: of("hookpolicy_informer_restarts_total"),
    statusWrites: of("hookpolicy_status_writes_total"),
  };
}

/** Of all series of a metric, in the text format of Prometheus. */
function sumOf(text: string, name: string): number {
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** One line for whoever waits. */
export function tell(
  readings: readonly Reading[],
  { calls, failed }: Traffic,
  { born, gone, wrongAllows, late }: Counts,
): string {
  const latest = readings.at(-1);
  if (latest === undefined) return "";
  const { minute, rss, heapUsed, cpuSeconds } = latest;
  return [
    `minute ${Math.floor(minute)}: RSS ${Math.round(rss)} MiB`,
    `heap ${Math.round(heapUsed)} MiB`,
    `CPU ${cpuSeconds.toFixed(0)} s`,
    `${calls} calls, ${failed} failed, ${wrongAllows} wrong, ${late} late`,
    `Clusters: ${born} created, ${gone} gone`,
  ].join("; ");
}
