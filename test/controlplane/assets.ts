/**
 * etcd, kube-apiserver and kubectl that setup-envtest (controller-runtime) has put on this machine. There is no
 * kube-controller-manager among them, and no Cluster API.
 */
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { gte, parse, rcompare, type SemVer } from "semver";

/** Older API servers do not know all that the CRDs use (docs/compatibility.md). */
const OLDEST = "1.33.0";

const ARCHITECTURES: Partial<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

type Asset = "etcd" | "kube-apiserver" | "kubectl";

/** In $KUBEBUILDER_ASSETS, which setup-envtest and its users agree on: chosen for this run, of whatever version. */
export function assetOf(name: Asset): string | undefined {
  return fileIn(process.env["KUBEBUILDER_ASSETS"], name);
}

/** The same, or in the newest of the folders of setup-envtest: downloaded some time for some project. */
export function downloadedAsset(name: Asset): string | undefined {
  return process.env["KUBEBUILDER_ASSETS"] ? assetOf(name) : fileIn(newestFolder(), name);
}

function fileIn(folder: string | undefined, name: Asset): string | undefined {
  const file = folder && join(folder, name);
  return file && existsSync(file) ? file : undefined;
}

/** `setup-envtest use` makes k8s/1.36.0-linux-amd64 and the like (its store's default, as of v0.24). */
function newestFolder(): string | undefined {
  const store = join(dataHome(), "kubebuilder-envtest", "k8s");
  const suffix = `-${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`;
  const versions = namesIn(store)
    .filter((name) => name.endsWith(suffix))
    .map((name) => parse(name.slice(0, -suffix.length)))
    .filter((version): version is SemVer => version !== null && gte(version, OLDEST));
  const [newest] = versions.toSorted(rcompare);
  return newest && join(store, `${newest.version}${suffix}`);
}

function dataHome(): string {
  return process.env["XDG_DATA_HOME"] || join(homedir(), ".local", "share");
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
