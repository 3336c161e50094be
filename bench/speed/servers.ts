/** The servers that are compared: HookPolicy, the Go peer and bare Node.js, with one certificate and one client. */

import { connect } from "node:net";
import { join } from "node:path";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { flags } from "../../test/controlplane/processes.ts";
import { freePorts } from "../../test/controlplane/ports.ts";
import { hookUrl } from "../calls/generator.ts";
import { startShipped } from "../shipped.ts";

export type ServerName = "hookpolicy" | "peer" | "discard" | "parse";

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

async function listens(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

function urlOf(port: number): string {
  return hookUrl("BeforeClusterDelete", port);
}
