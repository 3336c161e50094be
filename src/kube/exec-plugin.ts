/**
 * Runs a credentials plugin by the contract of client.authentication.k8s.io, as client-go does
 * (plugin/pkg/client/auth/exec/exec.go). client-node keeps the plugin's words from the person, gives it no terminal, and
 * does not tell it which cluster it is for.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type Fields, fieldsOf, listOf, parseJson, textOf } from "../lib/fields.ts";
import { isMissing } from "../lib/thrown.ts";

const GROUP = "client.authentication.k8s.io";
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];
const MODES = ["Never", "IfAvailable", "Always"];

export interface PluginCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Milliseconds since 1970; absent: it does not expire. */
  readonly expires?: number;
}

/** A credential is renewed this long before it expires, because a request with it may take that long. */
const EARLY_MS = 10_000;

export class ExecPlugin {
  readonly #exec: Fields;
  readonly #cluster: Fields;
  #credential: PluginCredential | undefined;
  #running: Promise<PluginCredential> | undefined;

  /** `exec` of the user, and `cluster`, of the kubeconfig. Throws an Error that says which field is wrong. */
  constructor(exec: Fields, cluster: Fields) {
    this.#exec = checked(exec);
    this.#cluster = cluster;
  }

  /** However many requests need it, the plugin runs once. It may take as long as the person needs. */
  async credential(): Promise<PluginCredential> {
    const known = this.#credential;
    if (known !== undefined && !(Date.now() > (known.expires ?? Infinity) - EARLY_MS)) return known;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return await this.#running;
  }

  /** The API server has refused it. */
  forget(credential: PluginCredential): void {
    if (this.#credential === credential) this.#credential = undefined;
  }

  async #run(): Promise<PluginCredential> {
    const output = await this.#output();
    this.#credential = credentialOf(output, textOf(this.#exec["apiVersion"]));
    return this.#credential;
  }

  async #output(): Promise<string> {
    const { command, args, env } = this.#exec;
    const isInteractive = interactive(textOf(this.#exec["interactiveMode"]));
    const variables = listOf(env)
      .map(fieldsOf)
      .map(({ name, value }) => [textOf(name), textOf(value)]);
    const child = spawn(textOf(command), listOf(args).map(String), {
      env: {
        ...process.env,
        ...Object.fromEntries(variables),
        KUBERNETES_EXEC_INFO: JSON.stringify(this.#info(isInteractive)),
      },
      stdio: [isInteractive ? "inherit" : "ignore", "pipe", "inherit"],
    });
    const printed = text(child.stdout);
    printed.catch(() => undefined); // "close" tells of it
    try {
      const [code, signal] = await once(child, "close");
      if (code !== 0)
        throw new Error(`${this.#name()} failed: ${code === null ? signal : `exit code ${code}`}`);
      return await printed;
    } catch (error) {
      if (!isMissing(error)) throw error;
      const hint = textOf(this.#exec["installHint"]);
      throw new Error(`${this.#name()} was not found${hint === "" ? "" : `. ${hint}`}`, { cause: error });
    }
  }

  #name(): string {
    return `the credentials plugin ${textOf(this.#exec["command"])}`;
  }

  #info(isInteractive: boolean): object {
    const { apiVersion, provideClusterInfo } = this.#exec;
    const cluster = provideClusterInfo === true ? { cluster: clusterInfo(this.#cluster) } : {};
    return { kind: "ExecCredential", apiVersion, spec: { ...cluster, interactive: isInteractive } };
  }
}

function checked(exec: Fields): Fields {
  const { apiVersion, command, interactiveMode } = exec;
  if (textOf(command) === "") throw new Error("exec.command is missing");
  if (!VERSIONS.includes(textOf(apiVersion)))
    throw new Error(`exec.apiVersion ${JSON.stringify(apiVersion ?? "")}: allowed: ${VERSIONS.join(", ")}`);
  if (interactiveMode === undefined && apiVersion === `${GROUP}/v1beta1`)
    return { ...exec, interactiveMode: "IfAvailable" };
  if (!MODES.includes(textOf(interactiveMode)))
    throw new Error(
      `exec.interactiveMode ${JSON.stringify(interactiveMode ?? "")}: allowed: ${MODES.join(", ")}`,
    );
  return exec;
}

/** Whether the plugin may read from the terminal. */
function interactive(mode: string): boolean {
  const isTerminal = process.stdin.isTTY;
  if (mode === "Always" && !isTerminal)
    throw new Error(
      "the credentials plugin needs a terminal (interactiveMode: Always), and standard input is none",
    );
  return mode !== "Never" && isTerminal;
}

/** pkg/apis/clientauthentication: Cluster. */
function clusterInfo(cluster: Fields): Fields {
  const FIELDS = [
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
  ];
  const [extension] = listOf(cluster["extensions"])
    .map(fieldsOf)
    .filter(({ name }) => name === `${GROUP}/exec`);
  const given = FIELDS.filter((field) => cluster[field] !== undefined).map((field) => [
    field,
    cluster[field],
  ]);
  return { ...Object.fromEntries(given), ...(extension && { config: extension["extension"] }) };
}

/** Throws an Error that never quotes what the plugin printed. */
function credentialOf(output: string, apiVersion: string): PluginCredential {
  const printed = fieldsOf(parseJson(output));
  if (printed["kind"] !== "ExecCredential" || printed["apiVersion"] !== apiVersion)
    throw new Error(`the credentials plugin printed no ExecCredential of ${apiVersion}`);
  const status = fieldsOf(printed["status"]);
  const [token, cert, key] = ["token", "clientCertificateData", "clientKeyData"].map((field) =>
    textOf(status[field]),
  );
  if (token === "" && cert === "" && key === "")
    throw new Error("the credentials plugin printed neither a token nor a client certificate");
  if ((cert === "") !== (key === ""))
    throw new Error(
      "the credentials plugin printed a client certificate without its key, or a key without it",
    );
  const expires = Date.parse(textOf(status["expirationTimestamp"]));
  return {
    ...(token !== "" && { token }),
    ...(cert !== "" && { cert, key }),
    ...(!Number.isNaN(expires) && { expires }),
  };
}
