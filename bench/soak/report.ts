/** What the operator tells of itself, every few seconds, and what is kept of it. */

import type { Operator } from "../../test/controlplane/operator.ts";
import type { Noise } from "../measure/noise.ts";
import { mean, rounded } from "../measure/statistics.ts";
import { atMost, NONE, row, type Row, type Table } from "../result.ts";
import type { Counts } from "./lives.ts";
import { least, slopeOf } from "./slope.ts";

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

export interface Lived {
  readonly minutes: number;
  readonly readings: readonly Reading[];
  readonly traffic: Traffic;
  readonly lives: Counts;
  readonly churn: ReadonlyMap<string, number>;
  readonly noise: Noise;
}

export function tableOf({ minutes, readings, traffic, lives, noise }: Lived): Table {
  const { calls, failed, failures } = traffic;
  return {
    title: `${minutes} minutes with churn`,
    rows: [
      slopeRow("heap", "growth of the heap that garbage collection leaves", readings),
      slopeRow("rss", "growth of resident memory", readings),
      row("soak-wrong-allows", "a go for a Cluster that was not approved", lives.wrongAllows, {
        unit: "calls",
        goal: NONE,
        note: `of ${calls}`,
      }),
      row("soak-failed-calls", "calls without a valid answer", failed, {
        unit: "calls",
        goal: NONE,
        ...(failures.length > 0 && { note: failures.join("; ") }),
      }),
      row("soak-late", "still held a minute after the approval", lives.late, {
        unit: "Clusters",
        goal: NONE,
      }),
      noise.row("soak"),
    ],
  };
}

/** Flat: the 95 % interval of the slope contains 0, or is below. */
function slopeRow(of: "heap" | "rss", work: string, readings: readonly Reading[]): Row {
  const [field, reduce, value] =
    of === "heap" ? (["heapUsed", least, "least value"] as const) : (["rss", mean, "mean"] as const);
  const samples = readings.map((reading) => ({ minute: reading.minute, value: reading[field] }));
  const { perHour, plusMinus, blocks } = slopeOf(samples, reduce);
  return row(`soak-${of}-slope`, work, rounded(perHour, 2), {
    unit: "MiB per hour",
    goal: atMost(rounded(plusMinus, 2)),
    note: `± ${rounded(plusMinus, 2)} (95 %); ${value} of each of ${blocks} stretches of time`,
  });
}

export function notesOf({ readings, traffic, lives, churn, minutes }: Lived): string[] {
  const [first, last] = [readings[0], readings.at(-1)];
  const cpu = ((last?.cpuSeconds ?? 0) - (first?.cpuSeconds ?? 0)) / (minutes * 60);
  const disturbances = [...churn].map(([what, count]) => `${count} × ${what}`).join(", ");
  const rss = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const { minute = 0, rss: mib = NaN } = readings[Math.round(share * (readings.length - 1))] ?? {};
    return `${rounded(mib, 0)} MiB after ${rounded(minute, 0)} minutes`;
  });
  return [
    `One operator, ${traffic.calls} calls (bodies of 1 KB, every fourth Cluster's of 26 KB; one in fifty on a connection of its own), ${lives.born} Clusters created and ${lives.gone} deleted; besides: ${disturbances}.`,
    `The slopes are fitted over the second half of the time, and a slope is flat where its 95 % interval contains 0. Resident memory: ${rss.join(", ")}.`,
    `Informers began anew ${last?.informerRestarts ?? 0} times, statuses were written ${last?.statusWrites ?? 0} times, and the operator took ${(cpu * 100).toFixed(1)} % of a core.`,
  ];
}
