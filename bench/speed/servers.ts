/** The servers that are compared: HookPolicy, the Go peer and bare Node.js, with one certificate and one client. */

import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { hookPath } from "../../src/api/hookcatalog.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { flags } from "../../test/controlplane/processes.ts";
import { freePorts } from "../../test/controlplane/ports.ts";
import { startShipped } from "../shipped.ts";

export type ServerName = "hookpolicy" | "peer" | "discard" | "parse";

export const SERVER_TITLES: Readonly<Record<ServerName, string>> = {
  hookpolicy: "HookPolicy",
  peer: "Go peer",
  discard: "bare node:https, body thrown away",
  parse: "bare node:https, JSON.parse",
};

export interface Servers {
  readonly operator: Operator;
  readonly urls: Readonly<Record<ServerName, string>>;
  readonly pids: Readonly<Record<ServerName, number>>;
}

/** What there is to decide is there already: HookPolicy is ready when it has loaded that. */
export async function startServers(cp: ControlPlane, peer: string): Promise<Servers> {
  // The others with what the shipped Deployment says; the certificate is the same as everybody's.
  const operator = await startShipped(cp, {
    flags: { "leader-elect": "true", namespace: NAMESPACE, "log-format": "text" },
  });
  const { certDir } = operator;
  const [peerPort = 0, discardPort = 0, parsePort = 0] = await freePorts(3);
  const bare = async (port: number, work: "discard" | "parse"): Promise<number> =>
    await startBareServer(cp, { port, certDir, work });
  return {
    operator,
    urls: {
      hookpolicy: urlOf(operator.ports.webhook),
      peer: urlOf(peerPort),
      discard: urlOf(discardPort),
      parse: urlOf(parsePort),
    },
    pids: {
      hookpolicy: operator.daemon.pid,
      peer: await start(cp, peerPort, {
        name: "peer",
        command: peer,
        args: flags({ port: peerPort, "cert-dir": certDir }),
      }),
      discard: await bare(discardPort, "discard"),
      parse: await bare(parsePort, "parse"),
    },
  };
}

export async function startBareServer(
  cp: ControlPlane,
  { port, certDir, work }: { port: number; certDir: string; work: "discard" | "parse" | "review" },
): Promise<number> {
  const script = join(import.meta.dirname, "bareserver.ts");
  const args = [script, String(port), certDir, work];
  return await start(cp, port, { name: `bare-${work}`, command: process.execPath, args });
}

async function start(
  cp: ControlPlane,
  port: number,
  program: { readonly name: string; readonly command: string; readonly args: readonly string[] },
): Promise<number> {
  const { name } = program;
  const { pid } = cp.processes.start({ ...program, stopSignal: "SIGKILL" });
  await cp.waitFor(`${name} to listen`, () => listens(port));
  return pid;
}

function urlOf(port: number): string {
  return `https://127.0.0.1:${port}${hookPath("BeforeClusterDelete")}?timeout=10s`;
}

async function listens(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

/** Of Linux, for programs. */
const TICKS_PER_SECOND = 100;

/** That the process has used until now, all of its threads together. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // proc_pid_stat(5): the name, in parentheses, may hold anything; utime and stime are the 12th and 13th after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
