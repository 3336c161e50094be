/** Serves the metrics to Prometheus: over HTTPS to clients that the guard allows, or in plain HTTP to every client. */

import { createServer } from "node:https";

import type { Logger } from "../lib/logger.ts";
import { rateLimited } from "../lib/rate-limited.ts";
import { listen, type Address } from "../server/address.ts";
import { tlsOptions, type KeyPair } from "../server/tls.ts";
import type { TlsServer } from "../server/tls-server.ts";
import { Connections } from "../server/connections.ts";
import {
  createPlainServer,
  LIMITS,
  MAX_CONNECTIONS,
  type Page,
  pageListener,
  type PageServer,
} from "../server/pages.ts";
import type { Refusal, ScrapeGuard } from "./scrape-guard.ts";

export interface MetricsOptions {
  readonly address: Address;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly log: Logger;
}

export interface SecureMetricsOptions extends MetricsOptions {
  readonly tls: KeyPair;
  readonly guard: Pick<ScrapeGuard, "refusal">;
}

export type SecureMetricsServer = PageServer & Pick<TlsServer, "setCertificate">;

const FLAG = "--diagnostics-address";
const PATH = "/metrics";
const DRAIN_MS = 1_000;
const RETRY_AFTER_SECONDS = 5;

export function createPlainMetricsServer({ address, metrics, log }: MetricsOptions): PageServer {
  const pages = { [PATH]: async () => await exposition(metrics) };
  return createPlainServer({ address, flag: FLAG, pages, log });
}

export function createSecureMetricsServer(options: SecureMetricsOptions): SecureMetricsServer {
  const { address, metrics, log, tls, guard } = options;
  const server = createServer({
    ...LIMITS,
    ...tlsOptions(tls),
    handshakeTimeout: 10_000,
    maxHeaderSize: 16 * 1024, // a token can be long
  });
  const warnRateLimited = rateLimited(log);
  const connections = new Connections(server, MAX_CONNECTIONS, () =>
    warnRateLimited("Too many connections for metrics, closing idle ones", { limit: MAX_CONNECTIONS }),
  );
  const pages = {
    [PATH]: async (scrape: Parameters<ScrapeGuard["refusal"]>[0]) => {
      const refusal = await guard.refusal(scrape);
      return refusal === undefined ? await exposition(metrics) : refusalPage(refusal);
    },
  };
  const answer = pageListener(pages, log, (request) => connections.isEnding(request));
  server.on("request", (request, response) => {
    if (connections.begin(request, response)) answer(request, response);
  });
  return {
    listen: async () => await listen(server, address, FLAG),
    setCertificate: (pair) => server.setSecureContext(tlsOptions(pair)),
    close: async () => await connections.close(DRAIN_MS),
  };
}

async function exposition(metrics: MetricsOptions["metrics"]): Promise<Page> {
  return { code: 200, body: await metrics.text(), type: metrics.contentType };
}

function refusalPage({ code, message }: Refusal): Page {
  return {
    code,
    body: `${message}\n`,
    headers: {
      ...(code === 401 && { "www-authenticate": 'Bearer realm="hookpolicy"' }),
      ...(code === 429 && { "retry-after": String(RETRY_AFTER_SECONDS) }),
    },
  };
}
