/**
 * Tracks connections and the requests that wait for an answer, so that other clients cannot keep Cluster API out and a
 * drain is short and bounded. Node's own server.close() is neither: it waits for connections that become idle later, and
 * nothing in Node closes a connection whose TLS handshake never ends.
 */

import type { ServerResponse } from "node:http";
import type { Server } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

export class Connection {
  /** The TCP connection. */
  readonly accepted: Socket;
  /** The source of requests, after the TLS handshake. */
  secure: Socket | undefined;
  /** Requests that wait for their answer. */
  waiting = 0;
  /** The answer that is being made. */
  answer: ServerResponse | undefined;
  /** How many of them have not arrived as a whole. */
  reading = 0;
  /** Position of its last answer among those of all connections; below 0: no answer so far. */
  lastAnswer = -1;
  /** Whether this connection ends with its next answer, although others do not. */
  ending = false;
  /** Nothing more can be read from the connection: the next answer must be the last one. */
  broken = false;
  /** Called when the connection breaks while a body is read. */
  onBreak: (() => void) | undefined;

  constructor(accepted: Socket) {
    this.accepted = accepted;
  }
}

export class Connections {
  /** All connections, the oldest first, with TLS or during the handshake. */
  readonly #all = new Set<Connection>();
  /** Connections during the handshake. */
  readonly #byPeer = new Map<string, Connection>();
  /** Connections with TLS. */
  readonly #bySocket = new Map<Duplex, Connection>();
  readonly #drained = Promise.withResolvers<void>();
  #answers = 0;
  #shedding = false;
  #draining = false;

  /** `onFull` is called for each connection that ends because there are more than `limit`. */
  constructor(server: Server, limit: number, onFull: () => void) {
    server.on("connection", (socket: Socket) => {
      this.#accept(socket);
      if (this.#all.size <= limit) return;
      onFull();
      this.#makeRoom();
    });
    server.on("secureConnection", (socket: Socket) => this.#secured(socket));
  }

  /** Records that a request has arrived. */
  asked(socket: Socket): Connection {
    const connection = this.#bySocket.get(socket) ?? new Connection(socket);
    connection.waiting += 1;
    return connection;
  }

  /** Records that the answer is sent, or that its client is gone. */
  answered(connection: Connection): void {
    // In a drain the last request stays counted until the socket closes: only then is the answer sent.
    if (this.#draining && connection.waiting === 1) return connection.secure?.destroySoon();
    connection.waiting -= 1;
    connection.lastAnswer = this.#answers++;
  }

  /** Whether the next answer must carry `connection: close`. */
  isEnding({ ending, broken }: Connection): boolean {
    return this.#shedding || ending || broken;
  }

  /**
   * Called when a connection is not valid HTTP any more or takes too long; a body that is being read there is
   * incomplete.
   */
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

  /** Ends each present connection with its next answer; later connections are not affected. */
  renew(): void {
    for (const connection of this.#all) connection.ending = true; // includes those during the handshake
  }

  /** Ends every connection with its next answer from now on. */
  shed(): void {
    this.#shedding = true;
  }

  /**
   * Closes idle connections at once and the others after their answer. Cuts the rest when the last answer is sent or
   * after `deadlineMs`. The server must already have stopped accepting connections.
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

  /**
   * Connections that never sent a whole request are closed first, the oldest before the others: a body can be sent slowly
   * to keep a connection. An idle client may be about to send one, so its connection is closed gracefully and the client
   * retries. Where all wait for an answer, addresses get the same number of connections.
   */
  #makeRoom(): void {
    const all = [...this.#all];
    const newcomer = all.pop();
    const [idle] = all
      .filter(({ waiting, reading }) => waiting === reading)
      .toSorted((a, b) => a.lastAnswer - b.lastAnswer);
    const closed = idle ?? ofGreediest(all, newcomer) ?? newcomer;
    if (closed === undefined) return;
    if (closed === idle && closed.lastAnswer >= 0) closed.secure?.destroySoon();
    else closed.accepted.destroy();
  }

  #check(): void {
    if (!this.#draining) return;
    for (const { waiting } of this.#bySocket.values()) if (waiting > 0) return;
    this.#drained.resolve();
  }
}

/** The newest connection of the address that has the most, if these are more than the newcomer's address has. */
function ofGreediest(all: readonly Connection[], newcomer: Connection | undefined): Connection | undefined {
  const byAddress = Map.groupBy(all, ({ accepted }) => accepted.remoteAddress);
  const [most] = [...byAddress.values()].toSorted((a, b) => b.length - a.length);
  const own = byAddress.get(newcomer?.accepted.remoteAddress)?.length ?? 0;
  return most !== undefined && most.length > own + 1 ? most.at(-1) : undefined;
}

/** The same key for a TCP connection and the TLS socket on it. */
function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(" ");
}
