/** The listeners for probes and metrics. */

import type { Logger } from "../lib/logger.ts";
import { KubeClient } from "../kube/kube-client.ts";
import type { KubeConfig } from "../kube/kubeconfig.ts";
import type { Metrics } from "../report/metrics.ts";
import { createHealthServer, type HealthCheck } from "./health-server.ts";
import type { KeyPair, TlsServer } from "../server/tls-server.ts";
import { createPlainMetricsServer, createSecureMetricsServer } from "./metrics-server.ts";
import { VERSION } from "../version.ts";
import type { Options } from "./options.ts";
import { ScrapeGuard } from "./scrape-guard.ts";

export interface DiagnosticsOptions {
  readonly options: Pick<Options, "healthAddress" | "diagnosticsAddress" | "metricsSecure">;
  readonly checks: readonly HealthCheck[];
  readonly metrics: Metrics;
  readonly kubeConfig: KubeConfig;
  readonly tls: KeyPair;
  readonly log: Logger;
}

export interface Diagnostics {
  listen(): Promise<void>;
  close(): Promise<void>;
  /** The servers that use the serving certificate. */
  readonly secure: readonly Pick<TlsServer, "setCertificate">[];
}

/** Both reviews of a scrape fit into the 10 s that Prometheus waits. */
const REVIEW_MS = 4_000;

export function createDiagnostics(own: DiagnosticsOptions): Diagnostics {
  const { options, checks, metrics, kubeConfig, tls, log } = own;
  const { healthAddress, diagnosticsAddress: address, metricsSecure } = options;
  // A client of its own: scrapes must not use up the connections that confirm releases.
  const client = new KubeClient(kubeConfig, { version: VERSION, timeoutMs: REVIEW_MS });
  const health =
    healthAddress === undefined ? [] : [createHealthServer({ address: healthAddress, checks, log })];
  const at = address === undefined ? [] : [{ address, metrics, log }];
  const plain = metricsSecure ? [] : at.map(createPlainMetricsServer);
  const guard = new ScrapeGuard({ client, log });
  const secure = metricsSecure ? at.map((each) => createSecureMetricsServer({ ...each, tls, guard })) : [];
  const servers = [...health, ...plain, ...secure];
  return {
    listen: async () => void (await Promise.all(servers.map((each) => each.listen()))),
    close: async () => void (await Promise.all([...servers, client].map(async (each) => await each.close()))),
    secure,
  };
}
