/** One server under one kind of load: how much it answers, how fast, and what that costs it. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { requestAbout } from "./bodies.ts";
import { callUnderLoad } from "./load.ts";
import { cpuSeconds, type ServerName, type Servers } from "./servers.ts";

export interface Work {
  readonly server: ServerName;
  readonly bytes: number;
  /** Whether each call has bytes that were never sent before. */
  readonly fresh: boolean;
  /** In those bytes, other settings each time: what was decided before does not count. */
  readonly newSettings?: boolean;
  readonly connections?: number;
  readonly reconnect?: boolean;
  /** Calls per second; absent: as many as are answered. */
  readonly rate?: number;
  /** How many ask in turn; absent: all of them. */
  readonly clusters?: number;
}

export interface Sample {
  readonly callsPerSecond: number;
  readonly callsPerCpuSecond: number;
  /** Milliseconds, as the client sees it. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** How much of a core the client used: near 1, it may be what was measured. */
  readonly clientCores: number;
  /** Milliseconds, of HookPolicy's own histogram. */
  readonly serverP99: number | undefined;
}

const CONNECTIONS = 16;

export class Lab {
  readonly #load: string;
  readonly #folder: string;
  readonly #servers: Servers;
  readonly #clusters: readonly KubeObject[];
  readonly #files = new Map<string, Promise<string>>();

  constructor(parts: {
    readonly load: string;
    readonly folder: string;
    readonly servers: Servers;
    readonly clusters: readonly KubeObject[];
  }) {
    this.#load = parts.load;
    this.#folder = parts.folder;
    this.#servers = parts.servers;
    this.#clusters = parts.clusters;
  }

  async measure(work: Work, seconds: number): Promise<Sample> {
    const { server, fresh, reconnect, rate, connections = CONNECTIONS } = work;
    const { urls, pids, operator } = this.#servers;
    const bodiesFile = await this.#bodies(work);
    const before = cpuSeconds(pids[server]);
    const answered = server === "hookpolicy" ? await buckets(operator) : undefined;
    const result = await callUnderLoad(this.#load, {
      url: urls[server],
      bodiesFile,
      seconds,
      connections,
      reconnect,
      rate,
      fresh,
    });
    const { calls, p50, p99, p999 } = result;
    const used = cpuSeconds(pids[server]) - before;
    return {
      callsPerSecond: calls / result.seconds,
      callsPerCpuSecond: calls / used,
      p50,
      p99,
      p999,
      clientCores: result.cpuSeconds / result.seconds,
      serverP99: answered && quantileOf(answered, await buckets(operator), 0.99) * 1000,
    };
  }

  /** One request per Cluster. */
  async #bodies({ bytes, newSettings = false, clusters = this.#clusters.length }: Work): Promise<string> {
    const name = `bodies-${bytes}-${clusters}-${newSettings}`;
    const known = this.#files.get(name);
    if (known !== undefined) return await known;
    const file = join(this.#folder, name);
    const lines = this.#clusters
      .slice(0, clusters)
      .map((cluster) => `${requestAbout(cluster, bytes, newSettings)}\n`);
    const written = writeFile(file, lines).then(() => file);
    this.#files.set(name, written);
    return await written;
  }
}

/** A histogram's cumulative counts by upper bound, in seconds. */
type Buckets = ReadonlyMap<number, number>;

const BUCKET = /^hookpolicy_hook_call_duration_seconds_bucket\{.*?le="([^"]+)".*\} (\S+)$/gm;

async function buckets(operator: Operator): Promise<Buckets> {
  const text = await operator.scrape();
  const counts = new Map<number, number>();
  for (const [, le = "", count] of text.matchAll(BUCKET)) {
    const bound = le === "+Inf" ? Infinity : Number(le);
    counts.set(bound, (counts.get(bound) ?? 0) + Number(count)); // of all hooks
  }
  return counts;
}

/** Of what was counted in between, spread evenly within each bucket: as Prometheus' histogram_quantile does. */
export function quantileOf(before: Buckets, after: Buckets, quantile: number): number {
  const counted = (bound: number): number => (after.get(bound) ?? 0) - (before.get(bound) ?? 0);
  const wanted = counted(Infinity) * quantile;
  const bounds = [...after.keys()].toSorted((a, b) => a - b);
  const index = bounds.findIndex((bound) => counted(bound) >= wanted);
  const upper = bounds[index] ?? Infinity;
  if (upper === Infinity) return Infinity;
  const lower = bounds[index - 1];
  const below = lower === undefined ? 0 : counted(lower);
  const inside = counted(upper) - below;
  return inside === 0 ? upper : (lower ?? 0) + (upper - (lower ?? 0)) * ((wanted - below) / inside);
}
