import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CertificateAuthority, serviceAccountKey } from "./certificates.ts";
import { Client } from "./client.ts";
import { type Daemon, flags, type Processes, goEnvironment } from "./processes.ts";
import { waitFor } from "./waits.ts";

export interface ApiServer {
  /** https://127.0.0.1:port; stays the same over stop() and start(). */
  readonly url: string;
  readonly port: number;
  readonly running: () => boolean;
  /**
   * SIGKILL for a crash. SIGTERM stops listening at once and leaves open watches two more seconds.
   * Resolves when the process has ended.
   */
  readonly stop: (signal?: "SIGTERM" | "SIGKILL") => Promise<void>;
  /** Same port, same data; resolves when it is ready. */
  readonly start: () => Promise<void>;
  /** SIGSTOP and SIGCONT: connections stay open, nothing answers. */
  readonly freeze: () => void;
  readonly thaw: () => void;
}

export interface ApiServerRequest {
  readonly processes: Processes;
  readonly binary: string;
  readonly folder: string;
  readonly authority: CertificateAuthority;
  readonly port: number;
  readonly etcdUrl: string;
  /** Of the one user in the token file, a member of system:masters. */
  readonly token: string;
  readonly args: readonly string[];
}

/** On SIGTERM it stops listening at once, but then waits up to a minute for clients to end their watches. */
const GRACE_MS = 2_000;

/** Returns as soon as the process runs; ready() tells when it answers. */
export async function startApiServer(
  request: ApiServerRequest,
): Promise<ApiServer & { readonly ready: () => Promise<void> }> {
  const { processes, authority, port, token } = request;
  const args = await prepare(request);
  const url = `https://127.0.0.1:${port}`;
  const launch = (): Daemon =>
    processes.start({
      name: "kube-apiserver",
      command: request.binary,
      env: goEnvironment(),
      args: [...args, ...request.args],
      stopSignal: "SIGKILL",
      graceMs: GRACE_MS,
    });
  let daemon = launch();
  const ready = async (): Promise<void> => {
    const client = new Client({ url, ca: authority.certificate, token });
    const probe = async (): Promise<boolean> => (await client.request("GET", "/readyz")) === "ok";
    const options = { everyMs: 50, failure: processes.failure };
    await waitFor("kube-apiserver to be ready", probe, options).finally(() => client.close());
  };
  return {
    url,
    port,
    ready,
    running: () => daemon.running(),
    stop: async (signal = "SIGTERM") => await daemon.stop(signal),
    start: async () => {
      if (!daemon.running()) daemon = launch();
      await ready();
    },
    freeze: () => daemon.signal("SIGSTOP"),
    thaw: () => daemon.signal("SIGCONT"),
  };
}

async function prepare(request: ApiServerRequest): Promise<string[]> {
  const { folder, authority, port, etcdUrl, token } = request;
  const file = (name: string): string => join(folder, name);
  const serving = await authority.issue({
    commonName: "kube-apiserver",
    names: ["localhost", "127.0.0.1", "kubernetes.default.svc"],
  });
  await writeFile(file("apiserver.crt"), serving.certificate);
  await writeFile(file("apiserver.key"), serving.key, { mode: 0o600 });
  await writeFile(file("service-accounts.key"), serviceAccountKey(), { mode: 0o600 });
  await writeFile(file("tokens.csv"), `${token},admin,admin,system:masters\n`, { mode: 0o600 });
  return flags({
    "etcd-servers": etcdUrl,
    "secure-port": port,
    "bind-address": "127.0.0.1",
    "advertise-address": "127.0.0.1",
    "cert-dir": folder,
    "tls-cert-file": file("apiserver.crt"),
    "tls-private-key-file": file("apiserver.key"),
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": file("service-accounts.key"),
    "service-account-signing-key-file": file("service-accounts.key"),
    "service-cluster-ip-range": "10.0.0.0/24",
    "authorization-mode": "RBAC",
    "token-auth-file": file("tokens.csv"),
    // Nothing here runs Pods, and without its controller no Namespace has the account it asks for.
    "disable-admission-plugins": "ServiceAccount",
  });
}
