/** Serves the metrics to Prometheus: over HTTPS to clients that the guard allows, or in plain HTTP to every client. */

import type { Logger } from "../lib/logger.ts";
import type { Address } from "../server/address.ts";
import {
  createPlainServer,
  type Page,
  PAGE_LIMITS,
  pageListener,
  type PageServer,
} from "../server/plain-server.ts";
import { createTlsServer, type KeyPair, type TlsServer } from "../server/tls-server.ts";
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
  const common = { tls, log, flags: FLAG, purpose: "for metrics", limits: PAGE_LIMITS };
  const { server, connections, ...tlsServer } = createTlsServer({ ...address, ...common });
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
