/**
 * The plain listeners for probes and scrapes. On node:http and not on Fastify: each serves a few fixed paths without
 * bodies, parameters or hooks, and must answer also while everything else is in trouble.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

import type { Logger } from "../api/logger.ts";
import { listen, type Address } from "./address.ts";

export interface HealthCheck {
  readonly name: string;
  /** `undefined` when all is well, else the reason in a few words; the reason is shown to whoever can reach the port. */
  readonly check: () => string | undefined;
}

export interface PlainServer {
  listen(): Promise<{ port: number }>;
  close(): Promise<void>;
}

export interface HealthOptions {
  readonly address: Address;
  readonly checks: readonly HealthCheck[];
  readonly log: Logger;
}

export interface MetricsOptions {
  readonly address: Address;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly log: Logger;
}

interface Page {
  readonly code: number;
  readonly body: string;
  readonly type?: string;
}

type Pages = Readonly<Record<string, (query: string) => Page | Promise<Page>>>;

const OK: Page = { code: 200, body: "ok" };
const NOT_FOUND: Page = { code: 404, body: "not found\n" };
const BAD_METHOD: Page = { code: 405, body: "method not allowed\n" };

/** `/healthz` tells that the event loop turns, `/readyz` asks the checks; the body is Kubernetes' own. */
export function createHealthServer({ address, checks, log }: HealthOptions): PlainServer {
  const pages: Pages = {
    "/healthz": () => OK,
    "/readyz": (query) => readiness(checks, new URLSearchParams(query).has("verbose"), log),
  };
  return plainServer({ address, flag: "--health-addr", pages, log });
}

export function createMetricsServer({ address, metrics, log }: MetricsOptions): PlainServer {
  const pages: Pages = {
    "/metrics": async () => ({ code: 200, body: await metrics.text(), type: metrics.contentType }),
  };
  return plainServer({ address, flag: "--diagnostics-address", pages, log });
}

function readiness(checks: readonly HealthCheck[], verbose: boolean, log: Logger): Page {
  const results = checks.map((each) => ({ name: each.name, reason: ask(each, log) }));
  const ready = results.every(({ reason }) => reason === undefined);
  if (ready && !verbose) return OK;
  const lines = results.map(({ name, reason }) =>
    reason === undefined ? `[+]${name} ok` : `[-]${name} failed: ${reason}`,
  );
  lines.push(ready ? "readyz check passed" : "readyz check failed");
  return { code: ready ? 200 : 503, body: `${lines.join("\n")}\n` };
}

function ask({ name, check }: HealthCheck, log: Logger): string | undefined {
  try {
    return check();
  } catch (error) {
    log.warn("Health check threw", { name, error });
    return "internal error";
  }
}

interface PlainServerOptions {
  readonly address: Address;
  readonly flag: string;
  readonly pages: Pages;
  readonly log: Logger;
}

function plainServer({ address, flag, pages, log }: PlainServerOptions): PlainServer {
  const limits = {
    maxHeaderSize: 8 * 1024,
    headersTimeout: 5_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000, // kubelet opens a connection per probe, Prometheus keeps one
    connectionsCheckingInterval: 5_000,
  };
  const server = createServer(limits, (request, response) => {
    void answer(request, pages, log).then((page) => send(response, page, request.method === "HEAD"));
  });
  server.maxConnections = 64;
  return {
    listen: async () => await listen(server, address, flag),
    close: async (): Promise<void> => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(request: IncomingMessage, pages: Pages, log: Logger): Promise<Page> {
  const [path = "", query = ""] = (request.url ?? "").split("?", 2);
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return NOT_FOUND;
  if (request.method !== "GET" && request.method !== "HEAD") return BAD_METHOD;
  try {
    return await page(query);
  } catch (error) {
    log.error("Failed to answer", { path, error });
    return { code: 500, body: "internal error\n" };
  }
}

function send(response: ServerResponse, { code, body, type }: Page, headOnly: boolean): void {
  response.writeHead(code, {
    "content-type": type ?? "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  response.end(headOnly ? undefined : body);
}
