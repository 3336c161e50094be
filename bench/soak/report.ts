/** The operator's own metrics during the soak, and the rows and notes that they make. */

import type { Operator } from "../../test/controlplane/operator.ts";
import { mean, rounded } from "../measure/statistics.ts";
import { atMost, none, row, type Row } from "../result.ts";
import type { Counts } from "./churn.ts";
import type { Lives } from "./lives.ts";
import { least, slopeOf } from "./slope.ts";

export interface Traffic {
  calls: number;
  failed: number;
  /** The first failures. */
  readonly failures: string[];
}

/** Memory in MiB. */
export interface Reading {
  readonly minute: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly cpuSeconds: number;
  readonly informerRestarts: number;
  readonly statusWrites: number;
}

const MIB = 2 ** 20;
/** Of ordinary life. */
const JUDGED_MINUTES = 120;

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

export interface SoakResult {
  readonly readings: readonly Reading[];
  /** How many times as much as in ordinary life happened. */
  readonly pace: number;
  readonly traffic: Traffic;
  readonly lives: Lives["counts"];
  readonly churn: Counts;
}

export function rowsOf(soaked: SoakResult): Row[] {
  const { traffic, lives } = soaked;
  const { calls, failed, failures } = traffic;
  const note = failures.length > 0 ? failures.join("; ") : undefined;
  return [
    slopeRow("heap", "growth of the heap that garbage collection leaves", soaked),
    slopeRow("rss", "growth of resident memory", soaked),
    row("soak-wrong-allows", "a release of a Cluster that was not approved", lives.wrongAllows, {
      ...none("calls"),
      note: `of ${calls}`,
    }),
    row("soak-failed-calls", "calls without a valid answer", failed, { ...none("calls"), note }),
    row("soak-late", "still held a minute after the approval", lives.late, none("Clusters")),
  ];
}

/**
 * Per hour of ordinary life, at any pace. The goal is met where the 95 % interval of the slope contains 0 or lies below it.
 */
function slopeRow(of: "heap" | "rss", work: string, { readings, pace }: SoakResult): Row {
  const [field, reduce, value] =
    of === "heap" ? (["heapUsed", least, "least value"] as const) : (["rss", mean, "mean"] as const);
  const samples = readings.map((reading) => ({ minute: reading.minute, value: reading[field] }));
  const slope = slopeOf(samples, reduce, JUDGED_MINUTES / pace);
  const [perHour, plusMinus] = [rounded(slope.perHour / pace, 3), rounded(slope.plusMinus / pace, 3)];
  const isKnown = !Number.isNaN(plusMinus);
  const interval = isKnown ? `± ${plusMinus} (95 %)` : "too short for an interval";
  return row(`soak-${of}-slope`, work, perHour, {
    unit: "MiB per hour of ordinary life",
    goal: isKnown ? atMost(plusMinus) : undefined,
    note: `${interval}; ${value} of each of ${slope.blocks} stretches of time`,
  });
}

export function notesOf({ readings, traffic, lives, churn }: SoakResult): string[] {
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined) throw new Error("the operator's metrics were never read");
  const cpu = (last.cpuSeconds - first.cpuSeconds) / ((last.minute - first.minute) * 60);
  const changes = [...churn].map(([what, count]) => `${count} × ${what}`).join(", ");
  const rss = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const { minute, rss: mib } = readings[Math.round(share * (readings.length - 1))] ?? last;
    return `${rounded(mib, 0)} MiB after ${rounded(minute, 0)} minutes`;
  });
  return [
    `One operator, ${traffic.calls} calls (bodies of 1 KB, for every fourth Cluster of 26 KB; one in fifty over a connection of its own), ${lives.born} Clusters created and ${lives.gone} deleted. Meanwhile: ${changes}.`,
    `The slopes are fitted over the last two hours of ordinary life or, where that is less, over the second half of the time; a slope is flat where its 95 % interval contains 0, of which a wide interval is no proof. Resident memory: ${rss.join(", ")}.`,
    `Informers restarted ${last.informerRestarts} times, the status was written ${last.statusWrites} times, and the operator took ${(cpu * 100).toFixed(1)} % of a core.`,
  ];
}
