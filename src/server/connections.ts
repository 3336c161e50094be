/**
 * Bounds the number of connections, and closes a server within a deadline. Node's own server.close() has no deadline: it waits
 * for connections that become idle later, and for TLS handshakes that never end. Its maxConnections refuses the newest one.
 */

import { Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Logger, rateLimited } from "../lib/logger.ts";

interface Connection {
  readonly tcp: Socket;
  /** After the TLS handshake, if there is one. */
  ready?: Socket;
  /** The answer that is being made. */
  answer?: ServerResponse | undefined;
  /** When its last answer was sent; -Infinity: never. */
  usedAt: number;
  /** Its next answer is the last one. */
  ending: boolean;
}

export class Connections {
  readonly #server: Server;
  /** All connections, also during the TLS handshake, the oldest first. */
  readonly #byPeer = new Map<string, Connection>();
  /** Those that can send requests. */
  readonly #bySocket = new Map<Duplex, Connection>();
  #shedding = false;
  #closing = false;

  /** Of HTTP or HTTPS. `flags`: those that set its address, for the log. */
  constructor(server: Server, limit: number, log: Logger, flags: string) {
    this.#server = server;
    const warn = rateLimited(log);
    server.on("connection", (socket: Socket) => {
      this.#accept(socket);
      if (server instanceof HttpServer) this.#begin(socket);
      if (this.#byPeer.size <= limit) return;
      warn("Too many connections, closing idle ones", { limit, flags });
      this.#makeRoom();
    });
    server.on("secureConnection", (socket: Socket) => this.#begin(socket));
  }

  /**
   * Tracks the answer to a request. Returns false and ends the connection if the last request still waits for its answer.
   * Neither Cluster API nor the API server pipelines requests (RFC 9112, 9.3.2), and hundreds of them would take memory that
   * no other limit bounds.
   */
  begin({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined || connection.answer?.writableEnded === false) {
      socket.destroy();
      return false;
    }
    connection.answer = response;
    response.once("close", () => this.#answered(connection, response));
    return true;
  }

  /** Whether the start of an answer may be on its way. */
  hasBegunAnswer(socket: Duplex): boolean {
    return this.#bySocket.get(socket)?.answer?.headersSent === true;
  }

  /** Whether the next answer must carry `connection: close`. */
  isEnding({ socket }: IncomingMessage): boolean {
    return this.#shedding || this.#bySocket.get(socket)?.ending !== false;
  }

  /** Ends each present connection with its next answer; later connections are not affected. */
  renew(): void {
    for (const connection of this.#byPeer.values()) connection.ending = true; // includes those during the handshake
  }

  /** Ends every connection with its next answer from now on. */
  shed(): void {
    this.#shedding = true;
  }

  /** Stops accepting, closes idle connections at once, the others after their answer, and the rest after `deadlineMs`. */
  async close(deadlineMs: number): Promise<void> {
    this.shed();
    this.#closing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const { tcp, answer } of this.#byPeer.values()) if (answer === undefined) tcp.destroy();
    const timer = setTimeout(() => {
      for (const { tcp } of this.#byPeer.values()) tcp.destroy();
    }, deadlineMs);
    await closed;
    clearTimeout(timer);
  }

  #accept(tcp: Socket): void {
    const connection: Connection = { tcp, usedAt: -Infinity, ending: false };
    const peer = peerOf(tcp);
    this.#byPeer.set(peer, connection);
    tcp.once("close", () => {
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
    });
  }

  #begin(socket: Socket): void {
    const connection = this.#byPeer.get(peerOf(socket));
    if (connection === undefined) return void socket.destroy();
    connection.ready = socket;
    this.#bySocket.set(socket, connection);
    socket.once("close", () => this.#bySocket.delete(socket));
  }

  #answered(connection: Connection, response: ServerResponse): void {
    connection.usedAt = performance.now();
    if (connection.answer === response) connection.answer = undefined; // otherwise an idle connection keeps it
    if (this.#closing && connection.answer === undefined) connection.ready?.destroySoon();
  }

  /**
   * Closes a connection of the address that has the most. Connections that never sent a whole request are closed first,
   * then idle ones; if all wait for an answer, the newest.
   */
  #makeRoom(): void {
    const all = [...this.#byPeer.values()];
    const newcomer = all.at(-1);
    const byAddress = Map.groupBy(all, ({ tcp }) => tcp.remoteAddress);
    const most = [...byAddress.values()].reduce((a, b) => (b.length > a.length ? b : a));
    const idle = most.filter((connection) => connection !== newcomer && isIdle(connection));
    const [idlest = most.at(-1)] = idle.toSorted((a, b) => a.usedAt - b.usedAt);
    idlest?.tcp.destroy();
  }
}

/** A body can be sent slowly to keep a connection. */
function isIdle({ answer }: Connection): boolean {
  return answer === undefined || !answer.req.complete;
}

/** The same key for a TCP connection and the TLS socket on it. */
function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(" ");
}
