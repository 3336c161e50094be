import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { messageOf } from "../lib/thrown.ts";
import { type Attempt, cleanLine, KubeError } from "./kube-error.ts";

/** The TLS options that client-node can set. */
const TLS_FIELDS = ["ca", "cert", "key", "pfx", "passphrase", "rejectUnauthorized", "servername"] as const;

export type TlsOptions = Pick<RequestOptions, (typeof TLS_FIELDS)[number]>;

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  /** The TLS options of a connection; connections with equal options may be shared. */
  readonly tls: TlsOptions;
}

/**
 * Asks client-node for the current credentials: it re-reads the token file every minute, runs exec plugins, refreshes
 * OIDC tokens and reads the CA. An error becomes a KubeError with reason Credentials, and the request is retried. Over
 * plain http no credentials are sent, as in kubectl.
 */
export async function currentCredentials(config: KubeConfig, attempt: Attempt): Promise<Credentials> {
  const cluster = config.getCurrentCluster();
  if (cluster?.server.startsWith("http:") === true) return { headers: {}, tls: {} };
  const options: RequestOptions = {};
  try {
    // client-node skips the cluster's CA when the context names no user.
    if (config.getCurrentUser() === null) addAnonymousUser(config);
    await config.applyToHTTPSOptions(options);
  } catch (error) {
    // Without the cause: it can contain a plugin's output.
    throw new KubeError(`${attempt}: credentials: ${problem(error)}`, { code: 0, reason: "Credentials" });
  }
  return { headers: headersOf(options), tls: tlsOf(options) };
}

function addAnonymousUser(config: KubeConfig): void {
  const user = "anonymous";
  const current = config.getCurrentContext();
  config.contexts = config.contexts.map((context) =>
    context.name === current ? { ...context, user } : context,
  );
  config.users = [...config.users, { name: user }];
}

function problem(error: unknown): string {
  // JSON.parse quotes the text that it could not read, which here is a credential printed by a plugin.
  if (error instanceof SyntaxError) return "the credentials plugin did not print JSON";
  const line = cleanLine(messageOf(error));
  return line === "" ? "the credentials plugin failed" : line;
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  if (typeof options.auth === "string") {
    headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  }
  // A token file often ends with a line feed, which is not legal in a header.
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    headers[name.toLowerCase()] = String(value).trim();
  }
  return headers;
}

function tlsOf(options: RequestOptions): TlsOptions {
  const set = TLS_FIELDS.map((field) => [field, options[field]] as const);
  return Object.fromEntries(set.filter(([, value]) => value !== undefined));
}
