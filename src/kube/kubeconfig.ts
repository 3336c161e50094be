import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { messageOf } from "../api/thrown.ts";
import { fieldsOf, isFields } from "../api/fields.ts";
import { KubeError, cleanLine } from "./kubeerror.ts";

export type { KubeConfig };

export interface KubeConfigSource {
  /** --kubeconfig; when it is given, no other place is used. */
  readonly kubeconfig?: string;
  /** --context; absent: the current one. Has no effect with a Pod's service account. */
  readonly context?: string;
  /** For tests: the root of the service account files, instead of "/". */
  readonly root?: string;
}

const TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * Loads the explicit path, else the Pod's service account, else $KUBECONFIG, else ~/.kube/config. Throws a KubeError
 * with reason InvalidKubeConfig whose one-line message can be shown to the user unchanged.
 */
export function loadKubeConfig(source: KubeConfigSource = {}): KubeConfig {
  if (source.kubeconfig !== undefined) return load([source.kubeconfig], source.context);
  const root = source.root ?? "";
  if (
    source.context === undefined &&
    process.env["KUBERNETES_SERVICE_HOST"] &&
    existsSync(`${root}${TOKEN_FILE}`)
  ) {
    const config = new KubeConfig();
    config.loadFromCluster(root);
    return config;
  }
  return load(defaultFiles(), source.context);
}

function load(files: readonly string[], context: string | undefined): KubeConfig {
  const config = fromFiles(files);
  if (context !== undefined) config.setCurrentContext(context);
  return checked(config, files.join(delimiter));
}

/** Like kubectl: files in $KUBECONFIG that do not exist are skipped if at least one exists. */
function defaultFiles(): string[] {
  const list = (process.env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (list.length > 0) {
    const found = list.filter((file) => existsSync(file));
    return found.length > 0 ? found : list;
  }
  const home = join(homedir(), ".kube", "config");
  if (existsSync(home)) return [home];
  throw invalid(`no kubeconfig: not running in a cluster, KUBECONFIG is not set and ${home} does not exist`);
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
