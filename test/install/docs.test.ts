/**
 * docs/install.md, typed by a stranger who has nothing but the page and what `make release` has made: each way to install
 * and to uninstall, against the real API server and the real Cluster API manager.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";
import metadata from "../../package.json" with { type: "json" };
import { FLAGS } from "../../src/operator/options.ts";
import { commandsOf } from "../capi/pages.ts";
import { clusterctlBinary, controlPlaneBinaries, helmBinary } from "../controlplane/binaries.ts";
import { objectsOf } from "../controlplane/client.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { extensionRef, registerExtension } from "../controlplane/extension.ts";
import { startOperator } from "../controlplane/operator.ts";
import { environment } from "../controlplane/processes.ts";
import { DEFINITION_GONE_MS } from "../controlplane/waits.ts";
import { runUninstallJob } from "./job.ts";
import { releaseWorkingTree } from "./releasing.ts";
import { certManagerDefinition, kustomize, NAMESPACE, noTestNamespace, ROOT } from "./tools.ts";

const run = promisify(execFile);

const PAGE = readFileSync(join(ROOT, "docs/install.md"), "utf8");
const ADMISSION = readFileSync(join(ROOT, "docs/admission.md"), "utf8");
const FENCE = /^```(\w*)\n(.*?)^```$/gms;
const IMAGE = `registry.example.com/hookpolicy:${metadata.version}`;
/** Where the page has the provider of clusterctl. */
const REPOSITORY = "/srv/clusterctl";
/** What is not typed here: there are no nodes, no Docker, no kind, and the control plane has its own Cluster API. */
const NOT_TYPED = /^(?:make|docker|kind|kubectl krew|ln -s|kubectl rollout|CLUSTER_TOPOLOGY=true) /;
const OF_HELM = ["take-ownership", "force-conflicts"];
/** Of definitions: what still keeps them. */
const GOING =
  '{range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name}{.metadata.finalizers}{.status.conditions}{"\\n"}{end}';

interface Section {
  readonly title: string;
  readonly text: string;
  readonly commands: readonly string[];
}

const SECTIONS: readonly Section[] = PAGE.split(/^## /m).map((text) => ({
  title: text.slice(0, text.indexOf("\n")),
  text,
  commands: [...text.matchAll(FENCE)]
    .filter(([, language]) => language === "sh")
    .flatMap(([, , block = ""]) => block.trim().split("\n")),
}));

function section(title: string): Section {
  const found = SECTIONS.find((each) => each.title === title);
  assert.ok(found, title);
  return found;
}

function yamlIn(title: string): string {
  const [, , block = ""] =
    [...section(title).text.matchAll(FENCE)].find(([, language]) => language === "yaml") ?? [];
  assert.notEqual(block, "", title);
  return block;
}

/** The command of a section that begins so. */
function typed(title: string, start: string): string {
  const found = section(title).commands.filter((command) => command.startsWith(start));
  assert.equal(found.length, 1, `${title}: ${start}`);
  return found[0] ?? "";
}

test("docs/install.md names flags that hookpolicy has, and files that are there", () => {
  for (const [, flag = ""] of PAGE.matchAll(/`(?:hookpolicy run )?--([a-z-]+)/g)) {
    assert.ok(
      Object.hasOwn(FLAGS, flag) ||
        ["yes", "release-held-clusters", "target-namespace", "help", ...OF_HELM].includes(flag),
      flag,
    );
  }
  for (const [, target = ""] of PAGE.matchAll(/\]\(([^)#]+)/g)) {
    assert.ok(target.startsWith("https:") || existsSync(join(ROOT, "docs", target)), target);
  }
});

test("the patch for clusters that assign users leaves the rest of the Pods' security context", async () => {
  const [, , block = ""] =
    [...section("With kubectl").text.matchAll(FENCE)].find(([text]) => text.includes("runAsUser")) ?? [];
  const folder = await mkdtemp(join(tmpdir(), "hookpolicy-docs-"));
  try {
    const resources = [relative(folder, join(ROOT, "manifests"))];
    await writeFile(join(folder, "kustomization.yaml"), stringify({ resources, ...parse(block) }));
    const deployment = (await kustomize(folder)).find(({ kind }) => kind === "Deployment");
    assert.deepEqual(deployment?.["spec"].template.spec.securityContext, {
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the patch for a mirror with a login is of the Pods' account, which has no such Secrets otherwise", async () => {
  const blocks = [...section("Without the internet").text.matchAll(FENCE)].map(([, , block = ""]) => block);
  const patch = blocks.find((block) => block.includes("imagePullSecrets")) ?? assert.fail("no patch");
  const folder = await mkdtemp(join(tmpdir(), "hookpolicy-docs-"));
  try {
    const resources = [relative(folder, join(ROOT, "manifests"))];
    await writeFile(join(folder, "kustomization.yaml"), stringify({ resources, ...parse(patch) }));
    const rendered = await kustomize(folder);
    const account = rendered.find(({ kind }) => kind === "ServiceAccount");
    const pods = rendered.find(({ kind }) => kind === "Deployment")?.["spec"].template.spec;
    assert.deepEqual(account?.["imagePullSecrets"], [{ name: "registry-credentials" }]);
    assert.deepEqual([pods.serviceAccountName, pods.imagePullSecrets], [account.metadata.name, undefined]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("what docs/install.md says", () => {
  let cp: ControlPlane;
  let released: string;
  let mine: string;
  let path: string;
  const typedLines = new Set<string>();

  before(async () => {
    cp = await startControlPlane();
    const { version } = await installClusterApi(cp);
    await cp.apply(["Issuer", "Certificate"].map(certManagerDefinition));
    released = releaseWorkingTree(join(cp.folder, "hookpolicy"), { IMAGE });
    mine = join(cp.folder, "mine");
    await mkdir(mine);
    await writeFile(join(mine, "kustomization.yaml"), yamlIn("With kubectl"));
    path = await programs();
    await configureClusterctl(version);
  });
  after(async () => await cp?.stop());

  /** What the page types by name. */
  async function programs(): Promise<string> {
    const folder = join(cp.folder, "bin");
    await mkdir(folder);
    const { kubectl } = await controlPlaneBinaries();
    const main = `#!/bin/sh\nexec ${process.execPath} ${join(ROOT, "dist/main.js")} "$@"\n`;
    await writeFile(join(folder, "hookpolicy"), main);
    await chmod(join(folder, "hookpolicy"), 0o755);
    await symlink(await helmBinary(), join(folder, "helm"));
    await symlink(await clusterctlBinary(), join(folder, "clusterctl"));
    return [folder, dirname(kubectl), process.env["PATH"]].join(":");
  }

  /** The user's file as on the page; beside it Cluster API's own provider, whose manager runs here as a process. */
  async function configureClusterctl(version: string): Promise<void> {
    const repository = join(cp.folder, "srv");
    const provider = join(repository, "runtime-extension-hookpolicy", `v${metadata.version}`);
    await mkdir(provider, { recursive: true });
    for (const file of ["runtime-extension-components.yaml", "metadata.yaml"]) {
      await symlink(join(released, file), join(provider, file));
    }
    const core = join(repository, "cluster-api", version);
    await mkdir(core, { recursive: true });
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "capi-system" } };
    await writeFile(join(core, "core-components.yaml"), stringify(namespace));
    const [major, minor] = version.slice(1).split(".").map(Number);
    const series = { releaseSeries: [{ major, minor, contract: "v1beta2" }] };
    const about = { apiVersion: "clusterctl.cluster.x-k8s.io/v1alpha3", kind: "Metadata", ...series };
    await writeFile(join(core, "metadata.yaml"), stringify(about));
    const config = join(cp.folder, ".config/cluster-api");
    await mkdir(config, { recursive: true });
    const own = `  - { name: cluster-api, type: CoreProvider, url: "file://${core}/core-components.yaml" }\n`;
    const text = yamlIn("With clusterctl").replaceAll(REPOSITORY, repository);
    await writeFile(join(config, "clusterctl.yaml"), text + own);
    await sh("clusterctl init --core cluster-api --bootstrap - --control-plane -");
    await noTestNamespace(cp);
  }

  async function sh(command: string, cwd = released): Promise<string> {
    for (const line of command.split("\n")) typedLines.add(line);
    const env = environment({
      KUBECONFIG: cp.adminKubeconfig,
      PATH: path,
      HOME: cp.folder,
      XDG_CONFIG_HOME: join(cp.folder, ".config"),
      CLUSTERCTL_DISABLE_VERSIONCHECK: "true",
    });
    return (await run("sh", ["-ec", command], { env, cwd, timeout: DEFINITION_GONE_MS })).stdout;
  }

  async function isInstalled(): Promise<void> {
    assert.match(await sh("kubectl get deployment -n hookpolicy-system -o wide"), new RegExp(IMAGE));
    await sh("kubectl get crd hookpolicies.hookpolicy.dev");
    assert.ok(await cp.find(extensionRef("hookpolicy")));
  }

  async function isForOlderClusterApi(): Promise<void> {
    const args = await sh("kubectl get deployment -n hookpolicy-system -o jsonpath={..args}");
    assert.match(args, /--capi-version=1\.12/);
  }

  /** Everything that the page gives in the end. */
  async function nothingIsLeft(): Promise<void> {
    for (const command of section("Uninstalling").commands.filter((each) =>
      each.endsWith("--ignore-not-found"),
    )) {
      await sh(command).catch(async (error: unknown) => {
        const going = await sh(`kubectl get crd -o jsonpath='${GOING}'`);
        throw new Error(`${command}: being deleted are:\n${going}`, { cause: error });
      });
    }
    const kinds =
      "crd,clusterrole,clusterrolebinding,validatingwebhookconfiguration,namespace,extensionconfig";
    const left = await sh(`kubectl get ${kinds} -o name`);
    assert.deepEqual(left.match(/.*hookpolicy.*/g) ?? [], []);
  }

  async function prepare(): Promise<void> {
    const planned = await sh(typed("Uninstalling", "hookpolicy prepare-uninstall --dry-run"));
    assert.match(planned, /^would delete ExtensionConfig hookpolicy$/m);
    await assert.rejects(sh("hookpolicy prepare-uninstall < /dev/null"), /confirm with --yes/);
    await sh("hookpolicy prepare-uninstall --yes");
    assert.equal(await sh("hookpolicy prepare-uninstall --yes"), "nothing to do\n");
  }

  test("with kubectl, from one file, and the second time changes nothing", async () => {
    const command = typed("With kubectl", "kubectl apply -f");
    await sh(command);
    const again = await sh(command);
    // kubectl sends a budget's selector each time; the API server changes nothing.
    assert.deepEqual(again.match(/.* (?:configured|created)$/gm), [
      "poddisruptionbudget.policy/hookpolicy configured",
    ]);
    await isInstalled();
    // Where the operator does not run, it refuses Clusters.
    const [file = ""] = /hookpolicy-[\w-]+\.yaml/.exec(ADMISSION) ?? [];
    assert.match(await sh(`kubectl apply -f ${file}`), /hookpolicy-clusters created/);
  });

  test("uninstalled with kubectl, from one file", async () => {
    await prepare();
    await sh(typed("Uninstalling", "kubectl delete --ignore-not-found -f"));
    await nothingIsLeft();
  });

  test("with kubectl, from a kustomization", async () => {
    await sh(typed("With kubectl", "kubectl apply -k"), mine);
    await isInstalled();
    await isForOlderClusterApi();
  });

  test("see that it works", async () => {
    const command = section("See that it works").commands.join("");
    await cp.delete(extensionRef("hookpolicy")); // there are no Pods behind the Service
    const operator = await startOperator(cp);
    await registerExtension(cp, { name: "hookpolicy", url: operator.url });
    assert.match(await sh(command), /condition met/);
    await operator.daemon.stop();
  });

  test("what to add is accepted, file by file", async () => {
    const part = section("Image and files").text;
    const [, first = ""] = /`(hookpolicy-admission-keep-policies\.yaml)`/.exec(part) ?? [];
    const others = [...part.matchAll(/`…(-[a-z-]+\.yaml)`/g)].map(
      ([, name]) => `hookpolicy-admission${name}`,
    );
    assert.equal(others.length, 5);
    for (const file of [first, ...others, "hookpolicy-network-policy.yaml"]) {
      assert.ok(part.includes(file.replace(/^hookpolicy-admission(?!-keep)/, "…")), file);
      assert.match(await sh(`kubectl apply --dry-run=server -f ${file}`), / created \(server dry run\)$/m);
    }
    await sh(
      "kubectl create namespace argocd && kubectl create configmap -n argocd argocd-cm --from-literal=url=mine",
    );
    const [, patch = ""] = /`(kubectl patch configmap [^`]+)`/.exec(part) ?? [];
    await sh(patch);
    const { data } = await cp.get({
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: "argocd",
      name: "argocd-cm",
    });
    assert.deepEqual([data.url, Object.keys(data).length], ["mine", 6]);
    await sh("kubectl delete configmap -n argocd argocd-cm");
  });

  test("uninstalled with kubectl, from a kustomization", async () => {
    await prepare();
    const [, command = ""] = /`(kubectl delete [^`]+ -k \.)`/.exec(section("Uninstalling").text) ?? [];
    await sh(command, mine);
    await nothingIsLeft();
  });

  test("with Helm", async () => {
    for (const command of section("With Helm").commands) await sh(command);
    await isInstalled();
    const [, upgrade = ""] = /`(helm upgrade [^`]+)`/.exec(section("Upgrading").text) ?? [];
    assert.match(await sh(upgrade), /REVISION: 2/);
  });

  test("back to an older chart with Helm, which leaves the values and the CRDs as they are", async () => {
    const versions = "kubectl get crd -o jsonpath={.items[*].metadata.resourceVersion}";
    const earlier = await sh(versions);
    const [back = ""] = commandsOf("docs/upgrade.md").filter((each) => each.startsWith("helm upgrade "));
    assert.match(await sh(back.replace("OLDER", metadata.version)), /REVISION: 3/);
    assert.equal(await sh(versions), earlier);
    await isForOlderClusterApi();
  });

  test("uninstalled with Helm", async () => {
    const command = typed("Uninstalling", "helm uninstall");
    await Promise.all([sh(command), runUninstallJob(cp)]);
    await nothingIsLeft();
  });

  test("without the internet, from a mirror and beside a proxy", async () => {
    const title = "Without the internet";
    const values = join(mine, "proxy.yaml");
    await writeFile(values, yamlIn(title));
    const [sed, helm] = [typed(title, "sed "), typed(title, "helm install ")];
    const manifests = await sh(sed.replace("kubectl apply -f -", "cat"));
    const chart = await sh(`${helm.replace("helm install", "helm template")} --values ${values}`);
    for (const text of [manifests, chart]) {
      const images = [...text.matchAll(/^ +image: "?([^"\n]+)"?$/gm)].map(([, image]) => image);
      assert.deepEqual([...new Set(images)], [`mirror.example.com/hookpolicy:${metadata.version}`]);
    }
    assert.match(chart, /name: NO_PROXY\n +value: localhost,127\.0\.0\.1,\.svc,/);
    typedLines.add(sed).add(helm);
  });

  test("how to see Cluster API's feature gates", async () => {
    const args = ["--feature-gates=MachinePool=true,ClusterTopology=true,RuntimeSDK=true"];
    const labels = { app: "capi" };
    const containers = [{ name: "manager", image: "manager", args }];
    await cp.apply({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "capi-system", name: "capi-controller-manager" },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    });
    const printed = await sh(typed("Quickstart with kind", "kubectl get deployment"));
    assert.match(printed, /ClusterTopology=true,RuntimeSDK=true/);
  });

  test("with clusterctl", async () => {
    await sh(section("With clusterctl").commands.join("\n"));
    await isInstalled();
    await isForOlderClusterApi();
    await noTestNamespace(cp);
    const plan = await sh("clusterctl upgrade plan");
    assert.match(plan, new RegExp(`runtime-extension-hookpolicy +${NAMESPACE}`));
  });

  test("back to an older version with clusterctl, which leaves the CRDs as they are", async () => {
    const versions = "kubectl get crd -o jsonpath={.items[*].metadata.resourceVersion}";
    const earlier = await sh(versions);
    const commands = commandsOf("docs/upgrade.md");
    const from = commands.findIndex((each) => each.startsWith("clusterctl generate yaml "));
    const [fill = "", apply = ""] = commands.slice(from);
    await sh("kubectl delete deployment -n hookpolicy-system hookpolicy");
    await sh(fill);
    const file = join(released, "older.yaml");
    const objects = objectsOf(readFileSync(file, "utf8"));
    const kept = objects.filter(({ kind }) => kind !== "CustomResourceDefinition");
    assert.equal(objects.length - kept.length, 5);
    await writeFile(file, kept.map((object) => stringify(object)).join("---\n"));
    assert.match(await sh(apply), /^deployment\.apps\/hookpolicy created$/m);
    assert.equal(await sh(versions), earlier);
    await isInstalled();
    await isForOlderClusterApi();
  });

  test("with the Cluster API Operator, which is not here: the ConfigMap that it reads has both files", async () => {
    const part = section("With the Cluster API Operator");
    await sh(part.commands.filter((line) => !line.startsWith("kubectl create namespace")).join("\n"));
    typedLines.add(part.commands[0] ?? "");
    const { spec, metadata: named } = parse(yamlIn(part.title));
    assert.equal(named.namespace, NAMESPACE);
    const { matchLabels } = spec.fetchConfig.selector;
    const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${String(value)}`);
    const [map, ...others] = await cp
      .list({ apiVersion: "v1", kind: "ConfigMap", namespace: NAMESPACE })
      .then((all) =>
        all.filter(({ metadata: { labels: has = {} } }) =>
          labels.every((each) => Object.entries(has).some((pair) => pair.join("=") === each)),
        ),
      );
    assert.deepEqual([map?.metadata.name, others], [spec.version, []]);
    for (const [key, file] of [
      ["components", "runtime-extension-components.yaml"],
      ["metadata", "metadata.yaml"],
    ] as const)
      assert.equal(map?.["data"][key], readFileSync(join(released, file), "utf8"));
    const { data } = await cp.get({
      apiVersion: "v1",
      kind: "Secret",
      namespace: NAMESPACE,
      name: spec.configSecret.name,
    });
    for (const key of Object.keys(data)) assert.ok(map?.["data"].components.includes(`\${${key}:=`), key);
  });

  test("uninstalled with clusterctl", async () => {
    await prepare();
    await sh(typed("Uninstalling", "clusterctl delete"));
    await sh(typed("Uninstalling", "kubectl delete clusterrole"));
    await nothingIsLeft();
  });

  test("every command was typed, but for those that the page names", () => {
    const known = [...typedLines].join("\n");
    // The quickstart types from the root of the repository what the other sections type in dist/release.
    const isTyped = (line: string): boolean => known.includes(line.replace("dist/release/", ""));
    const lines = SECTIONS.flatMap(({ commands }) => commands);
    assert.deepEqual(
      lines.filter((line) => !NOT_TYPED.test(line) && !isTyped(line)),
      [],
    );
  });
});
