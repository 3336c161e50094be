/** The beginning and the end of every part of the bench. */

import { availableParallelism, cpus, release, totalmem } from "node:os";
import { installClusterDefinition } from "../test/controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/control-plane.ts";
import { installHookPolicy } from "../test/controlplane/operator.ts";
import { Noise } from "./measure/noise.ts";
import type { PartName, PartResult } from "./result.ts";

export type Progress = (line: string) => void;

/** BENCH_QUICK=1: every part is small, to see that it works. */
export const QUICK = process.env["BENCH_QUICK"] === "1";

export interface Site {
  readonly cp: ControlPlane;
  readonly versions: { readonly "kube-apiserver": string };
  readonly noise: Noise;
  readonly progress: Progress;
}

/** Runs `work` on a control plane of its own, with the kinds of HookPolicy and of Cluster API. */
export async function onControlPlane<T>(
  progress: Progress,
  work: (site: Site) => Promise<T>,
  options: { readonly controllers?: boolean } = {},
): Promise<T> {
  const cp = await startControlPlane({ progress, ...options });
  try {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    const { gitVersion } = await cp.request<{ gitVersion: string }>("GET", "/version");
    return await work({ cp, versions: { "kube-apiserver": gitVersion }, noise: new Noise(), progress });
  } finally {
    await cp.stop();
  }
}

/** The memory limit that docs/high-availability.md advises for 10,000 Clusters. */
export const LARGE_FLEET_MIB = 1024;

/** Runs the rounds one after the other, counted from 0, and samples the noise of the machine before each. */
export async function inRounds<T>(
  { noise }: Pick<Site, "noise">,
  count: number,
  work: (round: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  for (let round = 0; round < count; round++) {
    noise.sample();
    results.push(await work(round));
  }
  return results;
}

interface Measurement extends Pick<PartResult, "tables" | "notes"> {
  /** Versions of other programs than Node.js. */
  readonly versions?: Readonly<Record<string, string>>;
  readonly command?: string;
}

export function resultOf(
  part: PartName,
  { versions = {}, command = `make bench PART=${part}`, tables, notes }: Measurement,
): PartResult {
  const machine = {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    versions: { node: process.versions.node, ...versions },
  };
  return { part, command, date: new Date().toISOString().slice(0, 10), machine, tables, notes };
}
