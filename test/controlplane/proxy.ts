/** A TLS proxy in front of kube-apiserver that can do what networks and load balancers do on bad days. */
import { Agent, createServer, request as httpsRequest } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { CertificateAuthority } from "./certificates.ts";
import { portOf } from "./ports.ts";

export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly watch: boolean;
  readonly userAgent: string;
  readonly at: Date;
}

/** A regular expression is tested against "METHOD /path?query". Absent: every request. */
export type Match = RegExp | ((request: SeenRequest) => boolean);

export interface ProxyOptions {
  /** Where the requests go: `cp.apiServer.url`. */
  readonly upstream: string;
  /** Signed the upstream's certificate and signs the proxy's: `cp.authority`. */
  readonly authority: CertificateAuthority;
}

export interface Proxy {
  readonly url: string;
  /** All requests since the start or forget(), in their order, also those that were failed here. */
  readonly requests: readonly SeenRequest[];
  readonly count: (match?: Match) => number;
  /** Numbers by "METHOD /path". */
  readonly counts: () => Record<string, number>;
  readonly forget: () => void;
  /**
   * Matching watches, open and new, receive no more bytes: response headers still come, connections stay
   * open, nothing is reported. resume() delivers what was held back, as after a network's outage.
   */
  readonly stallWatches: (match?: Match) => void;
  /** Answers the next `count` matching requests with a Status of that code, without asking upstream. */
  readonly failNext: (status: number, match?: Match, count?: number) => void;
  readonly failAll: (status: number, match?: Match) => void;
  /** Each matching request is forwarded that much later. */
  readonly delay: (ms: number, match?: Match) => void;
  /** Each matching request is forwarded after `until`. */
  readonly wait: (until: Promise<unknown>, match?: Match) => void;
  /** Ends every stall, failure, delay and wait. */
  readonly resume: () => void;
  /** Cuts all open connections; new ones are accepted. */
  readonly dropConnections: () => void;
  /** How many watches are open through the proxy now. */
  readonly openWatches: (match?: Match) => number;
  readonly stop: () => Promise<void>;
}

interface Failure {
  readonly status: number;
  readonly match: Match | undefined;
  left: number;
}

/** One response on its way to the client; `held` while a stall matches it. */
interface Stream {
  readonly seen: SeenRequest;
  readonly source: IncomingMessage;
  readonly target: ServerResponse;
  held: boolean;
}

class Faults {
  readonly requests: SeenRequest[] = [];
  readonly streams = new Set<Stream>();
  #stalls: (Match | undefined)[] = [];
  #failures: Failure[] = [];
  #waits: { readonly until: () => Promise<unknown>; readonly match: Match | undefined }[] = [];

  stall(match: Match | undefined): void {
    this.#stalls.push(match);
    for (const stream of this.streams) if (this.stalled(stream.seen)) hold(stream);
  }

  stalled(seen: SeenRequest): boolean {
    return seen.watch && this.#stalls.some((match) => matches(match, seen));
  }

  fail(status: number, match: Match | undefined, left: number): void {
    this.#failures.push({ status, match, left });
  }

  /** The code to fail this request with, used up by asking. */
  takeFailure(seen: SeenRequest): number | undefined {
    const failure = this.#failures.find((f) => f.left > 0 && matches(f.match, seen));
    if (failure !== undefined) failure.left--;
    return failure?.status;
  }

  wait(until: () => Promise<unknown>, match: Match | undefined): void {
    this.#waits.push({ until, match });
  }

  async waited(seen: SeenRequest): Promise<void> {
    await Promise.all(this.#waits.filter(({ match }) => matches(match, seen)).map(({ until }) => until()));
  }

  clear(): void {
    this.#stalls = [];
    this.#failures = [];
    this.#waits = [];
    for (const stream of this.streams) release(stream);
  }
}

export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const { authority } = options;
  const serving = await authority.issue({ commonName: "proxy", names: ["localhost", "127.0.0.1"] });
  const agent = new Agent({ ca: authority.certificate, keepAlive: true });
  const faults = new Faults();
  const server = createServer(
    { cert: serving.certificate, key: serving.key, requestTimeout: 0 },
    (req, res) => {
      forward(req, res, { faults, agent, upstream: options.upstream }).catch(() => res.destroy());
    },
  );
  const sockets = new Set<Duplex>();
  // From the first byte on: one whose handshake were still under way would stay open, and stop() would wait for it.
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const dropConnections = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    url: `https://127.0.0.1:${portOf(server)}`,
    requests: faults.requests,
    count: (match) => faults.requests.filter((seen) => matches(match, seen)).length,
    counts: () => countsOf(faults.requests),
    forget: () => void faults.requests.splice(0),
    stallWatches: (match) => faults.stall(match),
    failNext: (status, match, count = 1) => faults.fail(status, match, count),
    failAll: (status, match) => faults.fail(status, match, Infinity),
    delay: (ms, match) => faults.wait(() => sleep(ms, undefined, { ref: false }), match),
    wait: (until, match) => faults.wait(() => until, match),
    resume: () => faults.clear(),
    dropConnections,
    openWatches: (match) =>
      [...faults.streams].filter(({ seen }) => seen.watch && matches(match, seen)).length,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      dropConnections();
      agent.destroy();
      await closed;
    },
  };
}

async function forward(
  req: IncomingMessage,
  res: ServerResponse,
  deps: { readonly faults: Faults; readonly agent: Agent; readonly upstream: string },
): Promise<void> {
  const { faults, agent, upstream } = deps;
  const seen = describe(req);
  faults.requests.push(seen);
  const failure = faults.takeFailure(seen);
  await faults.waited(seen);
  if (failure !== undefined) return refuse(req, res, failure);

  const { method = "GET", headers, url = "/" } = req;
  const outgoing = httpsRequest(new URL(url, upstream), { method, headers, agent });
  outgoing.once("response", (source) => {
    res.writeHead(source.statusCode ?? 502, source.headers);
    res.flushHeaders(); // the client of a quiet watch waits for them
    relay({ seen, source, target: res, held: false }, faults);
  });
  outgoing.once("error", () => res.destroy());
  res.once("close", () => outgoing.destroy()); // the client is gone: so is its watch upstream
  req.pipe(outgoing);
}

function relay(stream: Stream, faults: Faults): void {
  const { seen, source, target } = stream;
  faults.streams.add(stream);
  target.once("close", () => faults.streams.delete(stream));
  // An upstream that dies behind a stall stays as silent as everything else behind it.
  source.on("error", () => {
    if (!stream.held) target.destroy();
  });
  if (faults.stalled(seen)) hold(stream);
  else source.pipe(target);
}

function hold(stream: Stream): void {
  if (stream.held) return;
  stream.held = true;
  stream.source.unpipe(stream.target);
  stream.source.pause();
}

function release(stream: Stream): void {
  if (!stream.held) return;
  stream.held = false;
  if (stream.source.destroyed) stream.target.destroy();
  else stream.source.pipe(stream.target);
}

function describe(req: IncomingMessage): SeenRequest {
  const { pathname, searchParams } = new URL(req.url ?? "/", "https://upstream");
  const watch = /^(1|true)$/.test(searchParams.get("watch") ?? "");
  const { method = "GET", headers } = req;
  const userAgent = headers["user-agent"] ?? "";
  return { method, path: pathname, query: searchParams, watch, userAgent, at: new Date() };
}

function matches(match: Match | undefined, seen: SeenRequest): boolean {
  if (match === undefined) return true;
  if (typeof match === "function") return match(seen);
  const query = seen.query.size === 0 ? "" : `?${seen.query.toString()}`;
  return match.test(`${seen.method} ${seen.path}${query}`);
}

function countsOf(requests: readonly SeenRequest[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { method, path } of requests)
    counts[`${method} ${path}`] = (counts[`${method} ${path}`] ?? 0) + 1;
  return counts;
}

/** As kube-apiserver would say it. */
function refuse(req: IncomingMessage, res: ServerResponse, code: number): void {
  const reasons: Record<number, string> = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
  };
  const reason = reasons[code] ?? "Unknown";
  const message = `refused by the test's proxy: ${reason}`;
  req.resume(); // an unread body would block the connection's next request
  res.writeHead(code, { "content-type": "application/json" });
  res.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason, message, code }));
}
