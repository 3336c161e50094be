/**
 * The HTTPS server that Cluster API's runtime client calls, and the API server, on a port of its own. The client accepts
 * only status 200 as an answer and shows the start of any other body to users, so every request on a known path is answered
 * with 200 and JSON, and no answer echoes what a client sent.
 *
 * A call is read here from socket to answer: route, client, body, handler, one write. Fastify serves the page (cli/ui), but
 * not these: Cluster API repeats its calls while an operation is held, and a router, its hooks and promises cost more than the
 * decision. Reviews come through here as well, so that one listener withstands what clients send.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { rateLimited } from "../lib/logger.ts";
import { type RefusedBody, WholeBody } from "./bodies.ts";
import {
  createTlsServer,
  INTERNAL_ERROR,
  NOT_FOUND,
  type TlsServer,
  type TlsServerOptions,
} from "./tls-server.ts";

export interface HookRoute {
  readonly path: string;
  /** Answered only for clients that `HookServerOptions.clients` accepts. */
  readonly authenticated?: boolean;
  /** `handle` gets an empty body. The body of the request is not kept, because any client may send one. */
  readonly ignoresBody?: boolean;
  /** Returns the JSON text of an answer that is known without parsing `body`, whose rest may be anything. */
  repeat?(body: WholeBody): string | undefined;
  /** Returns the JSON text of the answer for any `body`, which is gone once this has returned; it should not throw. */
  handle(body: WholeBody): string | Promise<string>;
}

/** "internal": `handle` threw, which is a bug. */
export type UndecodableReason = RefusedBody["reason"] | "unauthenticated" | "internal";

export interface HookServerOptions extends TlsServerOptions {
  readonly routes: readonly HookRoute[];
  /** Whether other clients than `clients` accepts get status 401 for every path, and nothing that they send is read. */
  readonly closed?: boolean;
  /** The JSON text of a Failure for the route at `path`; `head` is the beginning of the body, as far as it is known. */
  readonly undecodable: (path: string, reason: UndecodableReason, head: Buffer) => string;
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly route: HookRoute;
}

const NO_BODY = new WholeBody([]);
const NO_HEAD = Buffer.alloc(0);
const UNAUTHORIZED = '{"error":"a client certificate is required"}\n';

/** The status line for input that is not a valid HTTP request, by Node.js's error code. */
function refusalTo({ code = "" }: NodeJS.ErrnoException): string | undefined {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return statusLine("408 Request Timeout");
  if (code === "HPE_HEADER_OVERFLOW") return statusLine("431 Request Header Fields Too Large");
  return code.startsWith("HPE_") ? statusLine("400 Bad Request") : undefined;
}

function statusLine(status: string): string {
  return `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`;
}

export function createHookServer(options: HookServerOptions): TlsServer {
  const { log, undecodable } = options;
  const tlsServer = createTlsServer(options);
  const { server, connections, bodies } = tlsServer;
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const guard = createGuard(options);
  const warnRateLimited = rateLimited(log);

  server.on("request", (request, response) => {
    if (!connections.begin(request, response)) return;
    const route = request.method === "POST" ? routes.get(pathOf(request)) : undefined;
    if (options.closed === true && guard(route?.path ?? "none that is served", request.socket))
      return send({ request, response }, UNAUTHORIZED, 401);
    if (route === undefined) return send({ request, response }, NOT_FOUND, 404);
    const call = { request, response, route };
    // Refuse before reading the body, so that what a client without a certificate sends takes no memory.
    if (route.authenticated === true && guard(route.path, request.socket))
      return refuse(call, "unauthenticated");
    if (route.ignoresBody === true) return handle(call, NO_BODY);
    bodies.read(request, response, (body) => {
      if (!(body instanceof WholeBody)) return refuse(call, body.reason, body.head);
      handle(call, body);
      body.free();
    });
  });

  // Without a listener, Node.js leaves a connection open that renegotiates TLS too often.
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const text = connections.hasBegunAnswer(socket) ? undefined : refusalTo(error);
    if (text === undefined || !socket.writable) socket.destroy();
    else socket.end(text, () => socket.destroy());
  });

  function handle(call: Call, body: WholeBody): void {
    const fail = (error: unknown): void => {
      log.error("Failed to answer a hook", { path: call.route.path, error });
      refuse(call, "internal");
    };
    try {
      const text = answerOf(call.route, body);
      if (text === undefined) refuse(call, "too-large", body.view());
      else if (typeof text === "string") send(call, text);
      else text.then((late) => send(call, late), fail);
    } catch (error) {
      fail(error);
    }
  }

  function refuse(call: Call, reason: UndecodableReason, head: Buffer = NO_HEAD): void {
    const { path } = call.route;
    if (reason === "too-large" || reason === "no-room") warnRateLimited("Refused a call", { path, reason });
    try {
      send(call, undecodable(path, reason, head));
    } catch (error) {
      log.error("Failed to answer a hook", { error });
      send(call, INTERNAL_ERROR, 500);
    }
  }

  /** Writes headers and body at once. */
  function send({ request, response }: Omit<Call, "route">, text: string, status = 200): void {
    const size = Buffer.byteLength(text);
    const headers = ["content-type", "application/json", "content-length", String(size)];
    if (status === 401 || connections.isEnding(request)) headers.push("connection", "close");
    response.writeHead(status, headers).end(text, size === text.length ? "latin1" : "utf8");
  }

  return tlsServer;
}

/** Without the query: Cluster API sends its timeout there. */
function pathOf({ url = "" }: IncomingMessage): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

/** `undefined`: parsing the body would take too much. */
function answerOf(route: HookRoute, body: WholeBody): string | Promise<string> | undefined {
  return route.repeat?.(body) ?? (body.hasTooManyValues() ? undefined : route.handle(body));
}

/** Returns a function that tells whether to refuse a call, and logs why. */
function createGuard({
  clients,
  log,
}: HookServerOptions): (path: string | undefined, socket: Socket) => boolean {
  const warnRateLimited = rateLimited(log);
  return (path, socket) => {
    if (clients === undefined) return false;
    const reason = socket instanceof TLSSocket ? clients.refusal(socket) : "no TLS";
    if (reason === undefined) return false;
    warnRateLimited("Refused a call", { path, reason, remedy: clients.remedy });
    return true;
  };
}
