/**
 * Installed, upgraded, moved and deleted by the real clusterctl, from a local repository, beside the real Cluster API
 * manager. cert-manager, which clusterctl wants to find, is there by its definitions only: there is no kubelet.
 */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { stringify } from "yaml";
import metadata from "../../package.json" with { type: "json" };
import { FLAGS } from "../../src/operator/options.ts";
import { type KubeObject, objectsOf, type Ref } from "../controlplane/client.ts";
import { type ClusterApi, installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { ClusterctlRepository } from "./clusterctl-repository.ts";
import {
  certManagerDefinition,
  clusterctlIn,
  IMAGE,
  kustomizeWith,
  NAMESPACE,
  output,
  ROOT,
} from "./tools.ts";

const PROVIDER = "runtime-extension-hookpolicy";
const FIRST = `v${metadata.version}`;
const NEXT = FIRST.replace(/\d+$/, (patch) => String(Number(patch) + 1));
const CRDS = ["hookpolicies", "clusterhookpolicies", "hookoverrides", "hookrollouts", "hooktasks"].map(
  (name) => `${name}.hookpolicy.dev`,
);

const DEPLOYMENT: Ref = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  name: "hookpolicy",
  namespace: NAMESPACE,
};

const EXTENSION: Ref = {
  apiVersion: "runtime.cluster.x-k8s.io/v1beta2",
  kind: "ExtensionConfig",
  name: "hookpolicy",
};

describe("with clusterctl", () => {
  let cp: ControlPlane;
  let capi: ClusterApi;
  let repository: ClusterctlRepository;
  let config: string;

  before(async () => {
    cp = await startControlPlane();
    repository = new ClusterctlRepository(cp.folder);
    capi = await installClusterApi(cp);
    await cp.apply(["Issuer", "Certificate"].map(certManagerDefinition));
    config = await writeRepositories();
    // Its manager runs already, as a process.
    await clusterctl("init", "--core", "cluster-api", "--bootstrap", "-", "--control-plane", "-");
  });
  after(async () => await cp?.stop());

  const clusterctl = async (...args: readonly string[]): Promise<string> =>
    await clusterctlIn(cp, config, ...args);

  /** As docs/install.md has it: one folder per version, with the two files of the release. */
  async function writeRepositories(): Promise<string> {
    const components = await releasedComponents();
    const release = await readFile(join(ROOT, "manifests/clusterctl/metadata.yaml"), "utf8");
    await repository.write(PROVIDER, FIRST, {
      "runtime-extension-components.yaml": components,
      "metadata.yaml": release,
    });
    const hookpolicy = {
      name: "hookpolicy",
      type: "RuntimeExtensionProvider",
      url: repository.url(PROVIDER, FIRST, "runtime-extension"),
    };
    return await repository.writeConfig([hookpolicy, await repository.writeCore(capi.version)]);
  }

  /** As release/release.ts renders it. */
  async function releasedComponents(): Promise<string> {
    const objects = await kustomizeWith(join(cp.folder, "overlay"), ["clusterctl"]);
    return objects.map((object) => stringify(object)).join("---\n");
  }

  const argsOf = async (): Promise<readonly string[]> =>
    (await cp.get(DEPLOYMENT))["spec"].template.spec.containers[0].args;

  const crdsLeft = async (): Promise<string[]> =>
    (await cp.kubectl("get", "crd", "-o", "jsonpath={.items[*].metadata.name}"))
      .split(" ")
      .filter((name) => CRDS.includes(name));

  test("generate provider fills in the Cluster API version, which is the newest by default", async () => {
    const args = ["generate", "provider", "--runtime-extension", "hookpolicy"];
    const versionIn = (printed: string): string | undefined => /--capi-version=(.*)$/m.exec(printed)?.[1];
    assert.equal(versionIn(await clusterctl(...args)), FLAGS["capi-version"].default);
    assert.match(await clusterctl(...args, "--describe"), /HOOKPOLICY_CAPI_VERSION/);
  });

  test("init installs it as a provider", async () => {
    await clusterctl("init", "--runtime-extension", "hookpolicy");
    const { labels } = (await cp.get(EXTENSION)).metadata;
    assert.equal(labels?.["cluster.x-k8s.io/provider"], PROVIDER);
    assert.ok((await argsOf()).includes(`--capi-version=${FLAGS["capi-version"].default}`));
    const provider = await cp.get({
      apiVersion: "clusterctl.cluster.x-k8s.io/v1alpha3",
      kind: "Provider",
      name: PROVIDER,
      namespace: NAMESPACE,
    });
    assert.deepEqual([provider["type"], provider["version"]], ["RuntimeExtensionProvider", FIRST]);
    for (const ref of FOREGROUND) assert.ok(await cp.find(ref), ref.kind);
  });

  test("upgrade plan finds a newer version, and upgrade apply installs it", async () => {
    const folder = join(cp.folder, "repository", PROVIDER);
    const read = (name: string): string => readFileSync(join(folder, FIRST, name), "utf8");
    const components = read("runtime-extension-components.yaml").replaceAll(
      `${IMAGE}:${metadata.version}`,
      `${IMAGE}:${NEXT.slice(1)}`,
    );
    await repository.write(PROVIDER, NEXT, {
      "runtime-extension-components.yaml": components,
      "metadata.yaml": read("metadata.yaml"),
    });
    assert.match(
      await clusterctl("upgrade", "plan"),
      new RegExp(`${PROVIDER} +\\S+ +\\S+ +${FIRST} +${NEXT}`),
    );
    const { uid } = (await cp.get(EXTENSION)).metadata;
    await clusterctl("upgrade", "apply", "--runtime-extension", `${NAMESPACE}/hookpolicy:${NEXT}`);
    const [container] = (await cp.get(DEPLOYMENT))["spec"].template.spec.containers;
    assert.equal(container.image, `${IMAGE}:${NEXT.slice(1)}`);
    assert.deepEqual(await crdsLeft(), CRDS.toSorted());
    // clusterctl upgrades by deleting, but spares objects of a provider's kinds. Without an ExtensionConfig, for a
    // moment, hooks would hold nothing.
    assert.equal((await cp.get(EXTENSION)).metadata.uid, uid);
  });

  test("move takes policies and overrides along", async () => {
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } });
    await cp.apply(MOVED);
    const folder = join(cp.folder, "moved");
    await mkdir(folder);
    await clusterctl("move", "--namespace", "team-a", "--to-directory", folder);
    const moved = globSync("*", { cwd: folder }).flatMap((file) =>
      objectsOf(readFileSync(join(folder, file), "utf8")),
    );
    assert.deepEqual(moved.map(({ kind }) => kind).toSorted(), MOVED.map(({ kind }) => kind).toSorted());
  });

  test("prepare-uninstall and delete leave the CRDs and the policies in them", async () => {
    // No Pod runs here, so that nothing says what the operator holds.
    const args = [join(ROOT, "dist/main.js"), "prepare-uninstall", "--yes", "--release-held-clusters"];
    await output(process.execPath, args, { KUBECONFIG: cp.adminKubeconfig });
    assert.equal(await cp.find(EXTENSION), undefined, "clusterctl would leave it behind");
    await clusterctl("delete", "--runtime-extension", "hookpolicy");
    await cp.waitFor("the Deployment to go", async () => (await cp.find(DEPLOYMENT)) === undefined);
    assert.deepEqual(await crdsLeft(), CRDS.toSorted());
    for (const ref of FOREGROUND) assert.equal(await cp.find(ref), undefined, ref.kind);
  });
});

/** clusterctl does not know that these kinds are cluster-scoped. */
const FOREGROUND = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].map((kind) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  name: "hookpolicy-refuse-foreground-deletion",
}));

const RULES = [{ name: "seen", hooks: ["AfterClusterUpgrade"] }];
const MOVED: readonly KubeObject[] = [
  {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    metadata: { name: "watch", namespace: "team-a" },
    spec: { rules: RULES },
  },
  {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "ClusterHookPolicy",
    metadata: { name: "watch" },
    spec: { namespaceSelector: {}, rules: RULES },
  },
  {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookOverride",
    metadata: { name: "once" },
    spec: {
      clusterRef: { namespace: "team-a", name: "prod-1" },
      hooks: ["BeforeClusterDelete"],
      reason: "lost",
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    },
  },
];
