/**
 * The HTTPS server that Cluster API's runtime client calls. The client accepts only status 200 as an answer and shows
 * the start of any other body to users, so every request on a known path is answered with 200 and JSON, and no answer
 * echoes what a client sent.
 *
 * This file handles a call from socket to answer: route, body, handler, one write. It uses no framework, and no promise
 * unless the handler needs one: Cluster API repeats its calls for as long as an operation is held, and both would cost
 * more than the decision.
 */

import type { ServerResponse } from "node:http";
import { sparing } from "../log/sparing.ts";
import { type Body, type HookRequest, parsable, readBody } from "./requestbody.ts";
import { createGuard, createTlsServer, type TlsServer, type TlsServerOptions } from "./tlsserver.ts";
import { WholeBody } from "./wholebody.ts";

export interface HookRoute {
  readonly path: string;
  /** Answered only for clients that `HookServerOptions.clients` accepts. */
  readonly authenticated?: boolean;
  /** `handle` gets an empty body, and nothing that the client sends is kept: every client may call this route. */
  readonly ignoresBody?: boolean;
  /** Returns the JSON text of an answer that is known without parsing `body`, even if the rest of it is not valid. */
  repeat?(body: WholeBody): string | undefined;
  /** Returns the JSON text of the answer for any `body`; it should not throw. */
  handle(body: WholeBody): string | Promise<string>;
}

/** "internal": `handle` threw, which is a bug. */
export type UndecodableReason = Exclude<Body, WholeBody | "unread"> | "unauthenticated" | "internal";

export interface HookServerOptions extends TlsServerOptions {
  readonly routes: readonly HookRoute[];
  /** Returns the JSON text that refuses a call to the route at `path`; `head` is the beginning of its body. */
  readonly undecodable: (path: string, reason: UndecodableReason, head: Buffer) => string;
  /** Names the share of the room for bodies that a large body takes; `head` is its beginning. */
  readonly shareOf?: (head: Buffer) => string;
  /** Answers clients that `clients` does not accept with status 401 on every path, and reads nothing that they send. */
  readonly acceptedOnly?: boolean;
}

type Response = ServerResponse<HookRequest>;

const NO_BODY = new WholeBody([]);
const NOT_FOUND = '{"error":"not found"}\n';
const UNAUTHORIZED = '{"error":"a client certificate is required"}\n';
const INTERNAL_ERROR = '{"error":"internal error"}\n';

export function createHookServer(options: HookServerOptions): TlsServer {
  const { log, undecodable, shareOf, acceptedOnly = false } = options;
  const tlsServer = createTlsServer(options);
  const { server, connections, limits, room, breakOff } = tlsServer;
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const guard = createGuard(options);
  const complain = sparing(log);

  function receive(request: HookRequest, response: Response): void {
    const exchange = { request, response };
    const route = request.method === "POST" ? routes.get(pathOf(request)) : undefined;
    if (acceptedOnly && guard(route?.path ?? "none that is served", request.socket))
      return respond(exchange, { status: 401, text: UNAUTHORIZED, close: true });
    if (route === undefined) return respond(exchange, { status: 404, text: NOT_FOUND });
    // Before the body is read: what a client without a certificate sends takes no room.
    const isRefused = route.authenticated === true && guard(route.path, request.socket);
    const ignores = isRefused || route.ignoresBody === true;
    const bounds = { limits, room, ignores, shareOf };
    readBody(request, bounds, (body) => call(route, body, { ...exchange, isRefused }));
  }

  function call(route: HookRoute, body: Body, exchange: Exchange & { readonly isRefused: boolean }): void {
    const close = typeof body === "string" && (body !== "unread" || !exchange.request.complete);
    const answer = (text: string): void => respond(exchange, { status: 200, text, close });
    const refuse = (reason: UndecodableReason, head = exchange.request.head): void => {
      try {
        answer(undecodable(route.path, reason, head));
      } catch (error) {
        log.error("Failed to answer a call", { error });
        respond(exchange, { status: 500, text: INTERNAL_ERROR, close });
      }
    };
    const fail = (error: unknown): void => {
      log.error("Failed to answer a call", { path: route.path, error });
      refuse("internal", body instanceof WholeBody ? body.bytes() : undefined);
    };
    if (exchange.isRefused) return refuse("unauthenticated");
    try {
      const repeated = typeof body === "string" ? undefined : route.repeat?.(body);
      if (repeated !== undefined) return answer(repeated);
      const received = parsable(exchange.request, body);
      if (typeof received === "string" && received !== "unread") {
        complain("Refused a call", { path: route.path, reason: received });
        return refuse(received);
      }
      const text = route.handle(received === "unread" ? NO_BODY : received);
      if (typeof text === "string") answer(text);
      else text.then(answer, fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Writes headers and body at once. */
  function respond({ request: { via }, response }: Exchange, { status, text, close = false }: Answer): void {
    const isLast = close || connections.isEnding(via);
    const headers = ["content-type", "application/json", "content-length", String(Buffer.byteLength(text))];
    if (isLast) headers.push("connection", "close");
    response.writeHead(status, headers);
    response.end(text);
  }

  server.on("request", receive);
  server.on("clientError", breakOff);
  return tlsServer;
}

interface Exchange {
  readonly request: HookRequest;
  readonly response: Response;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  /** Whether the connection cannot be used for another request. */
  readonly close?: boolean;
}

/** Without the query: Cluster API sends its timeout there. */
function pathOf({ url = "" }: HookRequest): string {
  return url.split("?", 1)[0] ?? "";
}
