/** The common part of the operator's HTTPS servers: certificate, clients, limits, connections, and how it begins and ends. */

import type { ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { Socket } from "node:net";
import { type Duplex, getDefaultHighWaterMark } from "node:stream";
import { TLSSocket } from "node:tls";

import type { Logger } from "../lib/logger.ts";
import { sparing } from "../lib/sparing.ts";
import { type Address, listen } from "./address.ts";
import { BodyRoom } from "./body-room.ts";
import { type Connection, Connections } from "./connections.ts";
import { fairLoop } from "./fair-loop.ts";
import { type BodyLimits, HookRequest } from "./request-body.ts";
import { type KeyPair, tlsOptions } from "./tls.ts";
import { MAX_CALL_BYTES } from "./whole-body.ts";

/** Decides which clients may call. */
export interface Clients {
  /** PEM of the authorities that sign client certificates; never empty, or the system's authorities would count. */
  readonly current: string;
  /** Why the client of this connection is refused; `undefined`: it is accepted. */
  refusal(socket: TLSSocket): string | undefined;
  /** How a client gets a certificate that is accepted, for the log. */
  readonly remedy: string;
}

export interface TlsServerOptions extends Address {
  readonly tls: KeyPair;
  /** Absent: every caller is answered, and no client certificate is requested. */
  readonly clients?: Clients;
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

/** Cluster API keeps idle connections for 90 s; it must be the side that closes them. */
const LIMITS: Limits = {
  bodyBytes: MAX_CALL_BYTES,
  discardedBytes: 40 * 1024 * 1024,
  bodiesBytes: 40 * 1024 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 120_000,
  handshakeMs: 10_000,
  checkMs: 2_000,
  connections: 1024,
};

/** More than the bodies of most Clusters. */
const SMALL_BODY_BYTES = 64 * 1024;

export const NOT_FOUND = '{"error":"not found"}\n';
export const INTERNAL_ERROR = '{"error":"internal error"}\n';
const BAD_REQUEST = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/** Of a handshake: it follows in the turns after the one that begins it. */
const HANDSHAKE_MS = 0.5;

export interface TlsServer {
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

export type NodeServer = Server<typeof HookRequest>;

type Handler = (request: HookRequest, response: ServerResponse<HookRequest>) => void;

/** What answers its requests. */
export interface Listening {
  readonly server: NodeServer;
  /** Has `handle` answer the requests. */
  readonly serve: (handle: Handler) => void;
  readonly connections: Connections;
  readonly limits: Limits;
  readonly room: BodyRoom;
  /** Handles failed TLS, invalid HTTP and slow requests. */
  readonly breakOff: (error: NodeJS.ErrnoException, socket: Duplex) => void;
}

/** Returns the server, and the parts for what answers its requests. */
export function createTlsServer(options: TlsServerOptions): TlsServer & Listening {
  const { clients, log } = options;
  const limits: Limits = { ...LIMITS, ...options.limits };
  let { tls } = options;
  const server = createServer({ ...serverOptions(tls, limits, clients), IncomingMessage: HookRequest });
  const complain = sparing(log);
  shakeHandsFairly(server);
  const connections = new Connections(server, limits.connections, () =>
    complain("Too many connections, closing idle ones", { limit: limits.connections }),
  );
  const room = new BodyRoom(limits.bodiesBytes, SMALL_BODY_BYTES);
  const { flags = "--webhook-host, --webhook-port" } = options;
  return {
    server,
    serve: (handle) => {
      server.on("request", oneAtATime(connections, room, handle));
      server.on("checkContinue", continueInOrder);
    },
    connections,
    limits,
    room,
    breakOff: (error, socket) => {
      log.debug("Broke off a connection", { code: error.code });
      connections.breakOff(socket);
      if (!connections.isWaiting(socket)) refuse(error, socket); // otherwise the answer reports it
    },
    listen: async () => await listen(server, options, flags),
    setCertificate: (pair) => {
      server.setSecureContext(serverOptions(pair, limits, clients));
      tls = pair;
    },
    clientsChanged: () => {
      server.setSecureContext(serverOptions(tls, limits, clients));
      connections.renew();
    },
    shedConnections: () => connections.shed(),
    close: async (deadlineMs) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await connections.drain(deadlineMs);
      await closed;
    },
  };
}

/**
 * TLS begins when the address of the client has its turn, and not when the connection is accepted. To wait for the first
 * message, too, stops no flood: a client that sends a byte first would pass. And node:tls would go on reading in pieces
 * of that message's length (TLSWrap sizes its buffer by its first read).
 */
function shakeHandsFairly(server: NodeServer): void {
  const [begin, ...others] = server.listeners("connection");
  if (begin === undefined || others.length > 0)
    throw new Error("not the one listener of node:tls for connections");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const { remoteAddress: address = "" } = socket;
    fairLoop.accepted(address);
    socket.once("close", () => fairLoop.closed(address));
    socket.on("error", () => undefined); // TLS hears it as well, once it has begun
    const shake = (): void => {
      if (!socket.destroyed) begin.call(server, socket);
    };
    fairLoop.run(address, shake, { size: "handshake", laterMs: HANDSHAKE_MS });
  });
}

/**
 * Tracks requests, and answers one of a connection at a time: hundreds at once would keep every other client waiting. Neither
 * Cluster API nor the API server sends a request before it has the last answer (RFC 9112, 9.3.2: none should after a POST).
 */
function oneAtATime(connections: Connections, room: BodyRoom, handle: Handler): Handler {
  return (request, response) => {
    const via = connections.asked(request.socket);
    request.via = via;
    response.on("close", () => {
      if (via.answer === response) via.answer = undefined; // otherwise an idle connection keeps it
      request.leave();
      room.leave(request.taken);
      connections.answered(via);
    });
    if (via.answer?.writableEnded === false) return endPipeline(response, via);
    via.answer = response;
    handle(request, response);
  };
}

/**
 * "100 Continue" comes before the answer: while the last answer of the connection is still being written, Node.js would
 * put it behind the head of this one (_http_outgoing, _send).
 */
function continueInOrder(
  this: NodeServer,
  request: HookRequest,
  response: ServerResponse<HookRequest>,
): void {
  const go = (): void => {
    if (!response.headersSent) response.writeContinue();
  };
  if (response.socket === null) response.once("socket", go);
  else go();
  this.emit("request", request, response);
}

/** As much as Node.js keeps of the answers of a connection before it reads no more from it (_http_server, parserOnIncoming). */
const NEVER_SENT = " ".repeat(getDefaultHighWaterMark(false));

/** The answer under way is the connection's last one. This one never leaves, but Node.js counts it. */
function endPipeline(response: ServerResponse<HookRequest>, via: Connection): void {
  via.ending = true;
  response.writeHead(503).end(NEVER_SENT);
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

/** Any client can cause these errors, so there is no log line above debug. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  const isHttp = error.code?.startsWith("HPE_") === true || error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  if (isHttp && socket.writable) socket.end(BAD_REQUEST, () => socket.destroy());
  else socket.destroy();
}

/** Returns a function that tells whether to refuse a call, and logs why. */
export function createGuard({
  clients,
  log,
}: Pick<TlsServerOptions, "clients" | "log">): (path: string | undefined, socket: Socket) => boolean {
  const complain = sparing(log);
  return (path, socket) => {
    if (clients === undefined) return false;
    const reason = socket instanceof TLSSocket ? clients.refusal(socket) : "no TLS";
    if (reason === undefined) return false;
    complain("Refused a call", { path, reason, remedy: clients.remedy });
    return true;
  };
}
