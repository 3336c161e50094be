/**
 * The HTTPS server that the API server's webhooks call. Reviews are rare and take an API call each, so that Fastify's
 * router and hooks cost nothing that counts.
 */

import type { ServerResponse } from "node:http";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { sparing } from "../lib/sparing.ts";
import { TURN_MS } from "../extension/fair-loop.ts";
import type { HookRoute, UndecodableReason } from "../extension/hook-server.ts";
import { type Body, type Bounds, type HookRequest, parsable, readBody } from "../extension/request-body.ts";
import {
  createGuard,
  createTlsServer,
  INTERNAL_ERROR,
  type Listening,
  NOT_FOUND,
  type NodeServer,
  type TlsServer,
  type TlsServerOptions,
} from "../extension/tls-server.ts";
import { WholeBody } from "../extension/whole-body.ts";

const UNAUTHORIZED = '{"error":"a client certificate is required"}\n';

export type AdmissionRoute = Pick<HookRoute, "path"> & { handle(body: Buffer): string | Promise<string> };

export interface AdmissionServerOptions extends TlsServerOptions {
  readonly routes: readonly AdmissionRoute[];
  /** Whose share of the room for bodies a large review takes; `head` is its beginning. */
  readonly shareOf?: (head: Buffer) => string;
  /** The JSON text that refuses a review which cannot be handled; `head` is the beginning of its body. */
  readonly undecodable: (path: string, reason: UndecodableReason, head: Buffer) => string;
}

interface Received {
  readonly body: Body | undefined;
  readonly raw: HookRequest;
}

type App = FastifyInstance<NodeServer, HookRequest, ServerResponse<HookRequest>>;

/** With `clients`, others get status 401 for every path, and nothing that they send is read. */
export function createAdmissionServer(options: AdmissionServerOptions): TlsServer {
  const tlsServer = createTlsServer(options);
  const app = createApp(options, tlsServer);
  return {
    ...tlsServer,
    listen: async () => {
      await app.ready();
      return await tlsServer.listen();
    },
    close: async (deadlineMs) => {
      await tlsServer.close(deadlineMs);
      await app.close();
    },
  };
}

function createApp(options: AdmissionServerOptions, listening: Listening): App {
  const { server, serve, connections, breakOff } = listening;
  const { log, shareOf } = options;
  const guard = createGuard(options);
  const complain = sparing(log);
  const app = fastify<NodeServer, HookRequest, ServerResponse<HookRequest>>({
    logger: false,
    return503OnClosing: false, // a call that still arrives is answered like any other
    serverFactory: (handler) => (serve(handler), server),
    clientErrorHandler: breakOff,
    frameworkErrors: (_error, _request, reply) => void send(reply, 404, NOT_FOUND),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "*",
    async (_request: unknown, raw: HookRequest) =>
      await bodyOf(raw, { ...listening, shareOf, laterMs: TURN_MS }),
  );
  app.addHook("onRequest", (request, reply, done) => {
    const path = request.is404 ? "none that is served" : request.routeOptions.url;
    if (guard(path, request.raw.socket))
      return void send(reply.header("connection", "close"), 401, UNAUTHORIZED);
    if (request.is404) return void send(reply, 404, NOT_FOUND);
    delete request.headers["content-type"]; // a malformed one would be rejected
    done();
  });
  app.addHook("onSend", ({ raw: { via } }, reply, payload, done) => {
    if (via === undefined || connections.isEnding(via)) reply.header("connection", "close");
    done(null, payload);
  });
  app.setErrorHandler((error, _request, reply) => {
    log.error("Failed to answer a review", { error });
    return send(reply, 500, INTERNAL_ERROR);
  });
  const answer = async (route: AdmissionRoute, { body, raw }: Received): Promise<string> => {
    const { path } = route;
    if (typeof body === "string" && body !== "unread") {
      complain("Refused a call", { path, reason: body });
      return options.undecodable(path, body, raw.head);
    }
    const bytes = body instanceof WholeBody ? body.bytes() : Buffer.alloc(0);
    try {
      return await route.handle(bytes);
    } catch (error) {
      log.error("Failed to answer a review", { path, error });
      return options.undecodable(path, "internal", bytes);
    }
  };
  for (const route of options.routes) {
    app.post<{ Body: Body | undefined }>(route.path, async (request, reply) => {
      if (typeof request.body === "string") reply.header("connection", "close");
      return send(reply, 200, await answer(route, request));
    });
  }
  return app;
}

async function bodyOf(request: HookRequest, bounds: Bounds): Promise<Body> {
  return parsable(request, await new Promise<Body>((resolve) => readBody(request, bounds, resolve)));
}

function send(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type("application/json").send(Buffer.from(text));
}
