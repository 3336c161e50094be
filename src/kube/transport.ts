import { hash } from "node:crypto";
import { Agent, type Dispatcher, ProxyAgent, Socks5ProxyAgent } from "undici";
import { parseJson, textOf } from "../lib/fields.ts";
import {
  type Credentials,
  currentCredentials,
  currentUser,
  type TlsOptions,
  withTrust,
} from "./credentials.ts";
import type { KubeConfig } from "./kubeconfig.ts";
import { type Limits, withDeadline } from "./deadline.ts";
import { childOf } from "../lib/signals.ts";
import { proxyOf } from "./proxy-environment.ts";
import { ServerClock } from "./server-clock.ts";
import {
  type Attempt,
  fromStatus,
  fromTransport,
  invalidResponse,
  isUnauthorized,
  KubeError,
  responseTooLarge,
} from "./kube-error.ts";

export interface HttpRequest {
  readonly attempt: Attempt;
  readonly method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT";
  /** Relative to the server's own path (a proxy such as Rancher's has one), query included. */
  readonly path: string;
  /** Absent: JSON. */
  readonly accept?: string;
  /** `type` is JSON by default. */
  readonly body?: { readonly type?: string; readonly json: unknown };
  readonly signal?: AbortSignal | undefined;
  /** Absent: the limit of the transport. */
  readonly maxBytes?: number;
  /** The user as whom the request is made; absent: the operator itself. */
  readonly asUser?: string | undefined;
}

export interface Body {
  readonly text: string;
  /** Length as received. */
  readonly bytes: number;
}

export interface TransportOptions {
  readonly userAgent: string;
  /** Infinity: only the caller ends a request. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** For requests that are no watches. */
  readonly connections?: number;
}

interface Pools {
  readonly tlsKey: string;
  readonly requests: Dispatcher;
  /** A watch keeps its connection for minutes. It must neither wait for one nor take one from the requests. */
  readonly watches: Dispatcher;
}

type ResponseData = Dispatcher.ResponseData;

interface OutgoingRequest {
  readonly request: HttpRequest;
  readonly credentials: Credentials;
  readonly signal: AbortSignal;
  readonly pool: "requests" | "watches";
}

export const JSON_TYPE = "application/json";
const CONNECT_TIMEOUT_MS = 5_000;
/** Below kube-apiserver's 90 s, so that no request is written to a connection that the server is closing. */
const IDLE_CONNECTION_MS = 30_000;
const REQUEST_CONNECTIONS = 16;
const MAX_ERROR_BYTES = 64 * 1024;

/** Connection pools to one API server. client-node 2.0.1 itself would open one TLS connection per call. */
export class Transport {
  readonly clock = new ServerClock();
  readonly #config: KubeConfig;
  readonly #options: TransportOptions;
  #pools: Pools | undefined;
  #closed = false;

  constructor(config: KubeConfig, options: TransportOptions) {
    this.#config = config;
    this.#options = options;
  }

  /** Sends a request and returns its JSON response. */
  async json(request: HttpRequest): Promise<unknown> {
    return parsed(request.attempt, await this.body(request));
  }

  /** Sends a request and receives its response within the timeout. */
  async body(request: HttpRequest): Promise<Body> {
    const maxBytes = Math.min(request.maxBytes ?? Infinity, this.#options.maxResponseBytes);
    return await this.#authenticated(request, async (credentials) => {
      const work = async (signal: AbortSignal): Promise<Body> => {
        const sent = performance.now();
        const answer = await this.#send({ request, credentials, signal, pool: "requests" });
        this.clock.read(answer.headers["date"], sent);
        const bytes = await readBody(request.attempt, answer.body, maxBytes);
        return { text: bytes.toString("utf8"), bytes: bytes.length };
      };
      return await withDeadline(request.attempt, this.#limitsOf(request), work);
    });
  }

  /** Returns an endless body. The timeout covers the time to its first line, after which only `signal` ends it. */
  async stream(request: HttpRequest & { readonly signal: AbortSignal }): Promise<ResponseData["body"]> {
    return await this.#authenticated(request, async (credentials) => {
      const life = childOf(request.signal);
      const { signal } = life.controller;
      const open = async (opening: AbortSignal): Promise<ResponseData> => {
        opening.addEventListener("abort", () => life.controller.abort(), { once: true });
        return await this.#send({ request, credentials, signal, pool: "watches" });
      };
      try {
        const { body } = await withDeadline(request.attempt, this.#limitsOf(request), open);
        // An abort after the last read would otherwise emit an error event without a listener.
        body.on("error", () => undefined).once("close", () => life.release());
        return body;
      } catch (error) {
        life.release();
        life.controller.abort();
        throw error;
      }
    });
  }

  /** Once more, if the API server refused what a plugin gave: it may give something else. */
  async #authenticated<T>(request: HttpRequest, send: (credentials: Credentials) => Promise<T>): Promise<T> {
    try {
      const credentials = await this.#credentials(request);
      try {
        return await send(credentials);
      } catch (error) {
        if (credentials.forget === undefined || !isUnauthorized(error)) throw error;
        credentials.forget();
        return await send(await this.#credentials(request));
      }
    } catch (error) {
      throw fromTransport(request.attempt, error);
    }
  }

  /** A person who answers a plugin has all the time that they need. */
  async #credentials(request: HttpRequest): Promise<Credentials> {
    const { attempt, signal } = request;
    const limits = currentUser(this.#config)?.plugin === undefined ? this.#limitsOf(request) : { signal };
    return await withDeadline(attempt, limits, () => currentCredentials(this.#config, attempt));
  }

  #limitsOf({ signal }: HttpRequest): Limits {
    const { timeoutMs } = this.#options;
    return { signal, ...(timeoutMs !== Infinity && { timeoutMs }) };
  }

  /** Drops the connections, open watches included. */
  async close(): Promise<void> {
    this.#closed = true;
    const pools = this.#pools;
    this.#pools = undefined;
    await Promise.allSettled([pools?.requests.destroy(), pools?.watches.destroy()]);
  }

  /** Resolves with a 2xx response whose body must be read or dropped. */
  async #send({ request, credentials, signal, pool }: OutgoingRequest): Promise<ResponseData> {
    const { attempt } = request;
    if (this.#closed) throw new KubeError(`${attempt}: client is closed`, { code: 0, reason: "Aborted" });
    signal.throwIfAborted();
    const server = new URL(this.#config.getCurrentCluster()?.server ?? "");
    const answer = await this.#poolsFor(credentials.tls)[pool].request({
      origin: server.origin,
      path: `${server.pathname.replace(/\/$/, "")}${request.path}`,
      method: request.method,
      signal,
      headers: {
        ...credentials.headers,
        accept: request.accept ?? JSON_TYPE,
        "user-agent": this.#options.userAgent,
        ...(request.asUser !== undefined && { "impersonate-user": request.asUser }),
        ...(request.body && { "content-type": request.body.type ?? JSON_TYPE }),
      },
      body: request.body === undefined ? null : JSON.stringify(request.body.json),
    });
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
    throw await refusal(attempt, answer);
  }

  /** Reuses the pools until the CA or the client certificate changes, so that such a change needs no restart. */
  #poolsFor(tls: TlsOptions): Pools {
    const tlsKey = hash("sha256", JSON.stringify(tls));
    if (this.#pools?.tlsKey === tlsKey) return this.#pools;
    // Requests and watches in flight end by themselves.
    for (const pool of [this.#pools?.requests, this.#pools?.watches]) pool?.close().catch(() => undefined);
    this.#pools = {
      tlsKey,
      requests: this.#dispatcher(tls, this.#options.connections ?? REQUEST_CONNECTIONS),
      watches: this.#dispatcher(tls, null),
    };
    return this.#pools;
  }

  #dispatcher(tls: TlsOptions, connections: number | null): Dispatcher {
    const keepAlive = { keepAlive: true, keepAliveInitialDelay: 30_000, timeout: CONNECT_TIMEOUT_MS };
    const common = {
      connections,
      pipelining: 1,
      // One dead HTTP/2 connection would stall every watch unnoticed.
      allowH2: false,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      headersTimeout: 0, // withDeadline
      bodyTimeout: 0, // withDeadline, and the informer's idle time-out
    };
    const { server = "", proxyUrl } = this.#config.getCurrentCluster() ?? {};
    const proxy = proxyUrl ?? proxyOf(new URL(server));
    const trusted = withTrust(tls);
    if (proxy === undefined) return new Agent({ ...common, connect: { ...trusted, ...keepAlive } });
    if (proxy.startsWith("socks"))
      return new Socks5ProxyAgent(proxy.replace(/^socks5h:/, "socks5:"), { ...common, requestTls: trusted });
    return new ProxyAgent({ ...common, uri: proxy, requestTls: { ...trusted, ...keepAlive } });
  }
}

/** Throws a KubeError unless the body is JSON. */
export function parsed(attempt: Attempt, { text }: Body): unknown {
  const value = parseJson(text);
  if (value === undefined) throw invalidResponse(attempt, "not JSON");
  return value;
}

async function refusal(attempt: Attempt, answer: ResponseData): Promise<KubeError> {
  const text = await readBody(attempt, answer.body, MAX_ERROR_BYTES).then(String, () => "");
  const isJson = String(answer.headers["content-type"]).includes("json");
  const body = isJson ? parseJson(text) : undefined;
  // Otherwise the body is a proxy's page, whose text is the message.
  const sent = body === undefined ? text : body;
  return fromStatus(attempt, answer.statusCode, sent, textOf(answer.headers["retry-after"]));
}

async function readBody(attempt: Attempt, body: ResponseData["body"], maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop destroys the body and its connection.
    if (size > maxBytes) throw responseTooLarge(attempt, `more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks, size);
  // The parser is done with them. As garbage they would wait for a collection, and leave holes in malloc. Node.js's pool is not ours.
  for (const { buffer } of chunks)
    if (buffer instanceof ArrayBuffer && buffer.byteLength !== Buffer.poolSize && !buffer.detached)
      buffer.transfer(0);
  return bytes;
}
