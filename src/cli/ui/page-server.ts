/**
 * Serves the page on the loopback interface, only to the user who started it: other users of the machine do not know the
 * token, and the checks of Host, Origin and token refuse other web pages.
 */

import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { timingSafeEqual } from "node:crypto";
import { messageOf } from "../../lib/thrown.ts";
import { KubeError } from "../../kube/kube-error.ts";
import { CommandError, FAILED } from "../command.ts";
import type { LiveFeed } from "./live-feed.ts";

export type Query = Readonly<Record<string, string | undefined>>;

export interface PageServerOptions {
  readonly port: number;
  readonly token: string;
  readonly files: PageFiles;
  readonly feed: LiveFeed;
  /** Answers the page's requests, by path; the result is sent as JSON. */
  readonly answers: Readonly<Record<string, (query: Query) => unknown>>;
  /** Computes the effect of files that the page sends, and stores nothing. */
  readonly simulate: (query: Query, body: unknown) => Promise<unknown>;
}

export interface RunningPage {
  readonly url: string;
  readonly close: () => Promise<void>;
}

const HOST = "127.0.0.1";
const MAX_CONNECTIONS = 64;
/** Larger than any policy that the API server stores. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** A page that leaves more unread is disconnected, and connects again. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/** A comment: what forwards the stream, as ssh behind a NAT, may forget one that is idle, and the page would not notice. */
const KEEPALIVE = ":\n\n";

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

export async function servePage(options: PageServerOptions): Promise<RunningPage> {
  const app = fastify({ bodyLimit: MAX_FILE_BYTES, forceCloseConnections: true, exposeHeadRoutes: false });
  app.server.maxConnections = MAX_CONNECTIONS;
  guard(app, options.token);
  app.setErrorHandler((error, _, reply) => void reply.code(codeOf(error)).send({ error: textOf(error) }));
  app.setNotFoundHandler((request, reply) => void refuse(request, reply));
  addPage(app, options.files);
  addEvents(app, options.feed);
  for (const [path, answer] of Object.entries(options.answers))
    app.get<{ Querystring: Query }>(`/:token/${path}`, async ({ query }) => await answer(query));
  app.removeContentTypeParser("text/plain");
  app.post<{ Querystring: Query }>(
    "/:token/simulate",
    async ({ query, body }) => await options.simulate(query, body),
  );
  const address = await app.listen({ host: HOST, port: options.port });
  return { url: `${address}/${options.token}/`, close: async () => await app.close() };
}

/** Checks each request first: its Host defeats DNS rebinding, its Origin the forms of other pages. */
function guard(app: FastifyInstance, token: string): void {
  app.addHook("onRequest", async (request: FastifyRequest<{ Params: { token?: string } }>, reply) => {
    void reply.headers(HEADERS);
    const port = request.socket.localPort;
    const { host = "", origin } = request.headers;
    if (host !== `${HOST}:${port}` && host !== `localhost:${port}`)
      return await reply.code(421).send({ error: onlyAs(port) });
    if (!isSecret(request.params.token ?? "", token)) return await refuse(request, reply);
    const isForeign = origin !== undefined && origin !== `http://${host}`;
    if (isForeign || (request.method === "POST" && origin === undefined))
      return await reply.code(403).send({ error: "only the page itself may ask" });
    return undefined;
  });
}

function onlyAs(port = 0): string {
  return `'hookpolicy ui' answers only as ${HOST}:${port} and localhost:${port}, because other web pages could ask under another name. Behind ssh, forward the same port: ssh -L ${port}:${HOST}:${port}`;
}

/** Takes the same time for every token of the right length. */
function isSecret(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function refuse({ method }: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (method !== "GET" && method !== "POST") return reply.code(405).send({ error: "method not allowed" });
  return reply.code(404).send({ error: "not found: use the whole address that 'hookpolicy ui' has printed" });
}

function addPage(app: FastifyInstance, { script, style }: PageFiles): void {
  const files = [
    ["", "text/html", PAGE],
    ["page.js", "text/javascript", script],
    ["page.css", "text/css", style],
  ] as const;
  for (const [path, type, text] of files)
    app.get(`/:token/${path}`, async (_, reply) => await reply.type(`${type}; charset=utf-8`).send(text));
}

function addEvents(app: FastifyInstance, feed: LiveFeed): void {
  app.get("/:token/events", (_, reply) => {
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, { ...HEADERS, "content-type": "text/event-stream; charset=utf-8" });
    raw.write("retry: 1000\n\n");
    const stop = feed.listen((state) => {
      if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy();
      else raw.write(state === "" ? KEEPALIVE : `data: ${state}\n\n`);
    });
    raw.on("close", stop);
  });
}

/** 400: a mistake of the user; 502: a failure of the API server; 500: a bug. */
function codeOf(error: unknown): number {
  if (error instanceof CommandError) return 400;
  if (error instanceof KubeError) return 502;
  const code = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  return typeof code === "number" ? code : 500;
}

function textOf(error: unknown): string {
  if (codeOf(error) === 413) return `the file is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`;
  return messageOf(error);
}

export interface PageFiles {
  readonly script: string;
  readonly style: string;
}

declare const HOOKPOLICY_PAGE: PageFiles | undefined;

export function pageFiles(): PageFiles {
  if (typeof HOOKPOLICY_PAGE === "undefined")
    throw new CommandError(
      FAILED,
      "the page is a part of the built program only: run 'make build', then dist/main.js",
    );
  return HOOKPOLICY_PAGE;
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>HookPolicy</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The same is printed by: hookpolicy get -A</noscript>
<script src="page.js"></script>
</body>
</html>
`;
