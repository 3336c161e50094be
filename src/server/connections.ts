/**
 * Who is connected and who waits for an answer, so that strangers keep nobody out and a drain can be short and bounded. Neither Fastify's close nor
 * Node's is: both wait for connections that went idle after the close began (fastify#7044), and no call of Node's
 * closes a connection whose TLS handshake never ended.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";

export class Connections {
  /** TCP connections, with TLS or on the way to it. */
  readonly #accepted = new Set<Socket>();
  /** TLS sockets, with how many requests of each wait for their answer. */
  readonly #waiting = new Map<Socket, number>();
  /** TCP connections that have asked nothing so far, by their peer, the oldest first. */
  readonly #silent = new Map<string, Socket>();
  /** TLS sockets between two requests, the longest idle first. */
  readonly #idle = new Set<Socket>();
  readonly #drained = Promise.withResolvers<void>();
  /** Those that end with their next answer, although others do not. */
  readonly #ending = new WeakSet<Socket>();
  #shedding = false;
  #draining = false;

  /** `onFull` is told of each connection that ends because there are more than `limit`. */
  constructor(server: Server, limit: number, onFull: () => void) {
    server.on("connection", (socket: Socket) => {
      const peer = peerOf(socket);
      this.#accepted.add(socket);
      this.#silent.set(peer, socket);
      socket.once("close", () => {
        this.#accepted.delete(socket);
        this.#silent.delete(peer);
      });
      if (this.#accepted.size <= limit) return;
      onFull();
      this.#makeRoom(socket);
    });
    server.on("secureConnection", (socket: Socket) => {
      this.#waiting.set(socket, 0);
      socket.once("close", () => {
        this.#waiting.delete(socket);
        this.#idle.delete(socket);
        this.#check();
      });
    });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#silent.delete(peerOf(request.socket));
      this.#idle.delete(request.socket);
      this.#add(request.socket, 1);
      response.once("close", () => this.#answered(request.socket));
    });
  }

  /** Answers given while this is true must carry `connection: close`. */
  isEnding(socket: Socket): boolean {
    return this.#shedding || this.#ending.has(socket);
  }

  /** No connection of now outlives its next answer; those that come later do. */
  renew(): void {
    for (const socket of this.#waiting.keys()) this.#ending.add(socket);
  }

  /** From now on no connection outlives its next answer. */
  shed(): void {
    this.#shedding = true;
  }

  /** Whether a request of this connection waits for its answer. */
  isWaiting(socket: Duplex): boolean {
    return socket instanceof Socket && (this.#waiting.get(socket) ?? 0) > 0;
  }

  /**
   * Closes idle connections at once and the others after their answer; when the last answer is out, or after
   * `deadlineMs`, whatever is left. The server must have stopped to accept connections.
   */
  async drain(deadlineMs: number): Promise<void> {
    this.shed();
    this.#draining = true;
    for (const [socket, count] of this.#waiting) if (count === 0) socket.destroy();
    this.#check();
    const timer = setTimeout(() => this.#drained.resolve(), deadlineMs);
    await this.#drained.promise;
    clearTimeout(timer);
    for (const socket of [...this.#waiting.keys(), ...this.#accepted]) socket.destroy();
  }

  #answered(socket: Socket): void {
    // In a drain the last one stays counted until the socket closes: only then is the answer out.
    if (this.#draining && this.#waiting.get(socket) === 1) socket.destroySoon();
    else this.#add(socket, -1);
  }

  #add(socket: Socket, change: 1 | -1): void {
    const count = this.#waiting.get(socket);
    if (count === undefined) return;
    this.#waiting.set(socket, count + change);
    if (count + change === 0) this.#idle.add(socket);
  }

  /** Who has asked nothing goes first. An idle client may be about to ask: it is told in order, and tries again. */
  #makeRoom(newcomer: Socket): void {
    const [oldest] = this.#silent.values();
    const silent = oldest === newcomer ? undefined : oldest;
    const [idle] = this.#idle;
    if (silent !== undefined) silent.destroy();
    else if (idle !== undefined) idle.destroySoon();
    else newcomer.destroy();
  }

  #check(): void {
    if (this.#draining && [...this.#waiting.values()].every((count) => count === 0)) this.#drained.resolve();
  }
}

/** The same for a TCP connection and the TLS socket on it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
