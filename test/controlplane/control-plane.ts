/** A real etcd, kube-apiserver (with RBAC) and kube-controller-manager, as many at once as a test wants. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ApiServer, startApiServer } from "./api-server.ts";
import { type ControlPlaneBinaries, controllerManagerBinary, controlPlaneBinaries } from "./binaries.ts";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  type KeyPair,
  loadCertificateAuthority,
} from "./certificates.ts";
import { Client } from "./client.ts";
import type { Progress } from "./go-build.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { createProcesses, flags, type Processes, goEnvironment } from "./processes.ts";
import { freePorts } from "./ports.ts";
import { plantSeed, type SeedState, type SeedName } from "./seed.ts";
import { note, waitFor } from "./waits.ts";

const run = promisify(execFile);

export const ADMIN_TOKEN = "admin"; // good for one server on the loopback interface, until the test ends

const CONTROLLERS = [
  "namespace-controller", // a deleted Namespace empties itself
  "garbage-collector-controller", // owner references
  "clusterrole-aggregation-controller", // aggregationRule of ClusterRoles
];

export interface ControlPlaneOptions {
  /** Leaves the folder with all logs and data behind; default: $KEEP_CONTROL_PLANE is set. */
  readonly keepFolder?: boolean;
  /** More flags for kube-apiserver. */
  readonly apiServerArgs?: readonly string[];
  /** Told about what takes long: builds. Default: standard error. */
  readonly progress?: Progress;
  /** Whatever etcd and kube-apiserver are on the machine will do; default: those of the tests. */
  readonly anyVersion?: boolean;
  /** kube-controller-manager with CONTROLLERS; default: true. */
  readonly controllers?: boolean;
  /** What the caller will install with the functions for it, which then find it there, where the run has a seed. */
  readonly seed?: SeedName;
}

export interface KubeconfigOptions {
  /** Another way to the API server, such as a proxy's URL… */
  readonly server?: string;
  /** …and the PEM file of who signed its certificate. Default: this control plane's own. */
  readonly caFile?: string;
  /** Seconds the token is good for; the API server's minimum is 600. Default 3600. */
  readonly expirationSeconds?: number;
}

/** What another process needs to use a control plane that this one has started. JSON. */
export interface ControlPlaneAddress {
  readonly folder: string;
  readonly url: string;
  readonly authority: KeyPair;
}

/** The client's methods act as an administrator (system:masters). */
export class ControlPlane extends Client {
  /** Everything this control plane writes; removed by stop(). Tests may put files of their own there. */
  readonly folder: string;
  /** Signs everything here, and may sign the test's own servers. */
  readonly authority: CertificateAuthority;
  readonly caFile: string;
  readonly adminKubeconfig: string;
  readonly apiServer: ApiServer;
  /** For more processes that must not outlive the test, such as the operator itself. */
  readonly processes: Processes;
  readonly seeded: SeedState | undefined;
  readonly #etcdUrl: string | undefined;
  readonly #kubectl: string;
  readonly #keepFolder: boolean;

  constructor(parts: ControlPlaneParts) {
    super({ url: parts.apiServer.url, ca: parts.authority.certificate, token: ADMIN_TOKEN });
    this.folder = parts.folder;
    this.authority = parts.authority;
    this.caFile = parts.caFile;
    this.adminKubeconfig = parts.adminKubeconfig;
    this.apiServer = parts.apiServer;
    this.processes = parts.processes;
    this.seeded = parts.seeded;
    this.#etcdUrl = parts.etcdUrl;
    this.#kubectl = parts.kubectl;
    this.#keepFolder = parts.keepFolder;
  }

  /** What kubectl prints; rejects with what it complains about. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const argv = ["--kubeconfig", this.adminKubeconfig, ...args];
    const options = { env: goEnvironment(), maxBuffer: 64 * 1024 * 1024 };
    try {
      const { stdout } = await run(this.#kubectl, argv, options);
      note(() => `kubectl ${args.join(" ")}: ${stdout}`);
      return stdout;
    } catch (error) {
      const complaint = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
      throw new Error(`kubectl ${args.join(" ")}: ${complaint || String(error)}`, { cause: error });
    }
  }

  /** Polls; fails at once when a process that the test did not stop has ended. */
  async waitFor<T>(
    description: string,
    probe: () => Promise<T | undefined | false> | T | undefined | false,
    timeoutMs?: number,
  ): Promise<T> {
    const { failure } = this.processes;
    return await waitFor(description, probe, { failure, ...(timeoutMs !== undefined && { timeoutMs }) });
  }

  /** A token of a ServiceAccount, made by TokenRequest: RBAC then is what the ServiceAccount may do. */
  async tokenFor(namespace: string, name: string, expirationSeconds = 3600): Promise<string> {
    const body = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds },
    };
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const answer = await this.request<{ status: { token: string } }>("POST", path, JSON.stringify(body));
    return answer.status.token;
  }

  /** The path of a new kubeconfig with a token of that ServiceAccount. */
  async kubeconfigFor(namespace: string, name: string, options: KubeconfigOptions = {}): Promise<string> {
    const token = await this.tokenFor(namespace, name, options.expirationSeconds);
    return await writeKubeconfig(this.folder, `${namespace}-${name}`, {
      server: options.server ?? this.apiServer.url,
      caFile: options.caFile ?? this.caFile,
      token,
      namespace,
    });
  }

  get etcdUrl(): string {
    if (this.#etcdUrl === undefined) throw new Error("etcd belongs to another process");
    return this.#etcdUrl;
  }

  /** For attachControlPlane() in another process. */
  address(): ControlPlaneAddress {
    const { certificate, key } = this.authority;
    return { folder: this.folder, url: this.apiServer.url, authority: { certificate, key } };
  }

  /** Ends every process that this object has started, and removes its folder. Safe to call twice. */
  async stop(): Promise<void> {
    this.close();
    await this.processes.stopAll();
    if (!this.#keepFolder) await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface ControlPlaneParts {
  readonly folder: string;
  readonly authority: CertificateAuthority;
  readonly caFile: string;
  readonly adminKubeconfig: string;
  readonly apiServer: ApiServer;
  readonly processes: Processes;
  readonly seeded?: SeedState | undefined;
  readonly etcdUrl?: string;
  readonly kubectl: string;
  readonly keepFolder: boolean;
}

/**
 * A control plane that another process has started, with a folder and processes of one's own. stop() ends these
 * processes; the API server goes on.
 */
export async function attachControlPlane(address: ControlPlaneAddress): Promise<ControlPlane> {
  const { kubectl } = await controlPlaneBinaries();
  const keepFolder = process.env["KEEP_CONTROL_PLANE"] !== undefined;
  const folder = await mkdtemp(join(address.folder, "file-"));
  const authority = await loadCertificateAuthority(address.authority);
  return new ControlPlane({
    folder,
    authority,
    ...(await writeAccess(folder, address)),
    apiServer: sharedApiServer(address.url),
    processes: createProcesses(folder, keepFolder ? undefined : folder),
    kubectl,
    keepFolder,
  });
}

/** Other files use it, too, so a test must not stop it. */
function sharedApiServer(url: string): ApiServer {
  const refuse = (): never => {
    throw new Error("The API server is shared: a test that stops it needs startControlPlane()");
  };
  return {
    url,
    port: Number(new URL(url).port),
    running: () => true,
    stop: refuse,
    start: refuse,
    freeze: refuse,
    thaw: refuse,
  };
}

/** The files by which tests and their processes reach the API server. */
async function writeAccess(
  folder: string,
  { url, authority }: Pick<ControlPlaneAddress, "url" | "authority">,
): Promise<Pick<ControlPlaneParts, "caFile" | "adminKubeconfig">> {
  const caFile = join(folder, "ca.crt");
  await writeFile(caFile, authority.certificate);
  const adminKubeconfig = await writeKubeconfig(folder, "admin", { server: url, caFile, token: ADMIN_TOKEN });
  return { caFile, adminKubeconfig };
}

/** Ready for requests when it resolves. The first run on a machine builds the programs, which takes minutes. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await controlPlaneBinaries(options);
  if (options.controllers !== false) await controllerManagerBinary(options.progress);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(binaries, options);
    } catch (error) {
      // Somebody else got a port between our finding it free and using it.
      if (attempt === 3 || !/address already in use/.test(String(error))) throw error;
    }
  }
}

async function startOnce(
  binaries: ControlPlaneBinaries,
  options: ControlPlaneOptions,
): Promise<ControlPlane> {
  const keepFolder = options.keepFolder ?? process.env["KEEP_CONTROL_PLANE"] !== undefined;
  const folder = await mkdtemp(join(tmpdir(), "hookpolicy-"));
  const processes = createProcesses(folder, keepFolder ? undefined : folder);
  try {
    const [etcdPort = 0, peerPort = 0, port = 0, managerPort = 0, webhookPort = 0] = await freePorts(5);
    const authority = await createCertificateAuthority();
    const { caFile, adminKubeconfig } = await writeAccess(folder, {
      url: `https://127.0.0.1:${port}`,
      authority,
    });

    const etcdUrl = startEtcd({ processes, binaries, folder, etcdPort, peerPort });
    const target = { webhookPort, caBundle: authority.caBundle };
    const seeded = await plantSeed(etcdUrl, options.seed, target);
    const apiServer = await startApiServer({
      processes,
      binary: binaries.kubeApiserver,
      folder,
      authority,
      port,
      etcdUrl,
      token: ADMIN_TOKEN,
      args: options.apiServerArgs ?? [],
    });
    await apiServer.ready();
    // They would end by themselves if the API server took longer than 20 s to be ready.
    if (options.controllers !== false) {
      const binary = await controllerManagerBinary();
      startControllers({ processes, binary, folder, adminKubeconfig, managerPort });
    }
    return new ControlPlane({
      folder,
      authority,
      caFile,
      adminKubeconfig,
      apiServer,
      processes,
      seeded,
      etcdUrl,
      kubectl: binaries.kubectl,
      keepFolder,
    });
  } catch (error) {
    await processes.stopAll();
    if (!keepFolder) await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

interface EtcdContext {
  readonly processes: Processes;
  readonly binaries: ControlPlaneBinaries;
  readonly folder: string;
}

/** Its URL; it may not answer yet. */
function startEtcd(request: EtcdContext & { readonly etcdPort: number; readonly peerPort: number }): string {
  const { processes, binaries, folder, etcdPort, peerPort } = request;
  const client = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  processes.start({
    name: "etcd",
    stopSignal: "SIGKILL",
    command: binaries.etcd,
    env: goEnvironment(),
    args: flags({
      "data-dir": join(folder, "etcd"),
      "unsafe-no-fsync": true, // the data only has to survive kube-apiserver, not the machine
      "log-level": "warn",
      "listen-client-urls": client,
      "advertise-client-urls": client,
      "listen-peer-urls": peer,
      "initial-advertise-peer-urls": peer,
      "initial-cluster": `default=${peer}`,
    }),
  });
  return client;
}

function startControllers(request: {
  readonly processes: Processes;
  readonly binary: string;
  readonly folder: string;
  readonly adminKubeconfig: string;
  readonly managerPort: number;
}): void {
  const { processes, binary, folder, adminKubeconfig, managerPort } = request;
  processes.start({
    name: "kube-controller-manager",
    stopSignal: "SIGKILL",
    command: binary,
    env: goEnvironment(),
    args: flags({
      kubeconfig: adminKubeconfig,
      controllers: CONTROLLERS.join(","),
      "leader-elect": false,
      "bind-address": "127.0.0.1",
      "secure-port": managerPort,
      "cert-dir": folder,
    }),
  });
}
