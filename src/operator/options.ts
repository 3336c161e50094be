/** The flags of `hookpolicy run`: names, defaults and texts in one table, and their parsed values. */

import { CERT_MANAGEMENT, type ClientSettings } from "../certificates/settings.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../report/process-log.ts";
import { parseDuration } from "../lib/duration.ts";
import { UsageError } from "../lib/thrown.ts";
import { isHost, parseAddress, type Address } from "../server/address.ts";

/** As parsed; absent where a flag without a default is not given. */
export type Options = ReturnType<typeof parseOptions>;

/** `text` is always `1.<minor>`. */
export interface CapiVersion {
  readonly minor: number;
  readonly text: string;
}

export interface Flag {
  /** "boolean": the flag alone means true. */
  readonly argument: string;
  readonly default?: string;
  readonly description: string;
  readonly group: string;
}

function inGroup(group: string) {
  return (argument: string, description: string, standard?: string): Flag => ({
    argument,
    ...(standard !== undefined && { default: standard }),
    description,
    group,
  });
}

const clusterApi = inGroup("Cluster API:");
const policies = inGroup("Policies:");
const apiServer = inGroup("API server:");
const hookServer = inGroup("Hook server:");
const admissionServer = inGroup("Admission server:");
const replicas = inGroup("Replicas:");
const diagnostics = inGroup("Diagnostics:");

/** The names are those of Cluster API's own managers for flags that they have too. */
export const FLAGS = {
  "capi-version": clusterApi(
    "version",
    "Cluster API version that calls; decides which hooks are advertised",
    "1.14",
  ),
  "max-override-duration": policies(
    "duration",
    "longest life of a HookOverride; a longer one has no effect",
    "168h",
  ),
  kubeconfig: apiServer(
    "file",
    "how to reach the API server; default: KUBECONFIG, ~/.kube/config or the service account",
  ),
  "webhook-host": hookServer("host", "host name or IP address to serve hooks on; default: all interfaces"),
  "webhook-port": hookServer("port", "port to serve hooks on", "9443"),
  "webhook-cert-dir": hookServer(
    "dir",
    "directory of certificate and key; followed while running",
    "/tmp/k8s-webhook-server/serving-certs",
  ),
  "webhook-cert-name": hookServer("file", "certificate in that directory, PEM", "tls.crt"),
  "webhook-key-name": hookServer("file", "private key in that directory, PEM", "tls.key"),
  "webhook-configuration": hookServer(
    "name",
    "ValidatingWebhookConfiguration whose caBundle is kept current, and that of NAME-clusters, if there are any",
    "hookpolicy",
  ),
  "cert-management": hookServer(
    "who",
    "who issues the serving certificate. Self: the operator, into Secrets of its namespace, also renewing it; Files: another controller, into --webhook-cert-dir",
    "Files",
  ),
  "webhook-service-name": hookServer(
    "name",
    "Service in the operator's namespace that callers use; Self issues for its DNS names",
    "hookpolicy-webhook-service",
  ),
  "webhook-secret-name": hookServer(
    "name",
    "Secret of the serving certificate for Self; its authority's is beside it, with -ca at the end of the name",
    "hookpolicy-webhook-service-cert",
  ),
  "client-ca-file": hookServer(
    "file",
    "authorities of client certificates, PEM, followed while running: hooks are refused without such a certificate, discovery needs none; default: every client may call",
  ),
  "client-cn": hookServer(
    "names",
    "common names that client certificates may have, separated by commas; default: any",
  ),
  "admission-port": admissionServer(
    "port",
    "port to serve the validating webhooks of policies and of Clusters on, on --webhook-host and with its certificate",
    "9444",
  ),
  "admission-client-ca-file": admissionServer(
    "file",
    "authorities of the API server's client certificate, PEM, followed while running: without such a certificate nothing is answered; default: every client may call, and is told less",
  ),
  "admission-client-cn": admissionServer(
    "names",
    "common names that this certificate may have, separated by commas; default: any",
  ),
  "leader-elect": replicas(
    "boolean",
    "one replica carries out tasks, writes the status of HookRollouts and renews certificates; all of them answer",
    "false",
  ),
  namespace: replicas(
    "name",
    "namespace of the operator's own objects, such as its Lease; default: the Pod's",
  ),
  "shutdown-delay-duration": replicas(
    "duration",
    "how long the operator still answers after SIGTERM, not ready any more, until no node routes here any more",
    "0s",
  ),
  "health-addr": diagnostics("address", "serves /healthz and /readyz in plain HTTP; 0: not at all", ":9440"),
  "diagnostics-address": diagnostics("address", "serves /metrics; 0: not at all", ":8443"),
  "metrics-secure": diagnostics(
    "boolean",
    "serve /metrics over HTTPS, with the certificate of hooks, to bearer tokens whose user may get /metrics (TokenReview, SubjectAccessReview); false: in plain HTTP, to every client",
    "true",
  ),
  "metrics-cluster-names": diagnostics(
    "boolean",
    "let hookpolicy_oldest_hold_timestamp_seconds name the Cluster, for alerts; false: metrics name no Cluster",
    "false",
  ),
  "audit-log": diagnostics(
    "file",
    "append one JSON line for each changed answer to this file; -: to standard output, and the log to standard error",
  ),
  "log-format": diagnostics("format", LOG_FORMATS.join(" or "), "text"),
  "log-level": diagnostics("level", LOG_LEVELS.join(", "), "info"),
};

export type FlagName = keyof typeof FLAGS;

/** The values as typed; a flag that is absent has its default. */
export type FlagValues = { readonly [name in FlagName]?: string | undefined };

const BOOLEANS = ["true", "false"] as const;
export const OLDEST_CAPI_MINOR = 10; // the oldest in docs/compatibility.md

/** Throws a UsageError for the first wrong value. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- its fields are those of the table
export function parseOptions(values: FlagValues) {
  const text = (name: FlagName): string => {
    return values[name] ?? FLAGS[name].default ?? "";
  };
  const options = {
    ...(values.kubeconfig !== undefined && { kubeconfig: parsePath("kubeconfig", values.kubeconfig) }),
    ...(values["webhook-host"] !== undefined && { webhookHost: parseHost(values["webhook-host"]) }),
    webhookPort: parsePort("webhook-port", text("webhook-port")),
    admissionPort: parsePort("admission-port", text("admission-port")),
    webhookCertDir: parsePath("webhook-cert-dir", text("webhook-cert-dir")),
    webhookCertName: parsePath("webhook-cert-name", text("webhook-cert-name")),
    webhookKeyName: parsePath("webhook-key-name", text("webhook-key-name")),
    webhookConfiguration: parseName("webhook-configuration", text("webhook-configuration")),
    certManagement: parseChoice("cert-management", text("cert-management"), CERT_MANAGEMENT),
    webhookServiceName: parseName("webhook-service-name", text("webhook-service-name")),
    webhookSecretName: parseName("webhook-secret-name", text("webhook-secret-name")),
    ...optional("clients", parseClients("client", values)),
    ...optional("admissionClients", parseClients("admission-client", values)),
    ...optional("healthAddress", parseListener("health-addr", text("health-addr"))),
    ...optional("diagnosticsAddress", parseListener("diagnostics-address", text("diagnostics-address"))),
    metricsSecure: parseChoice("metrics-secure", text("metrics-secure"), BOOLEANS) === "true",
    metricsClusterNames:
      parseChoice("metrics-cluster-names", text("metrics-cluster-names"), BOOLEANS) === "true",
    ...(values["audit-log"] !== undefined && { auditLog: parsePath("audit-log", values["audit-log"]) }),
    logFormat: parseChoice("log-format", text("log-format"), LOG_FORMATS),
    logLevel: parseChoice("log-level", text("log-level"), LOG_LEVELS),
    leaderElect: parseChoice("leader-elect", text("leader-elect"), BOOLEANS) === "true",
    ...(values.namespace !== undefined && { namespace: parseName("namespace", values.namespace) }),
    shutdownDelayMs: parseDelay("shutdown-delay-duration", text("shutdown-delay-duration")),
    capiVersion: parseCapiVersion(text("capi-version")),
    maxOverrideMs: parseDurationFlag("max-override-duration", text("max-override-duration")),
  };
  if (options.admissionPort === options.webhookPort) {
    throw new UsageError("--admission-port and --webhook-port are the same: each has a listener of its own");
  }
  return Object.freeze(options);
}

/** Leaves out a field without a value. */
function optional<K extends string, T>(key: K, value: T | undefined): { readonly [P in K]?: T };
function optional(key: string, value: unknown): object {
  return value === undefined ? {} : { [key]: value };
}

function parsePort(name: FlagName, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65535) throw wrong(name, text, "1 to 65535");
  return port;
}

function parseHost(text: string): string {
  if (!isHost(text)) throw wrong("webhook-host", text, "a host name or an IP address");
  return text;
}

function parsePath(name: FlagName, text: string): string {
  if (text === "" || text.includes("\0")) throw wrong(name, text, "a path");
  return text;
}

function parseName(name: FlagName, text: string): string {
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(text)) throw wrong(name, text, "the name of an object");
  return text;
}

function parseClients(prefix: "client" | "admission-client", values: FlagValues): ClientSettings | undefined {
  const [caFlag, cnFlag] = [`${prefix}-ca-file`, `${prefix}-cn`] as const;
  const [caFile, cn] = [values[caFlag], values[cnFlag]];
  const names = cn === undefined ? [] : cn.split(",").map((name) => name.trim());
  if (names.includes("")) throw wrong(cnFlag, cn ?? "", "common names, separated by commas");
  if (caFile !== undefined) return { caFile: parsePath(caFlag, caFile), names };
  if (cn !== undefined) throw new UsageError(`--${cnFlag} has no effect without --${caFlag}`);
  return undefined;
}

function parseChoice<T extends string>(name: FlagName, text: string, choices: readonly T[]): T {
  const choice = choices.find((each) => each === text);
  if (choice === undefined) throw wrong(name, text, choices.join(", "));
  return choice;
}

/** `undefined`: none. */
function parseListener(name: FlagName, text: string): Address | undefined {
  if (text === "0") return undefined;
  const address = parseAddress(text);
  if (address === undefined) throw wrong(name, text, "host:port, :port, or 0 for none");
  return Object.freeze(address);
}

function parseDelay(name: FlagName, text: string): number {
  return text === "0" || text === "0s" ? 0 : parseDurationFlag(name, text);
}

function parseDurationFlag(name: FlagName, text: string): number {
  const duration = parseDuration(text);
  if (duration === undefined)
    throw wrong(name, text, "a duration of hours, minutes and seconds, such as 168h or 1h30m");
  return duration;
}

/** Accepts a minor version that is not released yet, because it will call at least the known hooks. */
function parseCapiVersion(text: string): CapiVersion {
  const [, digits] = /^v?1\.(0|[1-9]\d{0,3})(?:\.\d+(?:-[\w.]+)?)?$/.exec(text) ?? [];
  const minor = Number(digits ?? -1);
  if (minor < OLDEST_CAPI_MINOR) {
    throw wrong("capi-version", text, `1.${OLDEST_CAPI_MINOR} or newer, such as 1.12, v1.12 or 1.12.3`);
  }
  return Object.freeze({ minor, text: `1.${minor}` });
}

function wrong(name: FlagName, given: string, allowed: string): UsageError {
  return new UsageError(`--${name} is ${JSON.stringify(given)}; allowed: ${allowed}`);
}
