/** Which etcd and kube-apiserver are taken before any is built. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { assetOf, downloadedAsset } from "../../controlplane/assets.ts";

const ARCH = process.arch === "arm64" ? "arm64" : "amd64";

let data: string;
const inherited = { ...process.env };
before(() => {
  data = mkdtempSync(join(tmpdir(), "hookpolicy-assets-"));
  process.env["XDG_DATA_HOME"] = data;
  delete process.env["KUBEBUILDER_ASSETS"];
});
after(() => {
  for (const name of ["XDG_DATA_HOME", "KUBEBUILDER_ASSETS"]) {
    const value = inherited[name];
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  rmSync(data, { recursive: true });
});

/** As setup-envtest lays them out. */
function install(version: string, ...programs: readonly string[]): string {
  const folder = join(data, "kubebuilder-envtest", "k8s", version);
  mkdirSync(folder, { recursive: true });
  for (const name of programs) writeFileSync(join(folder, name), "");
  return folder;
}

test("where nothing was downloaded there is nothing to take", () => {
  assert.equal(downloadedAsset("etcd"), undefined);
});

test("the newest version for this machine is taken, and none that is too old for the CRDs", () => {
  install(`1.31.0-linux-${ARCH}`, "etcd");
  assert.equal(downloadedAsset("etcd"), undefined);
  install(`1.34.1-linux-${ARCH}`, "etcd", "kube-apiserver");
  const newest = install(`1.36.0-linux-${ARCH}`, "etcd");
  install("1.37.0-linux-s390x", "etcd");
  install("unpacking", "etcd");
  assert.equal(downloadedAsset("etcd"), join(newest, "etcd"));
  assert.equal(assetOf("etcd"), undefined, "the tests' versions are built");
  assert.equal(downloadedAsset("kube-apiserver"), undefined, "all programs are of one version");
});

test("KUBEBUILDER_ASSETS comes first", () => {
  const own = mkdtempSync(join(data, "own-"));
  writeFileSync(join(own, "kube-apiserver"), "");
  process.env["KUBEBUILDER_ASSETS"] = own;
  for (const find of [assetOf, downloadedAsset]) {
    assert.equal(find("kube-apiserver"), join(own, "kube-apiserver"));
    assert.equal(find("etcd"), undefined);
  }
});
