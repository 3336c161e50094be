/** The real Cluster API core manager as a process: its own manifests, minus what needs Pods and cert-manager. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clusterApiBinaries, clusterApiManifests } from "./binaries.ts";
import type { KubeObject, Ref } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Progress } from "./go-build.ts";
import { type Daemon, goEnvironment, flags } from "./processes.ts";
import { freePorts } from "./ports.ts";

const DEFINITION = "CustomResourceDefinition";

/** The rest (Deployment, Service, RBAC, cert-manager's kinds) has no meaning for a process that is an admin. */
const KEPT_KINDS = new Set([
  "Namespace",
  DEFINITION,
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
]);

export const FEATURE_GATES = "ClusterTopology=true,RuntimeSDK=true";

export interface ManagerOptions {
  /** Such as HTTPS_PROXY. The test's own proxy settings are never passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** More flags; of a flag given twice the last wins. */
  readonly args?: readonly string[];
  /** Default: the administrator's. */
  readonly kubeconfig?: string;
}

export interface InstallOptions extends ManagerOptions {
  readonly progress?: Progress;
  /** As createClusterApiDefinitions() was told it, where that came before. */
  readonly webhookPort?: number;
}

export interface ClusterApi {
  readonly version: string;
  /** The manager's process now: its log and pid. */
  readonly daemon: () => Daemon;
  /** SIGTERM unless told otherwise. */
  readonly stop: (signal?: "SIGTERM" | "SIGKILL") => Promise<void>;
  /** With other options than before, when given; resolves when its webhooks answer. */
  readonly start: (options?: ManagerOptions) => Promise<void>;
  readonly restart: (options?: ManagerOptions) => Promise<void>;
}

export async function installClusterApi(cp: ControlPlane, options: InstallOptions = {}): Promise<ClusterApi> {
  const binaries = await clusterApiBinaries(options.progress);
  const [freePort = 0, healthPort = 0, diagnosticsPort = 0] = await freePorts(3);
  const definedFor =
    options.webhookPort ?? (cp.seeded?.name === "clusterApi" ? cp.seeded.webhookPort : undefined);
  const webhookPort = definedFor ?? freePort;
  const certDir = await servingCertificate(cp);
  const missing = binaries.manifests.filter(
    ({ kind }) => KEPT_KINDS.has(kind) && !(definedFor !== undefined && kind === DEFINITION),
  );
  const manifests = localized(missing, webhookPort, cp.authority.caBundle);
  // Its namespace may be there: for an identity that its manager runs with.
  await cp.apply(manifests.filter(({ kind }) => kind === "Namespace"));
  await cp.createAll(manifests.filter(({ kind }) => kind !== "Namespace"));

  let current: ManagerOptions = options;
  const launch = (): Daemon =>
    cp.processes.start({
      name: "cluster-api",
      command: binaries.manager,
      env: goEnvironment(current.env),
      stopSignal: "SIGKILL",
      args: [
        ...flags({
          kubeconfig: current.kubeconfig ?? cp.adminKubeconfig,
          "webhook-cert-dir": certDir,
          "webhook-port": webhookPort,
          "health-addr": `127.0.0.1:${healthPort}`,
          "diagnostics-address": `127.0.0.1:${diagnosticsPort}`,
          "insecure-diagnostics": true,
          "feature-gates": FEATURE_GATES,
        }),
        ...(current.args ?? []),
      ],
    });
  let daemon: Daemon | undefined;
  const start = async (changed?: ManagerOptions): Promise<void> => {
    current = changed ?? current;
    if (daemon?.running() !== true) daemon = launch();
    await cp.waitFor("Cluster API's webhooks to answer", () => answers(healthPort));
  };
  const stop = async (signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> => await daemon?.stop(signal);
  await start();
  return {
    version: binaries.version,
    daemon: () => daemon ?? launch(),
    stop,
    start,
    restart: async (changed) => {
      await stop();
      await start(changed);
    },
  };
}

/** What a manager whose webhooks answer at that port finds defined. */
export async function createClusterApiDefinitions(cp: ControlPlane, webhookPort: number): Promise<void> {
  const manifests = await clusterApiManifests();
  const definitions = manifests.filter(({ kind }) => kind === DEFINITION);
  await cp.createAll(localized(definitions, webhookPort, cp.authority.caBundle));
}

/** One of its definitions, without the webhook that converts between versions: behind it nothing would answer. */
export async function clusterApiDefinition(name: string): Promise<KubeObject> {
  const manifests = await clusterApiManifests();
  const crd = manifests.find(({ kind, metadata }) => kind === DEFINITION && metadata.name === name);
  if (crd === undefined) throw new Error(`Cluster API's manifests define no ${name}`);
  return { ...crd, spec: { ...crd["spec"], conversion: { strategy: "None" } } };
}

/** Only the definition of Cluster: for tests that play Cluster API's part themselves. */
export async function installClusterDefinition(cp: ControlPlane): Promise<void> {
  if (cp.seeded?.name === "cluster") return;
  await cp.apply(await clusterApiDefinition(CLUSTER_DEFINITION.name));
}

export const CLUSTER_DEFINITION: Ref = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: DEFINITION,
  name: "clusters.cluster.x-k8s.io",
};

/** Its readiness check dials its own webhook server (core/main.go, setupChecks). */
async function answers(healthPort: number): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok;
}

async function servingCertificate(cp: ControlPlane): Promise<string> {
  const folder = join(cp.folder, "cluster-api-certificates");
  const { certificate, key } = await cp.authority.issue({ commonName: "cluster-api", names: ["127.0.0.1"] });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "tls.crt"), certificate);
  await writeFile(join(folder, "tls.key"), key, { mode: 0o600 });
  return folder;
}

interface ClientConfig {
  readonly service?: { readonly path: string };
}

/** kube-apiserver cannot reach a Service here, so its webhooks are named by URL. */
export function localized(objects: readonly KubeObject[], port: number, caBundle: string): KubeObject[] {
  const local = ({ service }: ClientConfig): unknown => ({
    url: `https://127.0.0.1:${port}${service?.path ?? ""}`,
    caBundle,
  });
  return objects.map((object) => withLocalWebhooks(object, local));
}

function withLocalWebhooks(object: KubeObject, local: (config: ClientConfig) => unknown): KubeObject {
  const copy = structuredClone(object);
  for (const webhook of copy["webhooks"] ?? []) webhook.clientConfig = local(webhook.clientConfig);
  const conversion = copy["spec"]?.conversion?.webhook;
  if (conversion !== undefined) conversion.clientConfig = local(conversion.clientConfig);
  return copy;
}
