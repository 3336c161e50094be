/**
 * What a Service is to its clients: new connections go to a replica that its last probe called ready, one after the
 * other; connections that are open stay where they are, whatever becomes of the replica (as with kube-proxy).
 */
import { createServer, connect, type Server, type Socket } from "node:net";
import type { OperatorPorts } from "./operator.ts";
import { portOf } from "./ports.ts";

export interface Balancer {
  readonly port: number;
  readonly add: (ports: OperatorPorts) => void;
  /** Whether new connections may go there now. */
  readonly ready: (ports: OperatorPorts) => boolean;
  /** Connections that could go nowhere. */
  readonly refused: () => number;
  /** Connections by webhook port, since the start. */
  readonly routed: () => ReadonlyMap<number, number>;
  readonly stop: () => Promise<void>;
}

/** How long news from a probe takes until it is on the nodes, probing included. */
const PROPAGATION_MS = 500;

interface Endpoint extends OperatorPorts {
  ready: boolean;
}

export async function startBalancer(): Promise<Balancer> {
  const endpoints: Endpoint[] = [];
  const routed = new Map<number, number>();
  const sockets = new Set<Socket>();
  let refused = 0;
  let turn = 0;
  const server = createServer((client) => {
    const ready = endpoints.filter((each) => each.ready);
    const endpoint = ready[turn++ % ready.length];
    if (endpoint === undefined) {
      refused += 1;
      client.destroy();
      return;
    }
    routed.set(endpoint.webhook, (routed.get(endpoint.webhook) ?? 0) + 1);
    join(client, connect(endpoint.webhook, "127.0.0.1"), sockets);
  });
  const probing = setInterval(() => {
    for (const endpoint of endpoints) void probe(endpoint).then((ready) => (endpoint.ready = ready));
  }, PROPAGATION_MS);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: portOf(server),
    add: (ports) => void endpoints.push({ ...ports, ready: false }),
    ready: ({ webhook }) => endpoints.some((each) => each.webhook === webhook && each.ready),
    refused: () => refused,
    routed: () => routed,
    stop: async () => {
      clearInterval(probing);
      await close(server, sockets);
    },
  };
}

async function probe({ health }: Endpoint): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${health}/readyz`)).ok;
  } catch {
    return false;
  }
}

/** The end of one side is the end of the other, in order: what is under way still arrives. */
function join(client: Socket, target: Socket, sockets: Set<Socket>): void {
  for (const [socket, other] of [
    [client, target],
    [target, client],
  ] as const) {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => other.destroy());
    socket.once("close", () => {
      sockets.delete(socket);
      other.end();
    });
    socket.pipe(other);
  }
}

async function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of sockets) socket.destroy();
  await closed;
}
