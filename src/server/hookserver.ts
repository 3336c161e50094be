/**
 * The HTTPS server that Cluster API's runtime client calls. The client accepts only status 200 as an answer and shows
 * the start of any other body to users, so every request on a known path is answered with 200 and JSON, and no answer
 * echoes what a client sent.
 */

import type { ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";

import fastify, { type FastifyInstance, type FastifyReply } from "fastify";

import type { Logger } from "../api/logger.ts";
import { sparing } from "../log/sparing.ts";
import { listen } from "./address.ts";
import { tlsOptions, type KeyPair } from "./tls.ts";
import { BodyRoom } from "./bodyroom.ts";
import { Connections } from "./connections.ts";
import { type Body, type BodyLimits, HookRequest, readBody } from "./requestbody.ts";

export interface HookRoute {
  readonly path: string;
  /** Answered only for clients that `HookServerOptions.clients` accepts. */
  readonly authenticated?: boolean;
  /**
   * Returns the JSON text of the answer for any `body`; it should not throw. `digest` is that of the body, for routes
   * that repeat answers.
   */
  handle(body: Buffer, digest?: string): string | Promise<string>;
  /**
   * The answer to a body with this digest, if there is one that still stands; looked up before anything else is done.
   */
  readonly repeat?: (digest: string) => string | undefined;
}

/** "internal": `handle` threw, which is a bug. */
export type UndecodableReason = "too-large" | "no-room" | "incomplete" | "unauthenticated" | "internal";

/** The clients that may call the routes that are `authenticated`. */
export interface Clients {
  /** PEM of the authorities that sign client certificates; never empty, or the system's authorities would count. */
  readonly current: string;
  /** Why the client of this connection is refused; `undefined`: it is accepted. */
  refusal(socket: TLSSocket): string | undefined;
  /** How a client gets a certificate that is accepted, for the log. */
  readonly remedy: string;
}

export interface HookServerOptions {
  /** Absent: all interfaces. */
  readonly host?: string;
  readonly port: number;
  readonly tls: KeyPair;
  readonly routes: readonly HookRoute[];
  /** The JSON text of a Failure for the route at `path`. */
  readonly undecodable: (path: string, reason: UndecodableReason) => string;
  /** Absent: every caller is answered, and no client certificate is requested. */
  readonly clients?: Clients;
  /** Clients without a valid certificate get status 401 for every path, and nothing that they send is read. */
  readonly closed?: boolean;
  /** The flags that set the address, for the error when listening fails. */
  readonly flags?: string;
  readonly log: Logger;
  readonly limits?: Partial<Limits>;
}

export interface Limits extends BodyLimits {
  /** For all bodies that are read or answered at the same time, in addition to a small part of each. */
  readonly bodiesBytes: number;
  readonly headersMs: number;
  /** For a whole request with its body. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
  readonly handshakeMs: number;
  /** How often the timeouts above are checked. */
  readonly checkMs: number;
  readonly connections: number;
}

/** Cluster API sends at most 20 MiB and keeps idle connections for 90 s; it must be the side that closes them. */
const LIMITS: Limits = {
  bodyBytes: 20 * 1024 * 1024,
  discardedBytes: 40 * 1024 * 1024,
  bodiesBytes: 40 * 1024 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 120_000,
  handshakeMs: 10_000,
  checkMs: 2_000,
  connections: 1024,
};

export interface HookServer {
  /** Rejects with a one-line error, for example when the port is in use. */
  listen(): Promise<{ port: number }>;
  /** For new connections; throws and keeps the old certificate when key and certificate do not match. */
  setCertificate(pair: KeyPair): void;
  /** Applies to new connections; present ones end with their next answer. */
  clientsChanged(): void;
  /**
   * Keeps answering, and ends every connection with its next answer: otherwise clients with open connections would
   * never notice that the Service no longer routes here.
   */
  shedConnections(): void;
  /**
   * Stops accepting connections, lets requests in flight finish for at most `deadlineMs`, then cuts every connection.
   */
  close(deadlineMs: number): Promise<void>;
}

/** More than the bodies of most Clusters. */
const SMALL_BODY_BYTES = 64 * 1024;

const NOT_FOUND = Buffer.from('{"error":"not found"}\n');
const UNAUTHORIZED = Buffer.from('{"error":"a client certificate is required"}\n');
const INTERNAL_ERROR = Buffer.from('{"error":"internal error"}\n');
const BAD_REQUEST = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

export function createHookServer(options: HookServerOptions): HookServer {
  const limits: Limits = { ...LIMITS, ...options.limits };
  let tls = options.tls;
  const server = createServer({
    ...serverOptions(tls, limits, options.clients),
    IncomingMessage: HookRequest,
  });
  const complain = sparing(options.log);
  const connections = new Connections(server, limits.connections, () =>
    complain("Too many connections, closing idle ones", { limit: limits.connections }),
  );
  const app = createApp(options, { server, limits, connections });
  const { host, port, flags = "--webhook-host, --webhook-port" } = options;
  const address = { ...(host !== undefined && { host }), port };
  return {
    listen: async () => {
      await app.ready();
      return await listen(server, address, flags);
    },
    setCertificate: (pair) => {
      server.setSecureContext(serverOptions(pair, limits, options.clients));
      tls = pair;
    },
    clientsChanged: () => {
      server.setSecureContext(serverOptions(tls, limits, options.clients));
      connections.renew();
    },
    shedConnections: () => connections.shed(),
    close: async (deadlineMs) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await connections.drain(deadlineMs);
      await closed;
      await app.close();
    },
  };
}

/** A change of the certificate has to pass all of these options again. */
function serverOptions(pair: KeyPair, limits: Limits, clients?: Clients): ServerOptions {
  return {
    ...tlsOptions(pair),
    // A connection without a valid certificate stays open: discovery needs none, and an answer says more than a reset.
    ...(clients !== undefined && { ca: clients.current, requestCert: true, rejectUnauthorized: false }),
    handshakeTimeout: limits.handshakeMs,
    maxHeaderSize: 16 * 1024,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
  };
}

type HookServerOfNode = Server<typeof HookRequest>;
type App = FastifyInstance<HookServerOfNode, HookRequest, ServerResponse<HookRequest>>;
type Route = (request: HookRequest, response: ServerResponse<HookRequest>) => void;

interface Parts {
  readonly server: HookServerOfNode;
  readonly limits: Limits;
  readonly connections: Connections;
}

function createApp(options: HookServerOptions, parts: Parts): App {
  const { server, connections } = parts;
  const read = createReader(parts);
  const guard = createGuard(options);
  const app = fastify<HookServerOfNode, HookRequest, ServerResponse<HookRequest>>({
    logger: false,
    return503OnClosing: false, // a call that still arrives is answered like any other
    serverFactory: (handler) => server.on("request", repeatFirst(options, { connections, read }, handler)),
    clientErrorHandler: (error, socket) => {
      options.log.debug("Broke off a connection", { code: error.code });
      connections.breakOff(socket);
      if (!connections.isWaiting(socket)) refuse(error, socket); // otherwise the answer reports it
    },
    frameworkErrors: (_error, _request, reply) => void sendNotFound(reply),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", async (_request: unknown, raw: HookRequest) => await read(raw));
  app.addHook("onRequest", (request, reply, done) => {
    const path = request.is404 ? "none that is served" : request.routeOptions.url;
    if (options.closed === true && guard(path, request.raw.socket)) {
      return void reply.code(401).header("connection", "close").type("application/json").send(UNAUTHORIZED);
    }
    if (request.is404) return void sendNotFound(reply);
    delete request.headers["content-type"]; // Cluster API sends none, and a malformed one would be rejected
    done();
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    if (isLast(request.raw, connections)) reply.header("connection", "close");
    done(null, payload);
  });
  app.setErrorHandler((error, _request, reply) => {
    options.log.error("Failed to answer a hook", { error });
    return reply.code(500).type("application/json").send(INTERNAL_ERROR);
  });
  const deps = { ...options, complain: sparing(options.log) };
  for (const route of options.routes) {
    app.post<{ Body: Body | undefined }>(route.path, async ({ body, raw }, reply) => {
      const text =
        route.authenticated === true && guard(route.path, raw.socket)
          ? options.undecodable(route.path, "unauthenticated")
          : await answer(route, body, deps);
      reply.hijack();
      respond(reply.raw, text, typeof body === "string" || isLast(raw, connections));
    });
  }
  return app;
}

type BodyReader = (request: HookRequest) => Promise<Body>;

/** Returns a function that reads each body once, even if it is called again. */
function createReader({ server, limits, connections }: Parts): BodyReader {
  const room = new BodyRoom(limits.bodiesBytes, SMALL_BODY_BYTES);
  server.on("request", (request, response) => {
    const via = connections.asked(request.socket);
    request.via = via;
    response.once("close", () => {
      room.leave(request.taken);
      connections.answered(via);
    });
  });
  return async (request) => await (request.body ??= readBody(request, limits, room));
}

/**
 * Answers repeated calls without the router: nearly all calls are byte-for-byte repeats, and only those can be answered
 * without being parsed.
 */
function repeatFirst(
  { routes, clients, log }: HookServerOptions,
  { read, connections }: { readonly read: BodyReader; readonly connections: Connections },
  route: Route,
): Route {
  const repeating = new Map(
    routes.flatMap(({ path, repeat, authenticated = false }) =>
      repeat === undefined ? [] : [[path, { repeat, authenticated }] as const],
    ),
  );
  const repeated = async (request: HookRequest): Promise<string | undefined> => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const found = request.method === "POST" ? repeating.get(path) : undefined;
    if (found === undefined || (found.authenticated && refusal(request.socket, clients) !== undefined))
      return undefined;
    const body = await read(request);
    try {
      const digest = typeof body === "string" ? undefined : body.digest();
      return digest === undefined ? undefined : found.repeat(digest);
    } catch (error) {
      log.error("Failed to repeat an answer", { path, error });
      return undefined;
    }
  };
  return (request, response) =>
    void repeated(request).then((text) => {
      if (text === undefined) route(request, response);
      else respond(response, text, isLast(request, connections));
    });
}

/** Writes headers and body at once. */
function respond(response: ServerResponse<HookRequest>, text: string, close: boolean): void {
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...(close && { connection: "close" }),
  });
  response.end(text);
}

/** Whether the connection ends with the answer. */
function isLast({ via }: HookRequest, connections: Connections): boolean {
  return via === undefined || connections.isEnding(via);
}

function refusal(socket: Socket, clients: Clients | undefined): string | undefined {
  if (clients === undefined) return undefined;
  return socket instanceof TLSSocket ? clients.refusal(socket) : "no TLS";
}

/** Returns a function that tells whether to refuse a call, and logs why. */
function createGuard({
  clients,
  log,
}: HookServerOptions): (path: string | undefined, socket: Socket) => boolean {
  const complain = sparing(log);
  return (path, socket) => {
    const reason = refusal(socket, clients);
    if (reason === undefined) return false;
    complain("Refused a call", { path, reason, remedy: clients?.remedy });
    return true;
  };
}

async function answer(
  route: HookRoute,
  body: Body | undefined,
  { undecodable, log, complain }: HookServerOptions & { readonly complain: Logger["warn"] },
): Promise<string> {
  if (typeof body === "string") {
    complain("Refused a call", { path: route.path, reason: body });
    return undecodable(route.path, body);
  }
  try {
    return await route.handle(body?.bytes() ?? Buffer.alloc(0), route.repeat && body?.digest());
  } catch (error) {
    log.error("Failed to answer a hook", { path: route.path, error });
    return undecodable(route.path, "internal");
  }
}

function sendNotFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).type("application/json").send(NOT_FOUND);
}

/**
 * Handles failed TLS, invalid HTTP and slow requests. Any client can cause these, so there is no log line above debug.
 */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  const isHttp = error.code?.startsWith("HPE_") === true || error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  if (isHttp && socket.writable) socket.end(BAD_REQUEST, () => socket.destroy());
  else socket.destroy();
}
