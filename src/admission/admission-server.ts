/**
 * The HTTPS server that the API server's webhooks call. Reviews are rare and take an API call each, so that Fastify's
 * router and hooks cost nothing that counts.
 */

import type { Server } from "node:https";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { rateLimited } from "../lib/rate-limited.ts";
import type { HookRoute, UndecodableReason } from "../server/hook-server.ts";
import type { RefusedBody } from "../server/bodies.ts";
import {
  createGuard,
  createTlsServer,
  INTERNAL_ERROR,
  type TlsServerParts,
  NOT_FOUND,
  type TlsServer,
  type TlsServerOptions,
} from "../server/tls-server.ts";
import { WholeBody } from "../server/whole-body.ts";

const UNAUTHORIZED = '{"error":"a client certificate is required"}\n';

export type AdmissionRoute = Pick<HookRoute, "path"> & { handle(body: Buffer): string | Promise<string> };

export interface AdmissionServerOptions extends TlsServerOptions {
  readonly routes: readonly AdmissionRoute[];
  /** The JSON text that refuses a review which cannot be handled; `head` is the beginning of its body. */
  readonly undecodable: (path: string, reason: UndecodableReason, head: Buffer) => string;
}

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

function createApp(
  options: AdmissionServerOptions,
  { server, connections, bodies }: TlsServerParts,
): FastifyInstance<Server> {
  const { log } = options;
  const guard = createGuard(options);
  const warnRateLimited = rateLimited(log);
  const app = fastify<Server>({
    logger: false,
    return503OnClosing: false, // a call that still arrives is answered like any other
    serverFactory: (handler) =>
      server.on("request", (request, response) => {
        if (connections.begin(request, response)) handler(request, response);
      }),
    frameworkErrors: (_error, _request, reply) => void send(reply, 404, NOT_FOUND),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null)); // the body is read below
  app.addHook("onRequest", (request, reply, done) => {
    const path = request.is404 ? "none that is served" : request.routeOptions.url;
    if (guard(path, request.raw.socket))
      return void send(reply.header("connection", "close"), 401, UNAUTHORIZED);
    if (request.is404) return void send(reply, 404, NOT_FOUND);
    delete request.headers["content-type"]; // a malformed one would be rejected
    done();
  });
  app.addHook("onSend", ({ raw }, reply, payload, done) => {
    if (connections.isEnding(raw)) reply.header("connection", "close");
    done(null, payload);
  });
  app.setErrorHandler((error, _request, reply) => {
    log.error("Failed to answer a review", { error });
    return send(reply, 500, INTERNAL_ERROR);
  });
  const refuse = ({ path }: AdmissionRoute, { reason, head }: RefusedBody): string => {
    warnRateLimited("Refused a call", { path, reason });
    return options.undecodable(path, reason, head);
  };
  const answer = async (route: AdmissionRoute, body: WholeBody | RefusedBody): Promise<string> => {
    if (!(body instanceof WholeBody)) return refuse(route, body);
    const bytes = body.bytes();
    if (body.hasTooManyValues()) return refuse(route, { reason: "too-large", head: bytes });
    try {
      return await route.handle(bytes);
    } catch (error) {
      log.error("Failed to answer a review", { path: route.path, error });
      return options.undecodable(route.path, "internal", bytes);
    }
  };
  for (const route of options.routes) {
    app.post(route.path, async ({ raw }, reply) => {
      const body = await new Promise<WholeBody | RefusedBody>((resolve) =>
        bodies.read(raw, reply.raw, resolve),
      );
      return send(reply, 200, await answer(route, body));
    });
  }
  return app;
}

function send(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type("application/json").send(Buffer.from(text));
}
