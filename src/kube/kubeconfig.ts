/**
 * Finds the API server and the user as kubectl does (client-go: tools/clientcmd, client_config.go). client-node's own loader
 * knows no `tokenFile`, drops how to impersonate, and refuses a file for an entry that nothing uses. Its KubeConfig gets what was
 * chosen.
 */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import type { Cluster, User } from "@kubernetes/client-node/dist/config_types.js";
import { type Fields, fieldsOf, isFields, listOf, nonEmptyText, textOf } from "../lib/fields.ts";
import { messageOf } from "../lib/thrown.ts";
import { ExecPlugin } from "./exec-plugin.ts";
import { invalidKubeconfig, type KubeconfigEntries, readKubeconfigs } from "./kubeconfig-files.ts";

export type { KubeConfig };

/** The fields of a user that client-node does not model. */
export interface KubeUser extends User {
  readonly plugin?: ExecPlugin;
  /** Headers of impersonation. */
  readonly impersonation?: Readonly<Record<string, string | string[]>>;
}

/** kubectl's flags of these names. */
export interface KubeConfigSource {
  /** When it is given, no other place is used. */
  readonly kubeconfig?: string;
  /** Absent: the current one. The service account of a Pod has none. */
  readonly context?: string;
  readonly cluster?: string;
  readonly user?: string;
  readonly server?: string;
  readonly tlsServerName?: string;
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly token?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly asUid?: string;
  readonly asGroup?: readonly string[];
  /** "key=value" each. */
  readonly asUserExtra?: readonly string[];
}

/** The name that client-node gives to the context of loadFromCluster(). */
const IN_CLUSTER_CONTEXT = "inClusterContext";
const TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * In kubectl's order: the explicit path, else $KUBECONFIG, else ~/.kube/config, else the service account of the Pod. A
 * file or context that was named never leads to the Pod's own cluster, which kubectl falls back to. Throws a KubeError
 * with reason InvalidKubeConfig whose one-line message can be shown to the user unchanged. `root`: before the paths of the
 * service account.
 */
export function loadKubeConfig(source: KubeConfigSource = {}, root = ""): KubeConfig {
  const { kubeconfig, context } = source;
  const files = kubeconfig === undefined ? defaultFiles() : [kubeconfig];
  if (files.length > 0 || source.server !== undefined) return choose(files, source);
  const inPod = process.env["KUBERNETES_SERVICE_HOST"] && existsSync(`${root}${TOKEN_FILE}`);
  if (context === undefined && inPod) return ofPod(source, root);
  const missing = `KUBECONFIG is not set, ${homeFile() ?? "~/.kube/config"} does not exist`;
  throw invalidKubeconfig(
    context === undefined
      ? `no kubeconfig: ${missing}, and there is no service account of a Pod`
      : `no kubeconfig: ${missing}, and context ${JSON.stringify(context)} must be in one`,
  );
}

/** For people, before something is changed: "https://host:6443, context prod". */
export function serverText(config: KubeConfig): string {
  const context = config.getCurrentContext();
  const by = context === IN_CLUSTER_CONTEXT ? "the service account of this Pod" : `context ${context}`;
  return [config.getCurrentCluster()?.server, ...(context === "" ? [] : [by])].join(", ");
}

/** Like kubectl: files in $KUBECONFIG that do not exist are skipped if at least one exists. Empty: no place has a file. */
function defaultFiles(): string[] {
  const list = (process.env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (list.length > 0) {
    const found = list.filter((file) => existsSync(file));
    return found.length > 0 ? found : list;
  }
  const home = homeFile();
  return home !== undefined && existsSync(home) ? [home] : [];
}

/** `undefined`: the user has no home, as in a container whose uid no passwd file knows. */
function homeFile(): string | undefined {
  try {
    return join(homedir(), ".kube", "config");
  } catch {
    return undefined;
  }
}

/** The flags say as whom, if the service account may impersonate. */
function ofPod(source: KubeConfigSource, root: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromCluster(root);
  const impersonation = impersonationOf(userFields({}, source));
  config.users = config.users.map((user): KubeUser => ({ ...user, ...impersonation }));
  return config;
}

function choose(files: readonly string[], source: KubeConfigSource): KubeConfig {
  const entries = readKubeconfigs(files);
  const where = files.length > 0 ? `kubeconfig ${files.join(delimiter)}` : "--server";
  try {
    return configOf(entries, source);
  } catch (error) {
    throw invalidKubeconfig(`${where}: ${messageOf(error)}`);
  }
}

/** Only what is used has to be right. Throws an Error that names the field. */
function configOf(entries: KubeconfigEntries, source: KubeConfigSource): KubeConfig {
  const name = source.context ?? entries.currentContext;
  const context = contextOf(entries, name, source);
  const clusterName = source.cluster ?? textOf(context["cluster"]);
  const userName = source.user ?? textOf(context["user"]);
  const cluster = clusterFields(namedEntry(entries.clusters, { kind: "cluster", name: clusterName }), source);
  const user = userFields(namedEntry(entries.users, { kind: "user", name: userName }), source);
  const config = new KubeConfig();
  config.loadFromOptions({
    currentContext: name,
    contexts: [{ name, cluster: clusterName, user: userName, namespace: nonEmptyText(context["namespace"]) }],
    clusters: [checkedCluster(clusterName, cluster)],
    users: [checkedUser(userName, user, cluster)],
  });
  return config;
}

function contextOf({ contexts }: KubeconfigEntries, name: string, { server }: KubeConfigSource): Fields {
  const context = contexts.get(name);
  if (context !== undefined) return context;
  if (name !== "") throw new Error(`context ${JSON.stringify(name)} does not exist`);
  if (server === undefined) throw new Error("current-context is not set");
  return {};
}

/** An empty name means no entry. */
function namedEntry(
  all: ReadonlyMap<string, Fields>,
  { kind, name }: { readonly kind: string; readonly name: string },
): Fields {
  const entry = name === "" ? {} : all.get(name);
  if (entry === undefined) throw new Error(`${kind} ${JSON.stringify(name)} does not exist`);
  return entry;
}

/** What the flags say about trust replaces what the file says. */
function clusterFields(cluster: Fields, source: KubeConfigSource): Fields {
  const { server, tlsServerName, certificateAuthority, insecureSkipTlsVerify } = source;
  const trust = certificateAuthority !== undefined || insecureSkipTlsVerify === true;
  return {
    ...cluster,
    ...(server !== undefined && { server, "tls-server-name": undefined }),
    ...(tlsServerName !== undefined && { "tls-server-name": tlsServerName }),
    ...(trust && {
      "certificate-authority-data": undefined,
      "certificate-authority": certificateAuthority,
      "insecure-skip-tls-verify": insecureSkipTlsVerify,
    }),
  };
}

function userFields(user: Fields, source: KubeConfigSource): Fields {
  const { token, clientCertificate, clientKey, username, password, as, asUid, asGroup, asUserExtra } = source;
  const flags = {
    "client-certificate": clientCertificate,
    "client-key": clientKey,
    username,
    password,
    as,
    "as-uid": asUid,
    "as-groups": asGroup,
    "as-user-extra": asUserExtra && extrasOf(asUserExtra),
  };
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return {
    ...user,
    ...(clientCertificate !== undefined && { "client-certificate-data": undefined }),
    ...(clientKey !== undefined && { "client-key-data": undefined }),
    ...(token !== undefined && { token, tokenFile: undefined }),
    ...Object.fromEntries(given),
  };
}

function extrasOf(words: readonly string[]): Record<string, string[]> {
  const pairs = words.map((word) => /^([^=]+)=(.*)$/s.exec(word)?.slice(1) ?? [word, ""]);
  const groups = Map.groupBy(pairs, ([key = ""]) => key);
  return Object.fromEntries([...groups].map(([key, all]) => [key, all.map(([, value = ""]) => value)]));
}

function checkedCluster(name: string, cluster: Fields): Cluster {
  const what = `cluster ${JSON.stringify(name)}`;
  const server = textOf(cluster["server"]);
  if (server === "") throw new Error(`${what} has no server`);
  if (!/^https?:\/\/[^/]/.test(server) || !URL.canParse(server))
    throw new Error(`server ${JSON.stringify(server)} is not an http(s) URL`);
  const trust = textsOf(cluster, { caFile: "certificate-authority", caData: "certificate-authority-data" });
  const skipTLSVerify = cluster["insecure-skip-tls-verify"] === true;
  if (skipTLSVerify && Object.keys(trust).length > 0)
    throw new Error(`${what} has a certificate authority and insecure-skip-tls-verify: one or the other`);
  const others = textsOf(cluster, { tlsServerName: "tls-server-name", proxyUrl: "proxy-url" });
  return { name, server: server.replace(/\/$/, ""), skipTLSVerify, ...trust, ...others };
}

/** The fields that have a text, under client-node's names. */
function textsOf<K extends string>(
  entry: Fields,
  names: Readonly<Record<K, string>>,
): Partial<Record<K, string>> {
  const pairs = Object.entries<string>(names).map(([name, field]) => [name, textOf(entry[field])] as const);
  const given: Partial<Record<string, string>> = Object.fromEntries(pairs.filter(([, text]) => text !== ""));
  return given;
}

function checkedUser(name: string, user: Fields, cluster: Fields): KubeUser {
  return {
    name,
    ...textsOf(user, {
      certFile: "client-certificate",
      certData: "client-certificate-data",
      keyFile: "client-key",
      keyData: "client-key-data",
      username: "username",
      password: "password",
    }),
    ...tokenOf(user),
    ...pluginOf(name, user, cluster),
    ...impersonationOf(user),
  };
}

/** A token file wins over a token, as in client-go; client-node reads it again each minute. */
function tokenOf(user: Fields): Pick<KubeUser, "token" | "authProvider"> {
  const { tokenFile, "auth-provider": authProvider } = user;
  if (nonEmptyText(tokenFile) !== undefined)
    return { authProvider: { name: "tokenFile", config: { tokenFile } } };
  return { ...textsOf(user, { token: "token" }), ...(isFields(authProvider) && { authProvider }) };
}

/** A token, or a name and password, that is given wins over a plugin. */
function pluginOf(
  name: string,
  { exec, token, tokenFile, username }: Fields,
  cluster: Fields,
): Pick<KubeUser, "plugin"> {
  const isNeeded = [token, tokenFile, username].every((field) => nonEmptyText(field) === undefined);
  if (!isFields(exec) || !isNeeded) return {};
  try {
    return { plugin: new ExecPlugin(exec, cluster) };
  } catch (error) {
    throw new Error(`user ${JSON.stringify(name)}: ${messageOf(error)}`, { cause: error });
  }
}

/** client-go: transport/round_trippers.go, impersonatingRoundTripper. */
function impersonationOf(user: Fields): Pick<KubeUser, "impersonation"> {
  const [name, uid] = [textOf(user["as"]), textOf(user["as-uid"])];
  const groups = listOf(user["as-groups"]).map(String);
  const extras = Object.entries(fieldsOf(user["as-user-extra"])).map(
    ([key, values]) => [`impersonate-extra-${encodeURIComponent(key)}`, listOf(values).map(String)] as const,
  );
  if (name === "" && (uid !== "" || groups.length > 0 || extras.length > 0))
    throw new Error("a group, uid or extra to impersonate needs the name of a user (as)");
  if (name === "") return {};
  return {
    impersonation: {
      "impersonate-user": name,
      ...(uid !== "" && { "impersonate-uid": uid }),
      ...(groups.length > 0 && { "impersonate-group": groups }),
      ...Object.fromEntries(extras),
    },
  };
}
