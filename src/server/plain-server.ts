/** Listeners for probes and scrapes. Each serves a few fixed paths, even while everything else is in trouble. */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";

import type { Logger } from "../lib/logger.ts";
import { listen, type Address } from "./address.ts";
import { timeouts } from "./tls-server.ts";

export interface PageServer {
  listen(): Promise<{ port: number }>;
  close(): Promise<void>;
}

export interface Page {
  readonly code: number;
  readonly body: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PageRequest {
  readonly query: string;
  /** The header of that name. */
  readonly authorization: string | undefined;
  /** IP address of the client. */
  readonly address: string;
}

export type Pages = Readonly<Record<string, (request: PageRequest) => Page | Promise<Page>>>;

export const PAGE_LIMITS = {
  headersMs: 5_000,
  requestMs: 10_000,
  keepAliveMs: 65_000, // kubelet opens a connection per probe, Prometheus keeps one
  checkMs: 5_000,
  connections: 64,
};

const NOT_FOUND: Page = { code: 404, body: "not found\n" };
const BAD_METHOD: Page = { code: 405, body: "method not allowed\n" };

export interface PlainServerOptions {
  readonly address: Address;
  readonly flag: string;
  readonly pages: Pages;
  readonly log: Logger;
}

export function createPlainServer({ address, flag, pages, log }: PlainServerOptions): PageServer {
  const server = createServer(
    { ...timeouts(PAGE_LIMITS), maxHeaderSize: 8 * 1024 },
    pageListener(pages, log),
  );
  server.maxConnections = PAGE_LIMITS.connections;
  return {
    listen: async () => await listen(server, address, flag),
    close: async (): Promise<void> => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** `isLast`: whether the connection ends with the answer. */
export function pageListener(
  pages: Pages,
  log: Logger,
  isLast: (request: IncomingMessage) => boolean = () => false,
): RequestListener {
  return (request, response) => {
    void answer(request, pages, log).then((page) => {
      if (isLast(request)) response.setHeader("connection", "close");
      send(response, page, request.method === "HEAD");
    });
  };
}

async function answer(request: IncomingMessage, pages: Pages, log: Logger): Promise<Page> {
  const [path = "", query = ""] = (request.url ?? "").split("?", 2);
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return NOT_FOUND;
  if (request.method !== "GET" && request.method !== "HEAD") return BAD_METHOD;
  const { headers, socket } = request;
  try {
    return await page({
      query,
      authorization: headers.authorization,
      address: socket.remoteAddress ?? "",
    });
  } catch (error) {
    log.error("Failed to answer", { path, error });
    return { code: 500, body: "internal error\n" };
  }
}

function send(response: ServerResponse, { code, body, type, headers }: Page, headOnly: boolean): void {
  response.writeHead(code, {
    "content-type": type ?? "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...headers,
  });
  response.end(headOnly ? undefined : body);
}
