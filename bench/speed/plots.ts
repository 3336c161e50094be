/** How the cost of an answer grows with bodies, policies, Clusters and load. */

import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Plot, Series } from "../result.ts";
import { BARE_BYTES, COMMON_BYTES } from "./bodies.ts";
import { matchAll, settled } from "./fleet.ts";
import type { Lab, Sample, Work } from "./measure.ts";
import { SERVER_TITLES, type Servers } from "./servers.ts";

export interface PlotRun {
  readonly cp: ControlPlane;
  readonly servers: Servers;
  readonly lab: Lab;
  /** Of each point. */
  readonly seconds: number;
  readonly scale: Scale;
  readonly progress: (line: string) => void;
}

export interface Scale {
  readonly bytes: readonly number[];
  readonly policies: readonly number[];
  readonly clusters: readonly number[];
  readonly callsPerSecond: readonly number[];
}

export const WHOLE: Scale = {
  bytes: [BARE_BYTES, 4_000, COMMON_BYTES, 100_000, 250_000],
  policies: [1, 5, 10, 25, 50, 100],
  clusters: [1, 10, 100, 1000],
  callsPerSecond: [100, 250, 500, 1000, 2000, 3000],
};

/** Enough to see that it works. */
export const SKETCH: Scale = {
  bytes: [BARE_BYTES, COMMON_BYTES],
  policies: [1, 10],
  clusters: [1, 100],
  callsPerSecond: [100, 500],
};

const FRESH = { server: "hookpolicy", fresh: true } as const;
const SAME = { server: "hookpolicy", fresh: false } as const;
const OURS = [
  ["HookPolicy, other settings each time", { ...FRESH, newSettings: true }],
  ["HookPolicy, new bytes", FRESH],
  ["HookPolicy, the same bytes", SAME],
] as const;

/** The last one replaces the policies: nothing can be measured after it. */
export async function measurePlots(run: PlotRun): Promise<Plot[]> {
  return [
    await againstBytes(run),
    await againstClusters(run),
    await againstLoad(run),
    await againstPolicies(run),
  ];
}

type Point = readonly [x: number, y: number];

async function points(
  { lab, seconds, progress }: PlotRun,
  xs: readonly number[],
  plan: { readonly work: (x: number) => Work; readonly y: (sample: Sample) => number },
): Promise<Point[]> {
  const result: Point[] = [];
  for (const x of xs) {
    const y = plan.y(await lab.measure(plan.work(x), seconds));
    progress(`${plan.work(x).server} at ${x}: ${y.toPrecision(3)}`);
    result.push([x, y]);
  }
  return result;
}

async function againstBytes(run: PlotRun): Promise<Plot> {
  const subjects: readonly (readonly [string, Omit<Work, "bytes">])[] = [
    ...OURS,
    [SERVER_TITLES.peer, { server: "peer", fresh: true }],
    [SERVER_TITLES.parse, { server: "parse", fresh: true }],
    [SERVER_TITLES.discard, { server: "discard", fresh: false }],
  ];
  const series: Series[] = [];
  for (const [name, subject] of subjects) {
    const work = (bytes: number): Work => ({ ...subject, bytes });
    const measured = await points(run, run.scale.bytes, { work, y: ({ callsPerSecond }) => callsPerSecond });
    series.push({ name, points: measured.map(([bytes, y]) => [Number((bytes / 1000).toPrecision(3)), y]) });
  }
  return {
    file: "speed-body-size",
    title: "Answers per second by size of the request",
    x: { title: "KB of the request's body", scale: "log" },
    y: { title: "answers/s", scale: "log" },
    series,
  };
}

/** All of them are loaded all the time. */
async function againstClusters(run: PlotRun): Promise<Plot> {
  const series: Series[] = [];
  for (const [name, subject] of OURS) {
    const work = (clusters: number): Work => ({ ...subject, bytes: COMMON_BYTES, clusters });
    series.push({ name, points: await points(run, run.scale.clusters, { work, y: cpuMicroseconds }) });
  }
  return {
    file: "speed-clusters",
    title: "CPU time of an answer by Clusters that ask",
    x: { title: "Clusters that ask in turn", scale: "log" },
    y: { title: "µs of CPU per call, 26 KB body" },
    series,
  };
}

async function againstLoad(run: PlotRun): Promise<Plot> {
  const series: Series[] = [];
  const subjects = [
    [SERVER_TITLES.hookpolicy, "hookpolicy"],
    [SERVER_TITLES.peer, "peer"],
  ] as const;
  for (const [name, server] of subjects) {
    const measured: { readonly rate: number; readonly sample: Sample }[] = [];
    for (const rate of run.scale.callsPerSecond) {
      const work = { server, bytes: COMMON_BYTES, fresh: true, rate, connections: 500 };
      const sample = await run.lab.measure(work, run.seconds);
      run.progress(`${server} at ${rate} calls/s: p99 ${sample.p99} ms`);
      measured.push({ rate, sample });
    }
    series.push({ name: `${name}, median`, points: measured.map(({ rate, sample }) => [rate, sample.p50]) });
    series.push({ name: `${name}, p99`, points: measured.map(({ rate, sample }) => [rate, sample.p99]) });
  }
  return {
    file: "speed-load",
    title: "Time of an answer by load",
    x: { title: "calls/s over 500 connections, 26 KB body, new bytes", scale: "log" },
    y: { title: "ms from when the call was due", scale: "log" },
    series,
  };
}

async function againstPolicies(run: PlotRun): Promise<Plot> {
  const { cp, servers, scale } = run;
  const names = OURS.map(([name]) => name);
  const measured = names.map((): Point[] => []);
  for (const count of scale.policies) {
    await matchAll(cp, count);
    await settled(cp, servers.operator);
    for (const [index, [, subject]] of OURS.entries()) {
      const work = (): Work => ({ ...subject, bytes: COMMON_BYTES });
      measured[index]?.push(...(await points(run, [count], { work, y: cpuMicroseconds })));
    }
  }
  return {
    file: "speed-policies",
    title: "CPU time of an answer by policies that match",
    x: { title: "policies that match the Cluster" },
    y: { title: "µs of CPU per call, 26 KB body" },
    series: names.map((name, index) => ({ name, points: measured[index] ?? [] })),
  };
}

function cpuMicroseconds({ callsPerCpuSecond }: Sample): number {
  return 1e6 / callsPerCpuSecond;
}
