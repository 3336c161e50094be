import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { messageOf } from "../lib/thrown.ts";
import { fieldsOf, isFields } from "../lib/fields.ts";
import { KubeError, cleanLine } from "./kube-error.ts";

export type { KubeConfig };

export interface KubeConfigSource {
  /** --kubeconfig; when it is given, no other place is used. */
  readonly kubeconfig?: string;
  /** --context; absent: the current one. The service account of a Pod has none. */
  readonly context?: string;
  /** For tests: the root of the service account files, instead of "/". */
  readonly root?: string;
}

/** The name that client-node gives to the context of loadFromCluster(). */
const IN_CLUSTER_CONTEXT = "inClusterContext";
const TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * In kubectl's order: the explicit path, else $KUBECONFIG, else ~/.kube/config, else the service account of the Pod. A
 * file or context that was named never leads to the Pod's own cluster, which kubectl falls back to. Throws a KubeError
 * with reason InvalidKubeConfig whose one-line message can be shown to the user unchanged.
 */
export function loadKubeConfig({ kubeconfig, context, root = "" }: KubeConfigSource = {}): KubeConfig {
  const files = kubeconfig === undefined ? defaultFiles() : [kubeconfig];
  if (files.length > 0) return load(files, context);
  const inPod = process.env["KUBERNETES_SERVICE_HOST"] && existsSync(`${root}${TOKEN_FILE}`);
  if (context === undefined && inPod) {
    const config = new KubeConfig();
    config.loadFromCluster(root);
    return config;
  }
  const missing = `KUBECONFIG is not set, ${homeFile() ?? "~/.kube/config"} does not exist`;
  throw invalid(
    context === undefined
      ? `no kubeconfig: ${missing}, and there is no service account of a Pod`
      : `no kubeconfig: ${missing}, and context ${JSON.stringify(context)} must be in one`,
  );
}

/** For people, before something is changed: "https://host:6443, context prod". */
export function serverText(config: KubeConfig): string {
  const context = config.getCurrentContext();
  const by = context === IN_CLUSTER_CONTEXT ? "the service account of this Pod" : `context ${context}`;
  return `${config.getCurrentCluster()?.server}, ${by}`;
}

function load(files: readonly string[], context: string | undefined): KubeConfig {
  const config = fromFiles(files);
  if (context !== undefined) config.setCurrentContext(context);
  return checked(config, files.join(delimiter));
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

function fromFiles(files: readonly string[]): KubeConfig {
  const [first, ...others] = files.map((file) => fromFile(file));
  if (first === undefined) throw invalid("no kubeconfig: empty path");
  for (const other of others) {
    try {
      first.mergeConfig(other, first.currentContext !== undefined && first.currentContext !== "");
    } catch (error) {
      throw invalid(`kubeconfig ${files.join(delimiter)}: ${cleanLine(messageOf(error))}`);
    }
  }
  return first;
}

function fromFile(file: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromFile(file);
    return config;
  } catch (error) {
    throw invalid(`kubeconfig ${file}: ${fileProblem(error)}`);
  }
}

/** Never the parser's own message: it quotes the lines around the error, which can contain a token. */
function fileProblem(error: unknown): string {
  const { code, syscall, mark, reason } = fieldsOf(error);
  if (code === "ENOENT") return "no such file";
  if (typeof syscall === "string") return `cannot be read (${String(code)})`;
  if (isFields(mark))
    return `not valid YAML at line ${Number(mark["line"]) + 1}: ${cleanLine(String(reason))}`;
  if (error instanceof TypeError) return "not a kubeconfig (empty, or not a mapping)";
  return cleanLine(messageOf(error));
}

function checked(config: KubeConfig, where: string): KubeConfig {
  const wrong = (what: string): KubeError => invalid(`kubeconfig ${where}: ${what}`);
  const name = config.getCurrentContext();
  if (name === undefined || name === "") throw wrong("current-context is not set");
  const context = config.getContextObject(name);
  if (context === null) throw wrong(`context ${JSON.stringify(name)} does not exist`);
  const { user, cluster: clusterName } = context;
  const cluster = config.getCluster(clusterName);
  if (cluster === null) throw wrong(`cluster ${JSON.stringify(clusterName)} does not exist`);
  if (!/^https?:\/\/[^/]/.test(cluster.server) || !URL.canParse(cluster.server))
    throw wrong(`server ${JSON.stringify(cluster.server)} is not an http(s) URL`);
  if (user !== undefined && config.getUser(user) === null)
    throw wrong(`user ${JSON.stringify(user)} does not exist`);
  return config;
}

function invalid(message: string): KubeError {
  return new KubeError(message, { code: 0, reason: "InvalidKubeConfig" });
}
