/** What every part of the bench begins and ends with. */

import { availableParallelism, cpus, release, totalmem } from "node:os";
import { installClusterDefinition } from "../test/controlplane/clusterapi.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/controlplane.ts";
import { installHookPolicy } from "../test/controlplane/operator.ts";
import { Noise } from "./measure/noise.ts";
import type { Machine, PartName, PartResult } from "./result.ts";

export type Progress = (line: string) => void;

/** BENCH_QUICK=1: everything is small, to see that it works; the figures are printed and not kept. */
export const QUICK = process.env["BENCH_QUICK"] === "1";

/** Where a part is measured. */
export interface Site {
  readonly cp: ControlPlane;
  /** Of what is measured with. */
  readonly versions: { readonly "kube-apiserver": string };
  readonly noise: Noise;
  readonly progress: Progress;
}

/** On a control plane of its own, with the kinds of HookPolicy and of Cluster API; it ends with the work. */
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

/** One after the other, with the noise of the machine before each. `work`: of rounds counted from 0. */
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

interface Measured extends Pick<PartResult, "tables" | "notes"> {
  /** Of what is measured or measured with, besides Node.js. */
  readonly versions?: Readonly<Record<string, string>>;
  readonly command?: string;
}

export function resultOf(
  part: PartName,
  { versions = {}, command = `make bench PART=${part}`, tables, notes }: Measured,
): PartResult {
  const date = new Date().toISOString().slice(0, 10);
  return { part, command, date, machine: describeMachine(versions), tables, notes };
}

function describeMachine(versions: Readonly<Record<string, string>>): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    versions: { node: process.versions.node, ...versions },
  };
}
