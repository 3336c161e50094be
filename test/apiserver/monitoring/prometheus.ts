/** A real Prometheus that scrapes one process every second. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { prometheusBinaries } from "../../controlplane/binaries.ts";
import type { ControlPlane } from "../../controlplane/control-plane.ts";
import { flags } from "../../controlplane/processes.ts";
import { freePorts } from "../../controlplane/ports.ts";

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  /** An instant query; rejects with what Prometheus has against it. */
  readonly query: (expression: string) => Promise<readonly Sample[]>;
  /** Below /api/v1/. */
  readonly get: (path: string) => Promise<unknown>;
}

/** Of a ServiceMonitor, as far as ours has it. */
export interface Endpoint {
  readonly scheme: string;
  readonly bearerTokenFile: string;
  readonly tlsConfig: { readonly serverName: string };
  readonly honorLabels: boolean;
}

export interface ScrapeOptions {
  /** Port of 127.0.0.1. */
  readonly port: number;
  readonly endpoint: Endpoint;
  /** Where the token is that a kubelet would put at `bearerTokenFile`. */
  readonly tokenFile: string;
  /** What the Prometheus Operator makes of `tlsConfig.ca`. */
  readonly caFile: string;
  /** Of the target, as the Prometheus Operator sets them. */
  readonly labels: Readonly<Record<string, string>>;
  readonly ruleGroups: object;
}

/** Resolves when it has scraped the process. */
export async function startPrometheus(cp: ControlPlane, options: ScrapeOptions): Promise<Prometheus> {
  const { prometheus: command } = await prometheusBinaries();
  const [port = 0] = await freePorts(1);
  const file = join(cp.folder, "prometheus.yaml");
  await writeFile(join(cp.folder, "rules.yaml"), stringify(options.ruleGroups));
  await writeFile(file, stringify(configuration(options)));
  cp.processes.start({
    name: "prometheus",
    stopSignal: "SIGKILL",
    command,
    args: flags({
      "config.file": file,
      "storage.tsdb.path": join(cp.folder, "prometheus"),
      "web.listen-address": `127.0.0.1:${port}`,
    }),
  });
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const answer = (await response.json()) as { data?: unknown; error?: string };
    if (!response.ok) throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  const query = async (expression: string): Promise<Sample[]> => {
    const data = (await get(`query?${new URLSearchParams({ query: expression }).toString()}`)) as {
      result: { metric: Sample["metric"]; value: [number, string] }[];
    };
    return data.result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
  };
  await cp.waitFor("Prometheus to scrape", async () => {
    const [up] = await query("up").catch(() => []);
    return up?.value === 1;
  });
  return { get, query };
}

function configuration({ port, endpoint, tokenFile, caFile, labels }: ScrapeOptions): object {
  return {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ["rules.yaml"],
    scrape_configs: [
      {
        job_name: "hookpolicy-metrics",
        honor_labels: endpoint.honorLabels,
        scheme: endpoint.scheme,
        authorization: { credentials_file: tokenFile },
        tls_config: { ca_file: caFile, server_name: endpoint.tlsConfig.serverName },
        static_configs: [{ targets: [`127.0.0.1:${port}`], labels }],
      },
    ],
  };
}
