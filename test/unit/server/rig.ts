/** Clients of a server; they trust any certificate. */

import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { connect, type TLSSocket } from "node:tls";

export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** By POST, on a connection of its own, unless `options` say otherwise. */
export async function send(
  port: number,
  body: Iterable<Buffer | string>,
  options: RequestOptions,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const defaults = { host: "127.0.0.1", port, method: "POST", rejectUnauthorized: false, agent: false };
  const request = httpsRequest({ ...defaults, ...options }, (response) => {
    let text = "";
    response.on("data", (chunk: Buffer) => (text += chunk.toString()));
    response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
  });
  request.on("error", reject);
  for (const chunk of body) request.write(chunk);
  request.end();
  return await promise;
}

interface Connection {
  readonly socket: TLSSocket;
  /** All that the server says until it closes the connection. */
  readonly all: Promise<string>;
  /** Once what the server has said matches. */
  readonly until: (pattern: RegExp) => Promise<void>;
}

/** A TLS connection that sends `text`. */
export async function dial(port: number, text = ""): Promise<Connection> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
  let heard = "";
  const listeners = new Set<() => void>();
  socket.on("data", (chunk: Buffer) => {
    heard += chunk.toString();
    for (const listener of listeners) listener();
  });
  socket.on("error", () => undefined);
  const all = new Promise<string>((resolve) => socket.once("close", () => resolve(heard)));
  await once(socket, "secureConnect");
  if (text !== "") socket.write(text);
  const until = async (pattern: RegExp): Promise<void> =>
    await new Promise((resolve) => {
      const listener = (): void => {
        if (pattern.test(heard)) resolve();
      };
      listeners.add(listener);
      listener();
    });
  return { socket, all, until };
}
