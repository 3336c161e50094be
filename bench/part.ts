/** What every part of the bench begins and ends with. */

import { installClusterDefinition } from "../test/controlplane/clusterapi.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/controlplane.ts";
import { installHookPolicy } from "../test/controlplane/operator.ts";
import { describeMachine } from "./measure/machine.ts";
import type { PartName, PartResult } from "./result.ts";

export type Progress = (line: string) => void;

/** BENCH_QUICK=1: everything is small, to see that it works; the figures are printed and not kept. */
export const QUICK = process.env["BENCH_QUICK"] === "1";

/** A control plane of its own, with the kinds of HookPolicy and of Cluster API; it ends with the work. */
export async function onControlPlane<T>(
  progress: Progress,
  work: (cp: ControlPlane) => Promise<T>,
  options: { readonly controllers?: boolean } = {},
): Promise<T> {
  const cp = await startControlPlane({ progress, ...options });
  try {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    return await work(cp);
  } finally {
    await cp.stop();
  }
}

export async function kubeVersionOf(cp: ControlPlane): Promise<string> {
  const { gitVersion } = await cp.request<{ gitVersion: string }>("GET", "/version");
  return gitVersion;
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
