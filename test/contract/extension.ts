/** The operator's hook server over TLS, and calls as Cluster API's runtime client makes them. */

import { Agent, request as httpsRequest } from "node:https";

import { AnswerLog } from "../../src/report/answer-log.ts";
import { servedHooks } from "../../src/api/hook-catalog.ts";
import type { HandlerDeps } from "../../src/hooks/hook-handler.ts";
import { createRoutes, type Routes } from "../../src/hooks/hook-routes.ts";
import type { KeyPair } from "../../src/server/tls-server.ts";
import { createHookServer } from "../../src/server/hook-server.ts";
import { silent } from "../unit/memory/fixtures.ts";
import { issue } from "../unit/server/certificates.ts";
import type { Replica } from "./situations.ts";

export interface Extension {
  call(path: string, body: Buffer): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number | undefined;
  readonly contentType: string | undefined;
  readonly text: string;
}

let pair: Promise<KeyPair> | undefined;

export async function startExtension({ source, clock }: Replica, capiMinor = 14): Promise<Extension> {
  pair ??= issue("extension");
  const tls = await pair;
  const deps: HandlerDeps = {
    source,
    metrics: { answered: () => undefined, unconfirmed: () => undefined, discovered: () => undefined },
    answers: new AnswerLog({ log: silent, everyCall: false }),
    log: silent,
    warnRateLimited: () => undefined,
    now: () => clock.now,
  };
  const routes = routesOf(capiMinor, deps);
  const server = createHookServer({ host: "127.0.0.1", port: 0, tls, ...routes, log: silent });
  const { port } = await server.listen();
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: tls.cert, servername: "localhost" });
  return {
    call: (path, body) => call({ agent, port, path }, body),
    close: async () => {
      agent.destroy();
      await server.close(0);
    },
  };
}

/** As the operator makes them; but a handler that throws, which it never should, is not covered up. */
function routesOf(capiMinor: number, deps: HandlerDeps): Routes {
  const { routes, undecodable, forget } = createRoutes(servedHooks(capiMinor), deps);
  return {
    routes,
    forget,
    undecodable: (path, reason) =>
      reason === "internal" ? "no answer: the handler threw" : undecodable(path, reason),
  };
}

interface Target {
  readonly agent: Agent;
  readonly port: number;
  readonly path: string;
}

/** No Content-Type and no Accept, as httpCall in sigs.k8s.io/cluster-api/internal/runtime/client/client.go. */
async function call({ agent, port, path }: Target, body: Buffer): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = httpsRequest(
    {
      host: "127.0.0.1",
      port,
      path: `${path}?timeout=10s`,
      method: "POST",
      agent,
      headers: {
        "user-agent": "Go-http-client/1.1",
        "content-length": body.length,
        "accept-encoding": "gzip",
      },
    },
    (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode,
          contentType: response.headers["content-type"],
          text: Buffer.concat(chunks).toString(),
        }),
      );
    },
  );
  request.on("error", reject);
  request.end(body);
  return await promise;
}
