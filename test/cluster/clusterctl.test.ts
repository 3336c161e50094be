/** The release's two files for clusterctl, installed by it: as test/install/clusterctl.test.ts, and the operator runs. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import metadata from "../../package.json" with { type: "json" };
import { clusterApiBinaries } from "../controlplane/binaries.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { ClusterctlRepository } from "../install/clusterctl-repository.ts";
import { certManagerDefinition, clusterctlIn } from "../install/tools.ts";
import { attachCluster } from "./cluster.ts";
import { holdsUntilApproved } from "./held.ts";
import { CRDS, hookpolicy, isInstalled, leftovers, NAMESPACE, nodeOf, replicas } from "./operator-pods.ts";
import { RELEASE } from "./product.ts";

const PROVIDER = "runtime-extension-hookpolicy";
const CERT_MANAGER = ["Issuer", "Certificate"].map(certManagerDefinition);

let cluster: ControlPlane;
let config: string;
before(async () => {
  cluster = await attachCluster();
  // It is enough for clusterctl that cert-manager's kinds are served.
  await cluster.apply(CERT_MANAGER);
  config = await writeRepositories();
});
after(async () => {
  const kinds = CERT_MANAGER.map((definition) => definition.metadata.name);
  await cluster?.kubectl("delete", "crd", ...CRDS, ...kinds, "--ignore-not-found");
  await cluster?.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found");
  await cluster?.stop();
});

const clusterctl = async (...args: readonly string[]): Promise<string> =>
  await clusterctlIn(cluster, config, ...args);

async function writeRepositories(): Promise<string> {
  const repository = new ClusterctlRepository(cluster.folder);
  const version = `v${metadata.version}`;
  const read = async (name: string): Promise<string> => await readFile(join(RELEASE, name), "utf8");
  await repository.write(PROVIDER, version, {
    "runtime-extension-components.yaml": await read("runtime-extension-components.yaml"),
    "metadata.yaml": await read("metadata.yaml"),
  });
  const url = repository.url(PROVIDER, version, "runtime-extension");
  const provider = { name: "hookpolicy", type: "RuntimeExtensionProvider", url };
  const core = await repository.writeCore((await clusterApiBinaries()).version);
  return await repository.writeConfig([provider, core]);
}

test("clusterctl installs the operator, which holds, and removes it after prepare-uninstall", async () => {
  await clusterctl("init", "--core", "cluster-api", "--bootstrap", "-", "--control-plane", "-"); // whose Pod runs already
  await clusterctl("init", "--runtime-extension", "hookpolicy");
  await isInstalled(cluster);
  assert.deepEqual((await replicas(cluster)).map(nodeOf).toSorted(), ["n1", "n2"]);
  await holdsUntilApproved(cluster, "team-ctl");

  await hookpolicy(cluster, "prepare-uninstall", "--yes");
  await clusterctl("delete", "--runtime-extension", "hookpolicy");
  const ofProvider = ["-l", `cluster.x-k8s.io/provider=${PROVIDER}`];
  await cluster.kubectl("delete", "clusterrole,clusterrolebinding", ...ofProvider);
  await cluster.waitFor("nothing to be left", async () => (await leftovers(cluster)).length === 0);
});
