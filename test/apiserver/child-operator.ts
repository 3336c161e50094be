/** The operator as a child of the test, not as a daemon of the control plane, for which an end is a failure. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import {
  issueServingCertificate,
  type OperatorPorts,
  operatorPorts,
  writeServingCertificate,
} from "../controlplane/operator.ts";
import { environment, flags } from "../controlplane/processes.ts";
import { MAIN } from "../unit/cli/program.ts";
import type { Lab } from "./operator-lab.ts";

export interface Setup {
  readonly kubeconfig: string;
  readonly certDir: string;
  readonly ports: OperatorPorts;
}

export interface ChildOperator {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

const children = new Set<ChildProcess>();

/** After each test. */
export function killChildren(): void {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
}

/** Ports and certificates of its own. */
export async function setUp({ cp, kubeconfig }: Lab, name: string): Promise<Setup> {
  const certDir = join(cp.folder, name);
  await writeServingCertificate(certDir, await issueServingCertificate(cp));
  return { certDir, kubeconfig, ports: await operatorPorts() };
}

export function flagsOf(
  { kubeconfig, certDir, ports }: Setup,
  more: Readonly<Record<string, string>> = {},
): string[] {
  return flags({
    kubeconfig,
    "webhook-cert-dir": certDir,
    "webhook-host": "127.0.0.1",
    "webhook-port": ports.webhook,
    "admission-port": ports.admission,
    "health-addr": `127.0.0.1:${ports.health}`,
    "diagnostics-address": `127.0.0.1:${ports.metrics}`,
    ...more,
  });
}

export function run(args: readonly string[], nodeFlags: readonly string[] = []): ChildOperator {
  const child = spawn(process.execPath, [...nodeFlags, MAIN, "run", ...args], {
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, output }));
  return { child, output: () => output, ended };
}

/** Resolves when it has loaded everything. */
export async function startChild(
  lab: Lab,
  name: string,
  more: Readonly<Record<string, string>> = {},
  nodeFlags: readonly string[] = [],
): Promise<ChildOperator & Pick<Setup, "ports">> {
  const setup = await setUp(lab, name);
  const running = run(flagsOf(setup, more), nodeFlags);
  await lab.cp.waitFor("it to have loaded everything", () => running.output().includes("Loaded policies"));
  return { ...running, ports: setup.ports };
}
