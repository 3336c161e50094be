/** The servers that are compared: HookPolicy, the Go peer and bare Node.js, with one certificate and one client. */

import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { NAMESPACE, type Operator } from "../../test/controlplane/operator.ts";
import { flags } from "../../test/controlplane/processes.ts";
import { freePorts } from "../../test/controlplane/ports.ts";
import { startShipped } from "../../test/controlplane/shipped.ts";

export type ServerName = "hookpolicy" | "peer" | "discard" | "parse";

export interface Servers {
  readonly operator: Operator;
  readonly servers: Readonly<Record<ServerName, Server>>;
}

export interface Server {
  readonly port: number;
  readonly pid: number;
}

/** HookPolicy is ready when it has loaded the policies and Clusters that are there. */
export async function startServers(cp: ControlPlane, peer: string): Promise<Servers> {
  const operator = await startShipped(cp, {
    flags: { "leader-elect": "true", namespace: NAMESPACE, "log-format": "text" },
  });
  const { certDir } = operator;
  const servers = {
    hookpolicy: { port: operator.ports.webhook, pid: operator.daemon.pid },
    peer: await start(cp, "peer", peer, (port) => flags({ port, "cert-dir": certDir })),
    discard: await startBareServer(cp, certDir, "discard"),
    parse: await startBareServer(cp, certDir, "parse"),
  };
  return { operator, servers };
}

export async function startBareServer(
  cp: ControlPlane,
  certDir: string,
  work: "discard" | "parse" | "review",
): Promise<Server> {
  const script = join(import.meta.dirname, "bare-server.ts");
  return await start(cp, `bare-${work}`, process.execPath, (port) => [script, String(port), certDir, work]);
}

async function start(
  cp: ControlPlane,
  name: string,
  command: string,
  args: (port: number) => string[],
): Promise<Server> {
  const [port = 0] = await freePorts(1);
  const { pid } = cp.processes.start({ name, command, args: args(port), stopSignal: "SIGKILL" });
  await cp.waitFor(`${name} to listen`, async () => {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket.destroy();
  });
  return { port, pid };
}
