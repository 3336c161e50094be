/** Finds the real programs of a control plane, or builds them once from the Go modules beside this file. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { assetOf, downloadedAsset } from "./assets.ts";
import { type KubeObject, objectsOf } from "./client.ts";
import { build, type Progress, withLock } from "./go-build.ts";
import { moduleOf, type Part, PARTS, versionOfPart } from "./parts.ts";

const run = promisify(execFile);

/** `kubectl kustomize` and everything asked of it here have been stable for longer than this. */
const MIN_KUBECTL_MINOR = 28;
/** What the host's kubectl says of itself, for the processes that this one starts. */
const HOST_KUBECTL = "HOOKPOLICY_TEST_HOST_KUBECTL";

export interface ControlPlaneBinaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubectl: string;
}

export interface ClusterApiBinaries {
  readonly manager: string;
  readonly version: string;
  readonly manifests: readonly KubeObject[];
}

/** `anyVersion`: what was downloaded once (see assets.ts) is taken before anything is built. */
export async function controlPlaneBinaries({
  progress,
  anyVersion = false,
}: {
  readonly progress?: Progress | undefined;
  readonly anyVersion?: boolean | undefined;
} = {}): Promise<ControlPlaneBinaries> {
  const there = anyVersion ? downloadedAsset : assetOf;
  const etcd = there("etcd") ?? (await built("etcd", progress));
  const kubeApiserver = there("kube-apiserver") ?? (await built("kube-apiserver", progress));
  return { etcd, kubeApiserver, kubectl: await kubectlBinary(progress) };
}

export async function controllerManagerBinary(progress?: Progress): Promise<string> {
  return await built("kube-controller-manager", progress);
}

/** What the tests need, one after the other: otherwise each file that comes to one waits for it. */
export async function buildAll(progress?: Progress): Promise<void> {
  await controlPlaneBinaries({ progress });
  await controllerManagerBinary(progress);
  await clusterApiBinaries(progress);
  await clusterctlBinary(progress);
  await helmBinary(progress);
  await prometheusBinaries(progress);
  await gitopsBinary(progress);
  await krewBinaries(progress);
}

export async function clusterApiBinaries(progress?: Progress): Promise<ClusterApiBinaries> {
  const manager = await built("cluster-api", progress);
  const { version } = moduleOf("cluster-api");
  return { manager, version, manifests: await clusterApiManifests(progress) };
}

/**
 * `core/config/default`, as Cluster API's own release would be made from it, without the descriptions of schemas. There
 * long before the manager, where that has to be built.
 */
export async function clusterApiManifests(progress?: Progress): Promise<readonly KubeObject[]> {
  const file = join(moduleOf("cluster-api").cache, "core.json");
  if (!existsSync(file)) await renderManifests(file, progress);
  return JSON.parse(await readFile(file, "utf8")) as readonly KubeObject[];
}

/** Of the same version as the manager. */
export async function clusterctlBinary(progress?: Progress): Promise<string> {
  return await built("clusterctl", progress);
}

export async function helmBinary(progress?: Progress): Promise<string> {
  return await built("helm", progress);
}

/** Prometheus scrapes and answers; without the discovery of any cloud, and without its pages. */
export async function prometheusBinaries(
  progress?: Progress,
): Promise<{ readonly prometheus: string; readonly promtool: string }> {
  return { promtool: await built("promtool", progress), prometheus: await built("prometheus", progress) };
}

/** The folder with a file of YAML for each CRD of the Prometheus Operator. */
export async function prometheusOperatorCrds(): Promise<string> {
  const folder = join(import.meta.dirname, "prometheus-operator");
  const path = "github.com/prometheus-operator/prometheus-operator";
  return join(await sourceOf(path, folder), "example/prometheus-operator-crd");
}

/** Of test/controlplane/gitops: what Flux and Argo CD make of objects. */
export async function gitopsBinary(progress?: Progress): Promise<string> {
  return await built("gitops", progress);
}

/** What a node runs besides the control plane's programs (test/cluster). */
const NODE_PARTS = [
  "kube-scheduler",
  "kube-controller-manager",
  "kubelet",
  "kube-proxy",
  "containerd",
  "containerd-shim-runc-v2",
  "ctr",
  "bridge",
  "loopback",
  "host-local",
  "portmap",
  "coredns",
  "network-policies",
] as const satisfies readonly Part[];

export type NodeBinaries = Readonly<Record<(typeof NODE_PARTS)[number], string>>;

export async function nodeBinaries(progress?: Progress): Promise<NodeBinaries> {
  const found: [string, string][] = [];
  for (const part of NODE_PARTS) found.push([part, await built(part, progress)]);
  return Object.fromEntries(found) as NodeBinaries;
}

/** Of test/controlplane/addons/cert-manager: its three programs in one, and the folder of the chart that runs them. */
export async function certManagerBinary(
  progress?: Progress,
): Promise<{ readonly program: string; readonly chart: string }> {
  const program = await built("cert-manager", progress);
  const source = await sourceOf("github.com/cert-manager/cert-manager", moduleOf("addons").folder);
  return { program, chart: join(source, "deploy/charts/cert-manager") };
}

/** What installs plugins of kubectl, and what its index asks of their manifests. */
export async function krewBinaries(
  progress?: Progress,
): Promise<{ readonly krew: string; readonly validate: string }> {
  return { krew: await built("krew", progress), validate: await built("validate-krew-manifest", progress) };
}

/** The server that the bench compares HookPolicy with, and the version of Cluster API in it. */
export async function benchPeer(
  progress?: Progress,
): Promise<{ readonly program: string; readonly version: string }> {
  return { program: await built("peer", progress), version: moduleOf("peer").version };
}

/** The program that calls hooks in the bench. */
export async function loadGenerator(progress?: Progress): Promise<string> {
  return await built("load", progress);
}

async function kubectlBinary(progress?: Progress): Promise<string> {
  const asset = assetOf("kubectl");
  if (asset !== undefined) return asset;
  process.env[HOST_KUBECTL] ??= String(await hostKubectlMinor());
  if (Number(process.env[HOST_KUBECTL]) >= MIN_KUBECTL_MINOR) return "kubectl";
  return downloadedAsset("kubectl") ?? (await built("kubectl", progress));
}

async function hostKubectlMinor(): Promise<number | undefined> {
  try {
    const { stdout } = await run("kubectl", ["version", "--client", "--output", "json"]);
    const answer: { clientVersion: { major: string; minor: string } } = JSON.parse(stdout);
    const { clientVersion } = answer;
    return clientVersion.major === "1" ? Number.parseInt(clientVersion.minor, 10) : undefined;
  } catch {
    return undefined; // absent or broken: ours is built instead
  }
}

async function built(part: Part, progress?: Progress): Promise<string> {
  const { module, main, seconds } = PARTS[part];
  const { folder, cache, ...options } = moduleOf(module);
  const target = join(cache, part);
  if (existsSync(target)) return target;
  await withLock(
    cache,
    async () => {
      if (existsSync(target)) return; // another process built it while we waited
      const title = `${part} ${versionOfPart(part).replace(/^v/, "")}`;
      await build({ title, seconds, folder, main, target, ...options }, progress);
    },
    progress,
  );
  return target;
}

/** Should two do it at once, the later rename replaces a file by an equal one. */
async function renderManifests(target: string, progress?: Progress): Promise<void> {
  const { folder, path } = moduleOf("cluster-api");
  const kubectl = await kubectlBinary(progress);
  const { stdout } = await run(
    kubectl,
    ["kustomize", join(await sourceOf(path, folder), "core/config/default")],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  await mkdir(dirname(target), { recursive: true });
  await writeFile(`${target}.${process.pid}.new`, withoutDescriptions(objectsOf(stdout)));
  await rename(`${target}.${process.pid}.new`, target);
}

/** Nine tenths of a schema. They change no answer, and the API server copies and merges schemas again and again. */
function withoutDescriptions(objects: readonly KubeObject[]): string {
  return JSON.stringify(objects, (key, value: unknown) =>
    key === "description" && typeof value === "string" ? undefined : value,
  );
}

/** The folder with the source of a module, which is downloaded first. */
async function sourceOf(path: string, folder: string): Promise<string> {
  const { stdout } = await run("go", ["mod", "download", "-json", path], { cwd: folder });
  const { Dir }: { readonly Dir: string } = JSON.parse(stdout);
  return Dir;
}
