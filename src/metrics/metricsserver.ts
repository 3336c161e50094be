/** Serves the metrics to Prometheus: over HTTPS to clients that the guard allows, or in plain HTTP to every client. */

import type { Logger } from "../api/logger.ts";
import type { Address } from "../server/address.ts";
import type { KeyPair } from "../server/tls.ts";
import {
  createPlainServer,
  LIMITS,
  MAX_CONNECTIONS,
  type Page,
  type Pages,
  type PageServer,
  servePage,
} from "../server/pages.ts";
import { createTlsServer, type TlsServer } from "../server/tlsserver.ts";
import type { Refusal, ScrapeGuard } from "./scrapeguard.ts";

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
const SECURE_LIMITS = {
  headersMs: LIMITS.headersTimeout,
  requestMs: LIMITS.requestTimeout,
  keepAliveMs: LIMITS.keepAliveTimeout,
  checkMs: LIMITS.connectionsCheckingInterval,
  connections: MAX_CONNECTIONS,
};

export function createPlainMetricsServer({ address, metrics, log }: MetricsOptions): PageServer {
  const pages = { [PATH]: async () => await exposition(metrics) };
  return createPlainServer({ address, flag: FLAG, pages, log });
}

export function createSecureMetricsServer(options: SecureMetricsOptions): SecureMetricsServer {
  const { address, metrics, tls, guard } = options;
  const log = options.log.child({ listener: "metrics" });
  const tlsServer = createTlsServer({ ...address, flags: FLAG, tls, log, limits: SECURE_LIMITS });
  const { server, connections, breakOff } = tlsServer;
  const pages: Pages = {
    [PATH]: async (scrape) => {
      const refusal = await guard.refusal(scrape);
      return refusal === undefined ? await exposition(metrics) : refusalPage(refusal);
    },
  };
  server.on("request", (request, response) => {
    void servePage(request, response, { pages, log, isLast: () => connections.isEnding(request.via) });
  });
  server.on("clientError", breakOff);
  return { ...tlsServer, close: async () => await tlsServer.close(DRAIN_MS) };
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
