/** Finds the real programs of a control plane, or builds them once from the Go modules beside this file. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { assetOf, downloadedAsset } from "./assets.ts";
import { build, type Progress, withLock } from "./gobuild.ts";

const run = promisify(execFile);

/** `kubectl kustomize` and everything asked of it here have been stable for longer than this. */
const MIN_KUBECTL_MINOR = 28;

const PARTS = {
  etcd: { module: "etcd", main: "go.etcd.io/etcd/server/v3", seconds: 45 },
  "kube-apiserver": { module: "kubernetes", main: "k8s.io/kubernetes/cmd/kube-apiserver", seconds: 240 },
  "kube-controller-manager": {
    module: "kubernetes",
    main: "k8s.io/kubernetes/cmd/kube-controller-manager",
    seconds: 60,
  },
  kubectl: { module: "kubernetes", main: "k8s.io/kubernetes/cmd/kubectl", seconds: 30 },
  "cluster-api": { module: "cluster-api", main: "sigs.k8s.io/cluster-api/core", seconds: 120 },
  clusterctl: { module: "cluster-api", main: "sigs.k8s.io/cluster-api/cmd/clusterctl", seconds: 60 },
  helm: { module: "helm", main: "helm.sh/helm/v4/cmd/helm", seconds: 180 },
  prometheus: {
    module: "prometheus",
    main: "github.com/prometheus/prometheus/cmd/prometheus",
    seconds: 60,
  },
  promtool: { module: "prometheus", main: "github.com/prometheus/prometheus/cmd/promtool", seconds: 150 },
  gitops: { module: "gitops", main: ".", seconds: 100 },
  krew: { module: "krew", main: "sigs.k8s.io/krew/cmd/krew", seconds: 40 },
  "validate-krew-manifest": {
    module: "krew",
    main: "sigs.k8s.io/krew/cmd/validate-krew-manifest",
    seconds: 10,
  },
  peer: { module: "peer", main: ".", seconds: 60 },
  load: { module: "load", main: ".", seconds: 10 },
} as const;

type Part = keyof typeof PARTS;
type ModuleName = (typeof PARTS)[Part]["module"];

interface Module {
  readonly folder: string;
  /** The module whose version names the build. */
  readonly path: string;
  readonly version: string;
  readonly cache: string;
  readonly ldflags: string;
  readonly tags?: string;
}

export interface ControlPlaneBinaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubectl: string;
}

export interface ClusterApiBinaries {
  readonly manager: string;
  readonly version: string;
  /** YAML of `core/config/default`, as Cluster API's own release would be made from it. */
  readonly manifests: string;
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
  const { version, cache } = moduleOf("cluster-api");
  const manifests = join(cache, "core.yaml");
  if (!existsSync(manifests)) await withLock(cache, () => renderManifests(manifests, progress), progress);
  return { manager, version, manifests: readFileSync(manifests, "utf8") };
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
  const { stdout } = await run("go", ["mod", "download", "-json", path], { cwd: folder });
  const module: { readonly Dir: string } = JSON.parse(stdout);
  return join(module.Dir, "example/prometheus-operator-crd");
}

/** Of test/controlplane/gitops: what Flux and Argo CD make of objects. */
export async function gitopsBinary(progress?: Progress): Promise<string> {
  return await built("gitops", progress);
}

/** What installs plugins of kubectl, and what its index asks of their manifests. */
export async function krewBinaries(
  progress?: Progress,
): Promise<{ readonly krew: string; readonly validate: string }> {
  return { krew: await built("krew", progress), validate: await built("validate-krew-manifest", progress) };
}

/** Of bench/: the server that HookPolicy is compared with, and what calls both. */
export async function benchBinaries(
  progress?: Progress,
): Promise<{ readonly peer: string; readonly load: string; readonly clusterApi: string }> {
  const clusterApi = moduleOf("peer").version;
  return { peer: await built("peer", progress), load: await built("load", progress), clusterApi };
}

async function kubectlBinary(progress?: Progress): Promise<string> {
  const asset = assetOf("kubectl");
  if (asset !== undefined) return asset;
  const host = await hostKubectlMinor();
  if (host !== undefined && host >= MIN_KUBECTL_MINOR) return "kubectl";
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
  const { folder, cache, version, ...options } = moduleOf(module);
  const target = join(cache, part);
  if (existsSync(target)) return target;
  await withLock(
    cache,
    async () => {
      if (existsSync(target)) return; // another process built it while we waited
      const title = `${part} ${version.replace(/^v/, "")}`;
      await build({ title, seconds, folder, main, target, ...options }, progress);
    },
    progress,
  );
  return target;
}

async function renderManifests(target: string, progress?: Progress): Promise<void> {
  if (existsSync(target)) return;
  const { folder, path } = moduleOf("cluster-api");
  const kubectl = await kubectlBinary(progress);
  const list = await run("go", ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path], { cwd: folder });
  const { stdout } = await run(kubectl, ["kustomize", join(list.stdout.trim(), "core/config/default")], {
    maxBuffer: 64 * 1024 * 1024,
  });
  await mkdir(dirname(target), { recursive: true });
  await writeFile(`${target}.new`, stdout);
  await rename(`${target}.new`, target);
}

function moduleOf(name: ModuleName): Module {
  const folder = join(import.meta.dirname, isBench(name) ? "../../bench" : ".", name);
  const goMod = readFileSync(join(folder, "go.mod"), "utf8");
  const path = {
    etcd: "go.etcd.io/etcd/server/v3",
    kubernetes: "k8s.io/kubernetes",
    "cluster-api": "sigs.k8s.io/cluster-api",
    helm: "helm.sh/helm/v4",
    prometheus: "github.com/prometheus/prometheus",
    gitops: "github.com/fluxcd/cli-utils",
    krew: "sigs.k8s.io/krew",
    peer: "sigs.k8s.io/cluster-api",
    load: "github.com/valyala/fasthttp",
  }[name];
  const version = versionOf(path, goMod);
  const ldflags = `-s -w ${stamp(name, version)}`.trim();
  const hash = createHash("sha256")
    .update(goMod)
    .update(readFileSync(join(folder, "go.sum")))
    .update(ldflags);
  for (const source of globSync("*.go", { cwd: folder }).toSorted())
    hash.update(readFileSync(join(folder, source)));
  const key = `${name}-${version}-${process.platform}-${process.arch}-${hash.digest("hex").slice(0, 12)}`;
  const tags = name === "prometheus" ? { tags: "remove_all_sd" } : {};
  return { folder, path, version, ldflags, ...tags, cache: join(cacheRoot(), key) };
}

function isBench(name: ModuleName): boolean {
  return name === "peer" || name === "load";
}

function cacheRoot(): string {
  const base = process.env["XDG_CACHE_HOME"];
  return join(
    base === undefined || base === "" ? join(homedir(), ".cache") : base,
    "hookpolicy",
    "control-plane",
  );
}

function versionOf(path: string, goMod: string): string {
  const line = goMod.split("\n").find((l) =>
    l
      .replace(/^require/, "")
      .trim()
      .startsWith(`${path} v`),
  );
  const version =
    line === undefined ? undefined : /\bv\S+/.exec(line.slice(line.indexOf(`${path} `) + path.length))?.[0];
  if (version === undefined) throw new Error(`go.mod names no version of ${path}`);
  return version;
}

/** Without it kube-apiserver calls itself v0.0.0, and clients refuse to talk to something that old. */
function stamp(name: ModuleName, version: string): string {
  const [major, minor] = version.slice(1).split(".");
  const fields = [
    ["gitVersion", version],
    ["gitMajor", major],
    ["gitMinor", minor],
  ];
  const set = (target: string): string =>
    fields.map(([field, value]) => `-X ${target}.${field}=${value}`).join(" ");
  return {
    etcd: "", // its version is a constant
    kubernetes: set("k8s.io/component-base/version"),
    "cluster-api": set("sigs.k8s.io/cluster-api/version"),
    helm: `-X helm.sh/helm/v4/internal/version.version=${version}`,
    prometheus: `-X github.com/prometheus/common/version.Version=${version}`,
    gitops: "",
    krew: "",
    peer: "",
    load: "",
  }[name];
}
