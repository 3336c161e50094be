import type { PartResult, Plot, Table } from "../result.ts";
import type { Counts } from "./lives.ts";
import type { Reading, Traffic } from "./readings.ts";
import { least, mean, type Slope, slopeOf } from "./slope.ts";

export interface Lived {
  readonly minutes: number;
  readonly readings: readonly Reading[];
  readonly traffic: Traffic;
  readonly lives: Counts;
  readonly churn: ReadonlyMap<string, number>;
}

/** What a plot can show. */
const MAX_POINTS = 200;

export function resultOf(lived: Lived): Omit<PartResult, "date" | "machine"> {
  return {
    part: "soak",
    command: `make soak MINUTES=${lived.minutes}`,
    tables: [table(lived)],
    plots: [plot(lived)],
    notes: notes(lived),
  };
}

function table({ minutes, readings, traffic, lives }: Lived): Table {
  const slope = (of: "rss" | "heapUsed", reduce: typeof mean): Slope =>
    slopeOf(
      readings.map((reading) => ({ minute: reading.minute, value: reading[of] })),
      reduce,
    );
  const heap = slope("heapUsed", least);
  const rss = slope("rss", mean);
  const exactlyNone = { is: "exactly", value: 0 } as const;
  const flat = { is: "at most", value: 1 } as const;
  return {
    title: `${minutes} minutes with churn`,
    rows: [
      {
        id: "soak-heap-slope",
        work: "growth of the heap that garbage collection leaves",
        goal: flat,
        samples: [rounded(heap.perHour)],
        unit: "MiB per hour",
        note: `± ${rounded(heap.plusMinus)} (95 %); least value of each of ${heap.blocks} stretches of time`,
      },
      {
        id: "soak-rss-slope",
        work: "growth of resident memory",
        goal: flat,
        samples: [rounded(rss.perHour)],
        unit: "MiB per hour",
        note: `± ${rounded(rss.plusMinus)} (95 %); mean of each of ${rss.blocks} stretches of time`,
      },
      {
        id: "soak-wrong-allows",
        work: "a go for a Cluster that nobody had approved",
        goal: exactlyNone,
        samples: [lives.wrongAllows],
        unit: "calls",
        note: `of ${traffic.calls}`,
      },
      {
        id: "soak-failed-calls",
        work: "calls without a valid answer",
        goal: exactlyNone,
        samples: [traffic.failed],
        unit: "calls",
        ...(traffic.failures.length > 0 && { note: traffic.failures.join("; ") }),
      },
      {
        id: "soak-late",
        work: "still held a minute after the approval",
        goal: exactlyNone,
        samples: [lives.late],
        unit: "Clusters",
      },
    ],
  };
}

function plot({ minutes, readings }: Lived): Plot {
  const step = Math.max(1, Math.ceil(readings.length / MAX_POINTS));
  const thinned = readings.filter((_, index) => index % step === 0);
  const points = (of: "rss" | "heapUsed"): [number, number][] =>
    thinned.map((reading) => [rounded(reading.minute), rounded(reading[of])]);
  return {
    file: "soak-memory",
    title: `Memory over ${minutes} minutes with churn`,
    x: { title: "minutes" },
    y: { title: "MiB" },
    series: [
      { name: "resident memory", points: points("rss") },
      { name: "heap in use", points: points("heapUsed") },
    ],
  };
}

function notes({ readings, traffic, lives, churn, minutes }: Lived): string[] {
  const first = readings[0];
  const last = readings.at(-1);
  const cpu = ((last?.cpuSeconds ?? 0) - (first?.cpuSeconds ?? 0)) / (minutes * 60);
  const disturbances = [...churn].map(([what, count]) => `${count} × ${what}`).join(", ");
  return [
    `One operator, ${traffic.calls} calls (bodies of 1 KB, every fourth Cluster's of 26 KB; one in fifty on a connection of its own), ${lives.born} Clusters created and ${lives.gone} deleted; besides: ${disturbances}.`,
    `The slopes are fitted over the last 80 % of the time. Informers began anew ${last?.informerRestarts ?? 0} times, statuses were written ${last?.statusWrites ?? 0} times, and the operator took ${(cpu * 100).toFixed(1)} % of a core.`,
  ];
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
