/** One POST over HTTPS to a server on this machine. */

import type { IncomingMessage } from "node:http";
import { request, type RequestOptions } from "node:https";
import { text } from "node:stream/consumers";

/** In Go's http.DefaultTransport, and so Cluster API's: idle connections are closed before the operator closes them. */
export const IDLE_MS = 90_000;

/** As many Clusters as Cluster API works on at the same time by default (core/main.go, --clustertopology-concurrency). */
export const CONCURRENCY = 50;

export interface Post extends Pick<
  RequestOptions,
  "agent" | "ca" | "cert" | "headers" | "key" | "method" | "servername"
> {
  readonly port: number;
  readonly path: string;
  readonly body: Buffer | string;
  /** Default: as long as Cluster API waits. */
  readonly timeoutMs?: number;
}

export interface PostResult {
  readonly status: number;
  readonly text: string;
  /** Milliseconds from the moment at which a connection was free. */
  readonly ms: number;
}

/** Without content-type, as Cluster API; rejects when there is no answer in time. */
export async function post({ timeoutMs = 10_000, body, ...options }: Post): Promise<PostResult> {
  const signal = AbortSignal.timeout(timeoutMs);
  let begun = performance.now();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: "127.0.0.1", method: "POST", ...options, signal }, resolve)
      .once("socket", () => (begun = performance.now()))
      .once("error", reject)
      .end(body);
  });
  const said = await text(response);
  return { status: response.statusCode ?? 0, text: said, ms: performance.now() - begun };
}
