/** Listeners for probes and scrapes. Each serves a few fixed paths, even while everything else is in trouble. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Server } from "node:net";

import type { Logger } from "../lib/logger.ts";
import { listen, type Address } from "./address.ts";
import { Connections } from "./connections.ts";
import { createTlsServer, type KeyPair, timeouts, type TlsServer } from "./tls-server.ts";

export interface TextServer {
  listen(): Promise<{ port: number }>;
  close(): Promise<void>;
  /** For new connections; of no effect in plain HTTP. */
  setCertificate(pair: KeyPair): void;
}

export interface Reply {
  readonly code: number;
  readonly body: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TextRequest {
  readonly query: string;
  /** The header of that name. */
  readonly authorization: string | undefined;
  /** IP address of the client. */
  readonly address: string;
}

export type Paths = Readonly<Record<string, (request: TextRequest) => Reply | Promise<Reply>>>;

const LIMITS = {
  headersMs: 5_000,
  requestMs: 10_000,
  keepAliveMs: 65_000, // kubelet opens a connection per probe, Prometheus keeps one
  checkMs: 5_000,
  connections: 64,
};

const DRAIN_MS = 1_000;

const NOT_FOUND: Reply = { code: 404, body: "not found\n" };
const BAD_METHOD: Reply = { code: 405, body: "method not allowed\n" };

export interface TextServerOptions {
  readonly address: Address;
  readonly flag: string;
  readonly paths: Paths;
  readonly log: Logger;
  /** Absent: plain HTTP. */
  readonly tls?: KeyPair | undefined;
}

export function createTextServer({ tls, ...options }: TextServerOptions): TextServer {
  const { address, flag: flags, paths, log } = options;
  const created =
    tls === undefined
      ? createPlainServer(options)
      : createTlsServer({ ...address, tls, flags, log, limits: LIMITS });
  const { server, connections }: Pick<PlainServer, "server" | "connections"> = created;
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (!connections.begin(request, response)) return;
    void answer(request, paths, log).then((reply) => {
      if (connections.isEnding(request)) response.setHeader("connection", "close");
      send(response, reply, request.method === "HEAD");
    });
  });
  return { ...created, close: async () => await created.close(DRAIN_MS) };
}

interface PlainServer extends Pick<TlsServer, "listen" | "setCertificate" | "close"> {
  readonly server: Server;
  readonly connections: Connections;
}

function createPlainServer({ address, flag, log }: Omit<TextServerOptions, "tls">): PlainServer {
  const server = createServer({ ...timeouts(LIMITS), maxHeaderSize: 8 * 1024 });
  const connections = new Connections(server, LIMITS.connections, log, flag);
  return {
    server,
    connections,
    listen: async () => await listen(server, address, flag),
    setCertificate: () => undefined,
    close: async (deadlineMs) => await connections.close(deadlineMs),
  };
}

async function answer(request: IncomingMessage, paths: Paths, log: Logger): Promise<Reply> {
  const [path = "", query = ""] = (request.url ?? "").split("?", 2);
  const respond = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (respond === undefined) return NOT_FOUND;
  if (request.method !== "GET" && request.method !== "HEAD") return BAD_METHOD;
  const { headers, socket } = request;
  try {
    return await respond({
      query,
      authorization: headers.authorization,
      address: socket.remoteAddress ?? "",
    });
  } catch (error) {
    log.error("Failed to answer", { path, error });
    return { code: 500, body: "internal error\n" };
  }
}

function send(response: ServerResponse, { code, body, type, headers }: Reply, headOnly: boolean): void {
  response.writeHead(code, {
    "content-type": type ?? "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...headers,
  });
  response.end(headOnly ? undefined : body);
}
