/** The common part of the operator's HTTPS servers: certificate, clients, limits, and how they begin and end. */

import type { ServerOptions as HttpServerOptions } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { TLSSocket } from "node:tls";

import type { Logger } from "../lib/logger.ts";
import { type Address, listen } from "./address.ts";
import { Bodies, type BodyLimits, MAX_CALL_BYTES } from "./bodies.ts";
import { Connections } from "./connections.ts";

/** Both in PEM; the certificate may be followed by its chain. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Decides which clients may call. */
export interface Clients {
  /** PEM of the authorities that sign client certificates; never empty, or the system's authorities would count. */
  readonly pem: string;
  /** Why the client of this connection is refused; `undefined`: it is accepted. */
  refusal(socket: TLSSocket): string | undefined;
  /** How a client gets a certificate that is accepted, for the log. */
  readonly remedy: string;
}

export interface TlsServerOptions extends Address {
  readonly tls: KeyPair;
  /** Absent: every caller is answered, and no client certificate is requested. */
  readonly clients?: Clients | undefined;
  /** The flags that set the address, for the error when listening fails. */
  readonly flags?: string;
  readonly log: Logger;
  readonly limits?: Partial<ServerLimits>;
}

export interface ServerLimits extends BodyLimits {
  readonly handshakeMs: number;
  readonly headersMs: number;
  /** For a whole request with its body. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
  /** How often the timeouts of requests are checked. */
  readonly checkMs: number;
  readonly connections: number;
}

/** Cluster API keeps idle connections for 90 s; it must be the side that closes them. */
const LIMITS: ServerLimits = {
  bodyBytes: MAX_CALL_BYTES,
  bodiesBytes: 40 * 1024 * 1024,
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 120_000,
  checkMs: 2_000,
  connections: 1024,
};

export const NOT_FOUND = '{"error":"not found"}\n';
export const INTERNAL_ERROR = '{"error":"internal error"}\n';

export interface TlsServer {
  /** Rejects with a one-line error, for example when the port is in use. */
  listen(): Promise<{ port: number }>;
  /** For new connections; throws and keeps the old certificate when key and certificate do not match. */
  setCertificate(pair: KeyPair): void;
  /** Applies to new connections; present ones end with their next answer. */
  clientsChanged(): void;
  /**
   * Keeps answering, and ends every connection with its next answer. Clients with open connections would otherwise never
   * notice that the Service no longer routes here.
   */
  shedConnections(): void;
  /**
   * Stops accepting connections, lets requests in flight finish for at most `deadlineMs`, then cuts every connection.
   */
  close(deadlineMs: number): Promise<void>;
}

/** What the code that answers requests needs of the server. */
export interface TlsServerParts {
  readonly server: Server;
  readonly connections: Connections;
  readonly bodies: Bodies;
}

export function createTlsServer(options: TlsServerOptions): TlsServer & TlsServerParts {
  const { clients, log, flags = "--webhook-host, --webhook-port" } = options;
  const limits: ServerLimits = { ...LIMITS, ...options.limits };
  let { tls } = options;
  const server = createServer(serverOptions(tls, limits, clients));
  const connections = new Connections(server, limits.connections, log, flags);
  server.on("checkContinue", (request, response) => {
    // While the answer before it is being sent, Node.js would keep this for later, and write it between header and body.
    if (response.socket !== null) response.writeContinue();
    server.emit("request", request, response);
  });
  return {
    server,
    connections,
    bodies: new Bodies(limits),
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
    close: async (deadlineMs) => await connections.close(deadlineMs),
  };
}

/** A change of the certificate has to pass all of these options again. */
function serverOptions({ cert, key }: KeyPair, limits: ServerLimits, clients?: Clients): ServerOptions {
  return {
    cert,
    key,
    minVersion: "TLSv1.2",
    // Keeps connections without a valid certificate, because discovery needs none, and an answer says more than a reset.
    ...(clients !== undefined && { ca: clients.pem, requestCert: true, rejectUnauthorized: false }),
    handshakeTimeout: limits.handshakeMs,
    maxHeaderSize: 16 * 1024,
    ...timeouts(limits),
  };
}

export function timeouts(limits: Omit<ServerLimits, "handshakeMs" | keyof BodyLimits>): HttpServerOptions {
  return {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
  };
}
