/** HookPolicy itself as a process, as it is shipped: dist/main.js under the shipped ClusterRole, with real TLS. */
import { mkdir, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { get, request as post } from "node:https";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { HookName, HookResponse } from "../../src/api/runtime-hooks.ts";
import { hookPath } from "../../src/api/hook-catalog.ts";
import { bundle, COMPILE_CACHE } from "../bundle.ts";
import type { KeyPair } from "./certificates.ts";
import { objectsOf } from "./client.ts";
import { ADMIN_TOKEN, type ControlPlane } from "./control-plane.ts";
import { LogReader } from "./log-reader.ts";
import { attachDaemon, type Daemon, environment, flags, type Processes } from "./processes.ts";
import { condition } from "./policies.ts";
import { freePorts } from "./ports.ts";
import { note } from "./waits.ts";

const ROOT = join(import.meta.dirname, "../..");
export const NAMESPACE = "hookpolicy-system";
/** The name of the shipped Service, which the serving certificate has to be for. */
export const SERVICE_HOST = `hookpolicy-webhook-service.${NAMESPACE}.svc`;

export const CRDS = ["hookpolicies", "clusterhookpolicies", "hookoverrides", "hookrollouts", "hooktasks"].map(
  (plural) => `${plural}.hookpolicy.dev`,
);

export interface OperatorOptions {
  /** Default: a ServiceAccount token under the shipped ClusterRole. */
  readonly kubeconfig?: string;
  /** More flags for `hookpolicy run`, which win over the ones here. */
  readonly flags?: Readonly<Record<string, string | number>>;
  /** Keep the ports of an operator that was stopped: Cluster API goes on calling there. */
  readonly ports?: OperatorPorts;
  readonly name?: string;
  /** The single executable, instead of Node.js with dist/main.js. */
  readonly executable?: string;
  /** For Node.js itself. */
  readonly nodeFlags?: readonly string[];
  /** More variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it may end by itself; default: the control plane's, which count that as a failure. */
  readonly processes?: Processes;
}

export interface OperatorPorts {
  readonly webhook: number;
  readonly admission: number;
  readonly health: number;
  readonly metrics: number;
}

export interface Operator {
  /** For the ExtensionConfig: https://127.0.0.1:<port>/ */
  readonly url: string;
  readonly ports: OperatorPorts;
  readonly daemon: Daemon;
  readonly certDir: string;
  /** Calls a hook as Cluster API does: no content-type, and a query that is not part of the path. */
  readonly ask: (hook: HookName, request: object) => Promise<HookResponse>;
  /** Lines of the log, as JSON objects. */
  readonly lines: () => readonly LogLine[];
  /** /readyz answers 200. */
  readonly ready: () => Promise<boolean>;
  /** What Prometheus would get; securely as an administrator. */
  readonly scrape: () => Promise<string>;
  /** The sum of a metric's series whose line holds all of `labels`. */
  readonly metric: (name: string, ...labels: readonly string[]) => Promise<number>;
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

/** What another process needs to use an operator that this one has started. JSON. */
export interface OperatorAddress {
  readonly ports: OperatorPorts;
  readonly certDir: string;
  readonly daemon: Pick<Daemon, "name" | "pid" | "logFile">;
}

/** CRDs, namespace, ServiceAccount and RBAC from manifests/; the rest of them a kubelet would be needed for. */
export async function installHookPolicy(cp: ControlPlane): Promise<void> {
  if (cp.seeded !== undefined) return;
  const rendered = await cp.kubectl("kustomize", join(ROOT, "manifests"));
  const without = new Set([
    "Deployment",
    "Service",
    "PodDisruptionBudget",
    "ExtensionConfig",
    "ValidatingWebhookConfiguration",
  ]);
  await cp.apply(objectsOf(rendered).filter(({ kind }) => !without.has(kind)));
  await crdsEstablished(cp);
}

/** HookPolicy's CRDs. Discovery may still name those that were there before. */
export async function crdsEstablished(cp: ControlPlane): Promise<void> {
  const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
  await cp.waitFor("the CRDs to be established", async () => {
    const crds = await Promise.all(CRDS.map(async (name) => await cp.get({ ...definition, name })));
    return crds.every((crd) => condition(crd, "Established")?.status === "True");
  });
}

/** The executable is the program; Node.js gets it, after its own flags. */
function programArgs({ executable, nodeFlags = [] }: OperatorOptions): readonly string[] {
  return executable === undefined ? [...nodeFlags, bundle()] : [];
}

/** Resolves when it is ready; with `waitReady: false` as soon as the process runs. */
export async function startOperator(
  cp: ControlPlane,
  options: OperatorOptions & { readonly waitReady?: boolean } = {},
): Promise<Operator> {
  const name = options.name ?? "hookpolicy";
  const ports = options.ports ?? (await operatorPorts());
  const kubeconfig = options.kubeconfig ?? (await cp.kubeconfigFor(NAMESPACE, "hookpolicy"));
  const certDir = join(cp.folder, `${name}-certs`);
  if (options.flags?.["cert-management"] === "Self") await mkdir(certDir, { recursive: true });
  else await writeServingCertificate(certDir, await issueServingCertificate(cp));
  const daemon = (options.processes ?? cp.processes).start({
    name,
    command: options.executable ?? process.execPath,
    env: environment({ NODE_COMPILE_CACHE: COMPILE_CACHE, ...options.env }),
    args: [
      ...programArgs(options),
      "run",
      ...flags({ ...defaultFlags(ports), kubeconfig, "webhook-cert-dir": certDir, ...options.flags }),
    ],
    graceMs: 15_000,
  });
  const secure = options.flags?.["metrics-secure"] === "true";
  const operator = describeOperator({ daemon, ports, certDir, secure, ca: cp.authority.certificate });
  if (options.waitReady !== false) await cp.waitFor(`${name} to be ready`, operator.ready);
  return operator;
}

/** Runs in another process's control plane; nothing here can end it. */
export function attachOperator(cp: ControlPlane, { daemon, ports, certDir }: OperatorAddress): Operator {
  return describeOperator({
    daemon: attachDaemon(daemon),
    ports,
    certDir,
    secure: false,
    ca: cp.authority.certificate,
  });
}

/** One GET /metrics over HTTPS; without a token, without the header. */
export async function scrapeSecurely(
  { metrics }: OperatorPorts,
  ca: string,
  token?: string,
): Promise<{ readonly response: IncomingMessage; readonly body: string }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`https://127.0.0.1:${metrics}/metrics`, { ca, headers, agent: false }, resolve).once("error", reject);
  });
  return { response, body: await text(response) };
}

export async function operatorPorts(): Promise<OperatorPorts> {
  const [webhook = 0, admission = 0, health = 0, metrics = 0] = await freePorts(4);
  return { webhook, admission, health, metrics };
}

function defaultFlags(ports: OperatorPorts): Record<string, string | number> {
  return {
    "webhook-host": "127.0.0.1",
    "webhook-port": ports.webhook,
    "admission-port": ports.admission,
    "health-addr": `127.0.0.1:${ports.health}`,
    "diagnostics-address": `127.0.0.1:${ports.metrics}`,
    // Tests read metrics also while the API server is away, and count what the operator asks of it.
    "metrics-secure": "false",
    "log-format": "json",
  };
}

export async function issueServingCertificate(
  { authority }: Pick<ControlPlane, "authority">,
  validity: { readonly validMs?: number } = {},
): Promise<KeyPair> {
  const names = [SERVICE_HOST, "localhost", "127.0.0.1"];
  return await authority.issue({ commonName: SERVICE_HOST, names, ...validity });
}

export async function writeServingCertificate(dir: string, { certificate, key }: KeyPair): Promise<void> {
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "tls.crt"), certificate);
  await writeFile(join(dir, "tls.key"), key, { mode: 0o600 });
}

function describeOperator(
  parts: Pick<Operator, "daemon" | "ports" | "certDir"> & { readonly ca: string; readonly secure: boolean },
): Operator {
  const { daemon, ports, certDir, ca, secure } = parts;
  const log = new LogReader(daemon.logFile, parseLine);
  const scrape = async (): Promise<string> => {
    if (!secure) return await (await fetch(`http://127.0.0.1:${ports.metrics}/metrics`)).text();
    const { response, body } = await scrapeSecurely(ports, ca, ADMIN_TOKEN);
    if (response.statusCode !== 200) throw new Error(`/metrics: ${response.statusCode} ${body}`);
    return body;
  };
  return {
    ask: async (hook, request) => {
      const answer = await ask(ports.webhook, ca, hook, request);
      note(
        () =>
          `${hook}: ${JSON.stringify(answer)}; the end of the log of ${daemon.name}:\n${lastLines(daemon)}`,
      );
      return answer;
    },
    url: `https://127.0.0.1:${ports.webhook}/`,
    ports,
    daemon,
    certDir,
    lines: () => log.items(),
    ready: async () => (await fetch(`http://127.0.0.1:${ports.health}/readyz`)).ok,
    scrape,
    metric: async (metric, ...labels) => {
      const page = await scrape();
      return page
        .split("\n")
        .filter(
          (line) => new RegExp(`^${metric}[{ ]`).test(line) && labels.every((label) => line.includes(label)),
        )
        .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    },
  };
}

async function ask(port: number, ca: string, hook: HookName, body: object): Promise<HookResponse> {
  const url = `https://127.0.0.1:${port}${hookPath(hook)}?timeout=10s`;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    post(url, { method: "POST", ca, agent: false }, resolve).once("error", reject).end(JSON.stringify(body));
  });
  return (await json(response)) as HookResponse;
}

function lastLines(daemon: Daemon): string {
  return daemon.log().trimEnd().split("\n").slice(-12).join("\n");
}

function parseLine(line: string): LogLine[] {
  try {
    return [JSON.parse(line) as LogLine];
  } catch {
    return []; // what Node.js itself has said
  }
}

/** For "nothing happens": the only way to see it is to look for a while. */
export async function holdsFor(ms: number, check: () => Promise<void>): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    await check();
    await sleep(250);
  }
}
