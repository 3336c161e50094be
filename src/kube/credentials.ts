import type { RequestOptions } from "node:https";
import tls from "node:tls"; // the check of the version runs before a name that an older Node.js lacks
import { messageOf } from "../lib/thrown.ts";
import type { PluginCredential } from "./exec-plugin.ts";
import type { KubeConfig, KubeUser } from "./kubeconfig.ts";
import { type Attempt, cleanLine, KubeError } from "./kube-error.ts";

/** The TLS options that client-node can set. */
const TLS_FIELDS = ["ca", "cert", "key", "pfx", "passphrase", "rejectUnauthorized", "servername"] as const;

export type TlsOptions = Pick<RequestOptions, (typeof TLS_FIELDS)[number]>;

export interface Credentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** The TLS options of a connection; connections with equal options may be shared. */
  readonly tls: TlsOptions;
  /** Absent: no plugin. Called when the API server has refused the credentials: the plugin may have new ones. */
  readonly forget?: () => void;
}

/** The user of the chosen context, as loadKubeConfig() has made it. */
export function currentUser(config: KubeConfig): KubeUser | null {
  return config.getCurrentUser();
}

/**
 * Asks client-node for the current credentials: it re-reads the token file every minute, refreshes OIDC tokens and reads the CA;
 * a plugin is asked here. An error becomes a KubeError with reason Credentials, and the request is retried. Over plain http no
 * credentials are sent, as in kubectl.
 */
export async function currentCredentials(config: KubeConfig, attempt: Attempt): Promise<Credentials> {
  const cluster = config.getCurrentCluster();
  if (cluster?.server.startsWith("http:") === true) return { headers: {}, tls: {} };
  const { plugin, impersonation } = currentUser(config) ?? {};
  const options: RequestOptions = {};
  try {
    const credential = await plugin?.credential();
    await config.applyToHTTPSOptions(options);
    const { cert, key } = credential ?? {};
    return {
      headers: { ...headersOf(options, credential), ...impersonation },
      tls: { ...tlsOf(options), ...(cert !== undefined && { cert, key }) },
      ...(plugin && credential && { forget: () => plugin.forget(credential) }),
    };
  } catch (error) {
    // Without the cause, which can contain a plugin's output.
    const problem = cleanLine(messageOf(error)) || "they cannot be had";
    throw new KubeError(`${attempt}: credentials: ${problem}`, { code: 0, reason: "Credentials" });
  }
}

let machine: readonly string[] | undefined;

/**
 * A cluster without an authority of its own is trusted by those of this machine, as in kubectl ($SSL_CERT_FILE, $SSL_CERT_DIR), or
 * Node.js's. They are 5 MB, which a process that does not need them does not read.
 */
export function withTrust(options: TlsOptions): TlsOptions {
  if (options.ca !== undefined) return options;
  machine ??= [...tls.getCACertificates("system"), ...tls.getCACertificates("extra")];
  return machine.length > 0 ? { ...options, ca: [...machine] } : options;
}

function headersOf(options: RequestOptions, { token }: PluginCredential = {}): Record<string, string> {
  const headers: Record<string, string> = {};
  if (typeof options.auth === "string") {
    headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  }
  // A token file often ends with a line feed, which is not legal in a header.
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    headers[name.toLowerCase()] = String(value).trim();
  }
  return { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
}

function tlsOf(options: RequestOptions): TlsOptions {
  const set = TLS_FIELDS.map((field) => [field, options[field]] as const);
  return Object.fromEntries(set.filter(([, value]) => value !== undefined));
}
