/** Raw connections to the hook server: bytes that no HTTP client would send, and all that comes back. */

import { Agent } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import type { HttpAnswer } from "./verdict.ts";

export interface Address {
  readonly port: number;
  /** PEM of who signed the server's certificate. */
  readonly ca: string;
}

/** Of the attackers, and not of the client beside them: in a cluster, each pod has its own. */
const ATTACKERS = "127.0.0.2";
export const AT_A_TIME = 16;

/** Keeps its connections, at most AT_A_TIME. */
export function attackingAgent({ ca }: Pick<Address, "ca">): Agent {
  return new Agent({
    ca,
    localAddress: ATTACKERS,
    servername: "localhost",
    keepAlive: true,
    maxSockets: AT_A_TIME,
  });
}

/** Far beyond what the server lets a request take: a busy machine may notice its end late. */
const LIMIT_MS = 120_000;

export function dialTcp({ port }: Address): Socket {
  const socket = connectTcp({ port, host: "127.0.0.1", localAddress: ATTACKERS });
  socket.on("error", () => undefined); // that it ends is all that is looked at
  return socket;
}

export function dialTls({ port, ca }: Address, options: ConnectionOptions = {}): TLSSocket {
  const socket = connectTls({ socket: dialTcp({ port, ca }), ca, servername: "localhost", ...options });
  socket.on("error", () => undefined);
  return socket;
}

/**
 * Sends the bytes and resolves with all that is said until the server ends the connection. `last`: says that no more
 * will come, and then the server may leave out answers that it has not begun.
 */
export async function exchange(address: Address, bytes: Buffer, { last = false } = {}): Promise<Buffer> {
  const socket = dialTls(address);
  if (last) socket.end(bytes);
  else socket.write(bytes);
  return await hearOut(socket);
}

/** Rejects when the connection has not ended after LIMIT_MS. */
export async function hearOut(socket: Socket): Promise<Buffer> {
  const heard: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => heard.push(chunk));
  await ended(socket);
  return Buffer.concat(heard);
}

/** By a reset, too: what could be read before it has been. */
export async function ended(socket: Socket): Promise<void> {
  if (socket.closed) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once("close", () => resolve());
  const timer = setTimeout(() => {
    reject(new Error(`the connection was not ended in ${LIMIT_MS / 1000} s`));
    socket.destroy();
  }, LIMIT_MS);
  await promise.finally(() => clearTimeout(timer));
}

/** The responses one after the other; throws where it is no HTTP, or where a body is not whole. To HEAD there is none. */
export function parseAnswers(said: Buffer, { bodies = true } = {}): HttpAnswer[] {
  const answers: HttpAnswer[] = [];
  for (let rest = said; rest.length > 0;) {
    const end = rest.indexOf("\r\n\r\n");
    const head = rest.subarray(0, end).toString("latin1");
    const [, code] = /^HTTP\/1\.1 (\d{3}) [ -~]+(\r\n[!-9;-~]+: [ -~]*)*$/.exec(head) ?? [];
    if (end < 0 || code === undefined) throw new Error(`no HTTP: ${JSON.stringify(head.slice(0, 100))}`);
    const body = rest.subarray(end + 4);
    const length = code === "100" || !bodies ? 0 : lengthOf(head);
    if (!(length <= body.length)) throw new Error(`${body.length} bytes of a body of ${length}`);
    if (code !== "100") answers.push({ status: Number(code), text: body.subarray(0, length).toString() });
    rest = body.subarray(length);
  }
  return answers;
}

/** Node.js refuses without a length, and closes the connection. */
function lengthOf(head: string): number {
  return Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
}
