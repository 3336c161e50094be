/** The listeners for probes and for Prometheus. */

import { KubeClient } from "../kube/kube-client.ts";
import type { KubeConfig } from "../kube/kubeconfig.ts";
import type { Logger } from "../lib/logger.ts";
import type { Address } from "../server/address.ts";
import { createTextServer, type Reply, type TextRequest, type TextServer } from "../server/text-server.ts";
import type { KeyPair } from "../server/tls-server.ts";
import { VERSION } from "../version.ts";
import { createHealthServer, type HealthChecks } from "./health-server.ts";
import type { Options } from "./options.ts";
import { type ScrapeRefusal, ScrapeGuard } from "./scrape-guard.ts";

export interface MetricsServerOptions {
  readonly address: Address;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly log: Logger;
  /** Absent: plain HTTP, to every client. */
  readonly secure?: { readonly tls: KeyPair; readonly guard: Pick<ScrapeGuard, "refusal"> } | undefined;
}

export interface DiagnosticsOptions extends Pick<MetricsServerOptions, "metrics" | "log"> {
  readonly options: Pick<Options, "healthAddress" | "diagnosticsAddress" | "metricsSecure">;
  readonly checks: HealthChecks;
  readonly kubeConfig: KubeConfig;
  readonly tls: KeyPair;
}

/** Both reviews of a scrape fit into the 10 s that Prometheus waits. */
const REVIEW_MS = 4_000;

export type Diagnostics = Record<"listen" | "close", () => Promise<void>> &
  Pick<TextServer, "setCertificate">;

export function createDiagnostics(own: DiagnosticsOptions): Diagnostics {
  const { options, checks, metrics, kubeConfig, tls, log } = own;
  const { healthAddress, diagnosticsAddress, metricsSecure } = options;
  // A client of its own: scrapes must not use up the connections that confirm releases.
  const client = new KubeClient(kubeConfig, { version: VERSION, timeoutMs: REVIEW_MS });
  const secure = metricsSecure ? { tls, guard: new ScrapeGuard({ client, log }) } : undefined;
  const servers = [
    healthAddress && createHealthServer(healthAddress, checks, log),
    diagnosticsAddress && createMetricsServer({ address: diagnosticsAddress, metrics, log, secure }),
  ].filter((server) => server !== undefined);
  return {
    listen: async () => void (await Promise.all(servers.map((each) => each.listen()))),
    close: async () => void (await Promise.all([...servers, client].map(async (each) => await each.close()))),
    setCertificate: (pair) => servers.forEach((each) => each.setCertificate(pair)),
  };
}

export function createMetricsServer({ address, metrics, log, secure }: MetricsServerOptions): TextServer {
  const exposition = async (scrape: TextRequest): Promise<Reply> => {
    const refusal = await secure?.guard.refusal(scrape);
    if (refusal !== undefined) return refusalReply(refusal);
    return { code: 200, body: await metrics.text(), type: metrics.contentType };
  };
  const paths = { "/metrics": exposition };
  return createTextServer({ address, flag: "--diagnostics-address", paths, log, tls: secure?.tls });
}

function refusalReply({ code, message }: ScrapeRefusal): Reply {
  return {
    code,
    body: `${message}\n`,
    ...(code === 401 && { headers: { "www-authenticate": 'Bearer realm="hookpolicy"' } }),
  };
}
