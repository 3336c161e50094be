/** The programs that are built once from the Go modules beside this file, and where the cache keeps them. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const PARTS = {
  etcd: { module: "etcd", main: "go.etcd.io/etcd/server/v3", seconds: 45 },
  "kube-apiserver": { module: "kubernetes", main: "k8s.io/kubernetes/cmd/kube-apiserver", seconds: 240 },
  "kube-controller-manager": {
    module: "kubernetes",
    main: "k8s.io/kubernetes/cmd/kube-controller-manager",
    seconds: 60,
  },
  "kube-scheduler": { module: "kubernetes", main: "k8s.io/kubernetes/cmd/kube-scheduler", seconds: 30 },
  kubelet: { module: "kubernetes", main: "k8s.io/kubernetes/cmd/kubelet", seconds: 40 },
  "kube-proxy": { module: "kubernetes", main: "k8s.io/kubernetes/cmd/kube-proxy", seconds: 25 },
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
  containerd: {
    module: "containerd",
    main: "github.com/containerd/containerd/v2/cmd/containerd",
    seconds: 70,
  },
  "containerd-shim-runc-v2": {
    module: "containerd",
    main: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
    seconds: 10,
  },
  ctr: { module: "containerd", main: "github.com/containerd/containerd/v2/cmd/ctr", seconds: 10 },
  bridge: { module: "cni", main: "github.com/containernetworking/plugins/plugins/main/bridge", seconds: 20 },
  loopback: {
    module: "cni",
    main: "github.com/containernetworking/plugins/plugins/main/loopback",
    seconds: 5,
  },
  "host-local": {
    module: "cni",
    main: "github.com/containernetworking/plugins/plugins/ipam/host-local",
    seconds: 5,
  },
  portmap: { module: "cni", main: "github.com/containernetworking/plugins/plugins/meta/portmap", seconds: 5 },
  coredns: { module: "addons", main: "./coredns", seconds: 20, path: "github.com/coredns/coredns" },
  "network-policies": {
    module: "addons",
    main: "./network-policies",
    seconds: 10,
    path: "sigs.k8s.io/kube-network-policies",
  },
  "cert-manager": {
    module: "addons",
    main: "./cert-manager",
    seconds: 150,
    path: "github.com/cert-manager/cert-manager",
  },
} as const;

export type Part = keyof typeof PARTS;
type ModuleName = (typeof PARTS)[Part]["module"];

interface Module {
  readonly folder: string;
  /** The module whose version names the build. */
  readonly path: string;
  readonly version: string;
  readonly cache: string;
  readonly ldflags: string;
  readonly tags: string;
  readonly gcflags: string;
}

/** Left out: what needs libraries of the system, or brings the client of every cloud. */
const TAGS: Partial<Record<ModuleName, string>> = {
  "cluster-api": "netgo,osusergo", // nothing in C is compiled
  prometheus: "remove_all_sd",
  containerd: "no_btrfs,no_devmapper,no_zfs,no_rdt,no_tracing,nri_no_wasm",
};

/**
 * Without inlining, Cluster API is compiled in an eighth less time, which is most of the time of a first
 * `make demo`; tests take as long as before.
 */
const GCFLAGS: Partial<Record<ModuleName, string>> = { "cluster-api": "-l" };

/** The one that its users know it by. */
export function versionOfPart(part: Part): string {
  const spec = PARTS[part];
  return "path" in spec ? versionOf(spec.path, goModOf(spec.module)) : moduleOf(spec.module).version;
}

export function moduleOf(name: ModuleName): Module {
  const folder = folderOf(name);
  const goMod = goModOf(name);
  const path = {
    etcd: "go.etcd.io/etcd/server/v3",
    kubernetes: "k8s.io/kubernetes",
    "cluster-api": "sigs.k8s.io/cluster-api",
    helm: "helm.sh/helm/v4",
    prometheus: "github.com/prometheus/prometheus",
    containerd: "github.com/containerd/containerd/v2",
    cni: "github.com/containernetworking/plugins",
    addons: "k8s.io/client-go",
    gitops: "github.com/fluxcd/cli-utils",
    krew: "sigs.k8s.io/krew",
    peer: "sigs.k8s.io/cluster-api",
    load: "github.com/valyala/fasthttp",
  }[name];
  const version = versionOf(path, goMod);
  const ldflags = `-s -w ${stamp(name, version)}`.trim();
  const [tags, gcflags] = [TAGS[name] ?? "", GCFLAGS[name] ?? ""];
  const hash = createHash("sha256")
    .update(goMod)
    .update(readFileSync(join(folder, "go.sum")));
  hash.update(ldflags).update(tags).update(gcflags);
  for (const source of globSync(name === "addons" ? "*/*.go" : "*.go", { cwd: folder }).toSorted())
    hash.update(readFileSync(join(folder, source)));
  const key = `${name}-${version}-${process.platform}-${process.arch}-${hash.digest("hex").slice(0, 12)}`;
  return { folder, path, version, ldflags, tags, gcflags, cache: join(cacheRoot(), key) };
}

function folderOf(name: ModuleName): string {
  return join(import.meta.dirname, isBench(name) ? "../../bench" : ".", name);
}

function goModOf(name: ModuleName): string {
  return readFileSync(join(folderOf(name), "go.mod"), "utf8");
}

function isBench(name: ModuleName): boolean {
  return name === "peer" || name === "load";
}

export function cacheRoot(): string {
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
    containerd: `-X github.com/containerd/containerd/v2/version.Version=${version}`,
    cni: "",
    addons: "",
    gitops: "",
    krew: "",
    peer: "",
    load: "",
  }[name];
}
