/**
 * The HTTPS server that Cluster API's runtime client calls. The client takes only status 200 for an answer and shows the
 * start of anything else to users, so every body on a known path is answered with 200 and JSON, and nothing that was
 * sent is ever echoed.
 */

import { createServer, type Server, type ServerOptions } from "node:https";
import type { Duplex } from "node:stream";

import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";

import type { Logger } from "../api/logger.ts";
import { listen } from "./address.ts";
import type { KeyPair } from "./certificate.ts";
import { Connections } from "./connections.ts";
import { breakOff, isBroken, readBody, type Body } from "./requestbody.ts";

export interface HookRoute {
  readonly path: string;
  /** Returns the JSON text of the answer, whatever `body` holds; it should not throw. */
  handle(body: Buffer): string | Promise<string>;
}

/** "internal": `handle` threw, which is a bug. */
export type UndecodableReason = "too-large" | "incomplete" | "internal";

export interface HookServerOptions {
  /** Absent: all interfaces. */
  readonly host?: string;
  readonly port: number;
  readonly tls: KeyPair;
  readonly routes: readonly HookRoute[];
  /** The JSON text of a Failure for the route at `path`. */
  readonly undecodable: (path: string, reason: UndecodableReason) => string;
  readonly log: Logger;
  readonly limits?: Partial<Limits>;
}

export interface Limits {
  readonly bodyBytes: number;
  readonly headersMs: number;
  /** For a whole request, its body included. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
  readonly handshakeMs: number;
  /** How often the times above are looked at. */
  readonly checkMs: number;
  readonly connections: number;
}

/** Cluster API sends at most 20 MiB and keeps idle connections for 90 s; it must be the one that closes them. */
export const LIMITS: Limits = {
  bodyBytes: 20 * 1024 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 120_000,
  handshakeMs: 10_000,
  checkMs: 2_000,
  connections: 1024,
};

export interface HookServer {
  /** Rejects with one line, for example when the port is in use. */
  listen(): Promise<{ port: number }>;
  /** For new connections; throws and keeps the old certificate when the pair does not fit. */
  setCertificate(pair: KeyPair): void;
  /**
   * Goes on answering, and ends every connection with its next answer: clients that keep theirs would otherwise
   * never notice that a Service does not route here any more.
   */
  shedConnections(): void;
  /** Stops to accept, lets requests in flight finish for at most `deadlineMs`, then cuts every connection. */
  close(deadlineMs: number): Promise<void>;
}

const NOT_FOUND = Buffer.from('{"error":"not found"}\n');
const INTERNAL_ERROR = Buffer.from('{"error":"internal error"}\n');
const BAD_REQUEST = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const DROP_REPORT_INTERVAL_MS = 60_000;

export function createHookServer(options: HookServerOptions): HookServer {
  const limits: Limits = { ...LIMITS, ...options.limits };
  const server = createServer(serverOptions(options.tls, limits));
  server.maxConnections = limits.connections;
  reportDrops(server, options.log);
  const connections = new Connections(server);
  const app = createApp(options, { server, limits, connections });
  const { host, port } = options;
  const address = { ...(host !== undefined && { host }), port };
  return {
    listen: async () => {
      await app.ready();
      return await listen(server, address, "--webhook-host, --webhook-port");
    },
    setCertificate: (pair) => server.setSecureContext(serverOptions(pair, limits)),
    shedConnections: () => connections.shed(),
    close: async (deadlineMs) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await connections.drain(deadlineMs);
      await closed;
      await app.close();
    },
  };
}

/** A swap of the certificate has to pass all of it again. */
function serverOptions({ cert, key }: KeyPair, limits: Limits): ServerOptions {
  return {
    cert,
    key,
    minVersion: "TLSv1.2",
    handshakeTimeout: limits.handshakeMs,
    maxHeaderSize: 16 * 1024,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
  };
}

interface Parts {
  readonly server: Server;
  readonly limits: Limits;
  readonly connections: Connections;
}

function createApp(options: HookServerOptions, { server, limits, connections }: Parts): FastifyInstance {
  const app = fastify({
    logger: false,
    return503OnClosing: false, // a call that still arrives is answered like any other
    serverFactory: (handler) => server.on("request", handler),
    clientErrorHandler: (error, socket) => {
      options.log.debug("Broke off a connection", { code: error.code });
      breakOff(socket);
      if (!connections.isWaiting(socket)) refuse(error, socket); // else the answer says it
    },
    frameworkErrors: (_error, _request, reply) => void sendNotFound(reply),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "*",
    async (request: FastifyRequest) => await readBody(request.raw, limits.bodyBytes),
  );
  app.addHook("onRequest", async (request, reply) => {
    if (request.is404) return sendNotFound(reply);
    delete request.headers["content-type"]; // Cluster API sends none, and a malformed one would be refused
    return undefined;
  });
  app.addHook("onSend", async (request, reply) => {
    if (connections.shedding || isBroken(request.raw.socket)) reply.header("connection", "close");
  });
  app.setErrorHandler((error, _request, reply) => {
    options.log.error("Failed to answer a hook", { error });
    return reply.code(500).type("application/json").send(INTERNAL_ERROR);
  });
  for (const route of options.routes) {
    app.post<{ Body: Body | undefined }>(route.path, async (request, reply) =>
      reply.type("application/json").send(Buffer.from(await answer(route, request.body, reply, options))),
    );
  }
  return app;
}

async function answer(
  route: HookRoute,
  body: Body | undefined,
  reply: FastifyReply,
  { undecodable, log }: HookServerOptions,
): Promise<string> {
  if (typeof body === "string") {
    reply.header("connection", "close");
    log.warn("Refused a hook call", { path: route.path, reason: body });
    return undecodable(route.path, body);
  }
  try {
    return await route.handle(body ?? Buffer.alloc(0));
  } catch (error) {
    log.error("Failed to answer a hook", { path: route.path, error });
    return undecodable(route.path, "internal");
  }
}

function sendNotFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).type("application/json").send(NOT_FOUND);
}

/** TLS that fails, HTTP that is none, requests that take too long. Strangers cause these: no log line above debug. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  const isHttp = error.code?.startsWith("HPE_") === true || error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  if (isHttp && socket.writable) socket.end(BAD_REQUEST, () => socket.destroy());
  else socket.destroy();
}

function reportDrops(server: Server, log: Logger): void {
  let reportedAt = -Infinity;
  server.on("drop", () => {
    if (performance.now() - reportedAt < DROP_REPORT_INTERVAL_MS) return;
    reportedAt = performance.now();
    log.warn("Too many connections, refusing new ones", { limit: server.maxConnections });
  });
}
