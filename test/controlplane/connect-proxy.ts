/**
 * An HTTP CONNECT proxy that stands for Kubernetes Services: a process started with it as HTTPS_PROXY reaches
 * `name.namespace.svc:443` where no cluster DNS is. Go never asks a proxy for 127.0.0.1, so the way to
 * kube-apiserver is not affected (net/http ProxyFromEnvironment).
 */
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { portOf } from "./ports.ts";

export interface ConnectProxy {
  /** For HTTPS_PROXY. */
  readonly url: string;
  /** `route("hookpolicy-webhook-service.hookpolicy-system.svc:443", 9443)`; a later call replaces it. */
  readonly route: (authority: string, port: number) => void;
  /** As a Service without endpoints: new connections are refused, open ones cut. */
  readonly unroute: (authority: string) => void;
  /** Connections asked for since the start. */
  readonly count: (authority: string) => number;
  readonly stop: () => Promise<void>;
}

export async function startConnectProxy(
  routes: Readonly<Record<string, number>> = {},
): Promise<ConnectProxy> {
  const table = new Map(Object.entries(routes));
  const counts = new Map<string, number>();
  const tunnels = new Map<Socket, string>();
  const server = createServer((_, res) => res.writeHead(405).end("CONNECT only\n"));
  server.on("connect", ({ url: authority = "" }, client: Socket) => {
    counts.set(authority, (counts.get(authority) ?? 0) + 1);
    tunnels.set(client, authority);
    client.once("close", () => tunnels.delete(client));
    tunnel(client, table.get(authority));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const cut = (authority?: string): void => {
    for (const [socket, to] of tunnels) if (authority === undefined || to === authority) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    route: (authority, port) => void table.set(authority, port),
    unroute: (authority) => {
      table.delete(authority);
      cut(authority);
    },
    count: (authority) => counts.get(authority) ?? 0,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      server.closeAllConnections();
      await closed;
    },
  };
}

function tunnel(client: Socket, port: number | undefined): void {
  client.on("error", () => client.destroy());
  if (port === undefined) {
    client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    return;
  }
  const target = connect(port, "127.0.0.1", () => {
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    client.pipe(target);
    target.pipe(client);
  });
  target.on("error", () => client.destroy());
  client.once("close", () => target.destroy());
  target.once("close", () => client.destroy());
}
