/**
 * Who is connected and who waits for an answer, so that strangers keep nobody out and a drain can be short and bounded.
 * Neither Fastify's close nor Node's is: both wait for connections that went idle after the close began (fastify#7044),
 * and no call of Node's closes a connection whose TLS handshake never ended.
 */

import type { Server } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

export class Connection {
  /** The TCP connection. */
  readonly accepted: Socket;
  /** What requests come from, after the TLS handshake. */
  secure: Socket | undefined;
  /** Requests that wait for their answer. */
  waiting = 0;
  /** Grows with every answer on any connection; below 0: there was none so far. */
  lastAnswer = -1;
  /** Ends with its next answer, although others do not. */
  ending = false;
  /** Nothing more can be read on it: the next answer must be the last one. */
  broken = false;
  /** To be called when it breaks, while a body is read. */
  onBreak: (() => void) | undefined;

  constructor(accepted: Socket) {
    this.accepted = accepted;
  }
}

export class Connections {
  /** The oldest first, with TLS or on the way to it. */
  readonly #all = new Set<Connection>();
  /** Those on the way to TLS. */
  readonly #byPeer = new Map<string, Connection>();
  /** Those with TLS. */
  readonly #bySocket = new Map<Duplex, Connection>();
  readonly #drained = Promise.withResolvers<void>();
  #answers = 0;
  #shedding = false;
  #draining = false;

  /** `onFull` is told of each connection that ends because there are more than `limit`. */
  constructor(server: Server, limit: number, onFull: () => void) {
    server.on("connection", (socket: Socket) => {
      this.#accept(socket);
      if (this.#all.size <= limit) return;
      onFull();
      this.#makeRoom();
    });
    server.on("secureConnection", (socket: Socket) => this.#secured(socket));
  }

  /** A request has come. */
  asked(socket: Socket): Connection {
    const connection = this.#bySocket.get(socket) ?? new Connection(socket);
    connection.waiting += 1;
    return connection;
  }

  /** The answer is out, or nobody is there to take it. */
  answered(connection: Connection): void {
    // In a drain the last one stays counted until the socket closes: only then is the answer out.
    if (this.#draining && connection.waiting === 1) return connection.secure?.destroySoon();
    connection.waiting -= 1;
    connection.lastAnswer = this.#answers++;
  }

  /** Whether the next answer must carry `connection: close`. */
  isEnding({ ending, broken }: Connection): boolean {
    return this.#shedding || ending || broken;
  }

  /** To be called when a connection stops to be HTTP or takes too long; a body that is being read there is incomplete. */
  breakOff(socket: Duplex): void {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return;
    connection.broken = true;
    connection.onBreak?.();
  }

  /** Whether a request of this connection waits for its answer. */
  isWaiting(socket: Duplex): boolean {
    return (this.#bySocket.get(socket)?.waiting ?? 0) > 0;
  }

  /** No connection of now outlives its next answer; those that come later do. */
  renew(): void {
    for (const connection of this.#all) connection.ending = true; // on the way to TLS, too
  }

  /** From now on no connection outlives its next answer. */
  shed(): void {
    this.#shedding = true;
  }

  /**
   * Closes idle connections at once and the others after their answer; when the last answer is out, or after
   * `deadlineMs`, whatever is left. The server must have stopped to accept connections.
   */
  async drain(deadlineMs: number): Promise<void> {
    this.shed();
    this.#draining = true;
    for (const { secure, waiting } of this.#all) if (waiting === 0) secure?.destroy();
    this.#check();
    const timer = setTimeout(() => this.#drained.resolve(), deadlineMs);
    await this.#drained.promise;
    clearTimeout(timer);
    for (const { secure, accepted } of this.#all) {
      secure?.destroy();
      accepted.destroy();
    }
  }

  #accept(socket: Socket): void {
    const connection = new Connection(socket);
    const peer = peerOf(socket);
    this.#all.add(connection);
    this.#byPeer.set(peer, connection);
    socket.once("close", () => {
      this.#all.delete(connection);
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
    });
  }

  #secured(socket: Socket): void {
    const peer = peerOf(socket);
    const connection = this.#byPeer.get(peer) ?? new Connection(socket);
    this.#byPeer.delete(peer);
    connection.secure = socket;
    this.#bySocket.set(socket, connection);
    socket.once("close", () => {
      this.#bySocket.delete(socket);
      this.#check();
    });
  }

  /** Who has asked nothing goes first. An idle client may be about to ask: it is told in order, and tries again. */
  #makeRoom(): void {
    const all = [...this.#all];
    const newcomer = all.pop();
    const [idle = newcomer] = all
      .filter(({ waiting }) => waiting === 0)
      .toSorted((a, b) => a.lastAnswer - b.lastAnswer);
    if (idle === undefined) return;
    if (idle.lastAnswer < 0) idle.accepted.destroy();
    else idle.secure?.destroySoon();
  }

  #check(): void {
    if (!this.#draining) return;
    for (const { waiting } of this.#bySocket.values()) if (waiting > 0) return;
    this.#drained.resolve();
  }
}

/** The same for a TCP connection and the TLS socket on it. */
function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(" ");
}
