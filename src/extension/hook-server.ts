/**
 * The HTTPS server that Cluster API's runtime client calls. The client accepts only status 200 as an answer and shows
 * the start of any other body to users, so every request on a known path is answered with 200 and JSON, and no answer
 * echoes what a client sent.
 *
 * A call is read here from socket to answer: route, body, handler, one write. It has no framework, and no promise where
 * the handler needs none, because Cluster API repeats its calls for as long as an operation is held; those cost more
 * than the decision.
 */

import type { ServerResponse } from "node:http";
import { sparing } from "../lib/sparing.ts";
import { type Body, type HookRequest, parsable, readBody } from "./request-body.ts";
import {
  createGuard,
  createTlsServer,
  INTERNAL_ERROR,
  NOT_FOUND,
  type TlsServer,
  type TlsServerOptions,
} from "./tls-server.ts";
import { WholeBody } from "./whole-body.ts";

export interface HookRoute {
  readonly path: string;
  /** Answered only for clients that `HookServerOptions.clients` accepts. */
  readonly authenticated?: boolean;
  /** `handle` gets an empty body, and nothing of that of the request is kept: anyone may send one. */
  readonly ignoresBody?: boolean;
  /** Returns the JSON text of an answer that is known without parsing `body`, whose rest may be anything. */
  repeat?(body: WholeBody): string | undefined;
  /** Returns the JSON text of the answer for any `body`, which is gone once this has returned; it should not throw. */
  handle(body: WholeBody): string | Promise<string>;
}

/** "internal": `handle` threw, which is a bug. */
export type UndecodableReason = Exclude<Body, WholeBody | "unread"> | "unauthenticated" | "internal";

export interface HookServerOptions extends TlsServerOptions {
  readonly routes: readonly HookRoute[];
  /** The JSON text of a Failure for the route at `path`. */
  readonly undecodable: (path: string, reason: UndecodableReason) => string;
}

type Response = ServerResponse<HookRequest>;

const NO_BODY = new WholeBody([]);
const NOWHERE: Answer = { status: 404, text: NOT_FOUND };

export function createHookServer(options: HookServerOptions): TlsServer {
  const { log, undecodable } = options;
  const tlsServer = createTlsServer(options);
  const { server, serve, connections, limits, room, breakOff } = tlsServer;
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const guard = createGuard(options);
  const complain = sparing(log);

  function receive(request: HookRequest, response: Response): void {
    const exchange = { request, response };
    const route = request.method === "POST" ? routes.get(pathOf(request)) : undefined;
    if (route === undefined) return request.inTurn("unread", () => respond(exchange, NOWHERE));
    // Before the body is read: what a client without a certificate sends takes no room.
    const isRefused = route.authenticated === true && guard(route.path, request.socket);
    const ignores = isRefused || route.ignoresBody === true;
    readBody(request, { limits, room, ignores }, (body) => {
      call(route, body, { ...exchange, isRefused });
      if (typeof body !== "string") body.free();
    });
  }

  function call(route: HookRoute, body: Body, exchange: Exchange & { readonly isRefused: boolean }): void {
    const close = typeof body === "string" && (body !== "unread" || !exchange.request.complete);
    const answer = (text: string): void => respond(exchange, { status: 200, text, close });
    const refuse = (reason: UndecodableReason): void => {
      try {
        answer(undecodable(route.path, reason));
      } catch (error) {
        log.error("Failed to answer a hook", { error });
        respond(exchange, { status: 500, text: INTERNAL_ERROR, close });
      }
    };
    const fail = (error: unknown): void => {
      log.error("Failed to answer a hook", { path: route.path, error });
      refuse("internal");
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
    const isLast = close || via === undefined || connections.isEnding(via);
    const size = Buffer.byteLength(text);
    const headers = ["content-type", "application/json", "content-length", String(size)];
    if (isLast) headers.push("connection", "close");
    response.writeHead(status, headers).end(text, size === text.length ? "latin1" : "utf8");
  }

  serve(receive);
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
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
