/** What the Helm chart renders, by the real helm; test/install/helm.test.ts installs it. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import metadata from "../../package.json" with { type: "json" };
import { chartReadme, valuesOf } from "../../release/chart-readme.ts";
import { type KubeObject, objectsOf } from "../controlplane/client.ts";
import { folder } from "../unit/cli/program.ts";
import { deploymentOf, nameOf, template } from "./chart.ts";
import { CHART, helm, IMAGE, kustomize, kustomizeWith, NAMESPACE, ROOT } from "./tools.ts";

const RELEASE_LABELS = [
  "app.kubernetes.io/instance",
  "app.kubernetes.io/managed-by",
  "app.kubernetes.io/version",
  "helm.sh/chart",
];

const isHook = ({ metadata: { annotations = {} } }: KubeObject): boolean => "helm.sh/hook" in annotations;

/** By which each tool leaves the CRDs where they are. */
const KEPT = {
  "helm.sh/resource-policy": "keep",
  "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
  "argocd.argoproj.io/sync-options": "Delete=false,Prune=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

/** Without what the chart alone adds, and those labels. */
function plain(object: KubeObject, ignored: readonly string[]): unknown {
  const { labels = {}, annotations = {}, ...rest } = object.metadata;
  const own = Object.entries(annotations).filter(([key]) => key !== "helm.sh/resource-policy");
  const kept = Object.entries(labels).filter(([key]) => !ignored.includes(key));
  return {
    ...object,
    metadata: {
      ...rest,
      labels: Object.fromEntries(kept),
      ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
    },
  };
}

function byName(objects: readonly KubeObject[], ignored = RELEASE_LABELS): Record<string, unknown> {
  return Object.fromEntries(objects.map((object) => [nameOf(object), plain(object, ignored)]));
}

test("the chart is what the manifests are", async () => {
  const wanted = (await kustomize(join(ROOT, "manifests"))).filter(({ kind }) => kind !== "Namespace");
  const rendered = (await template()).filter((object) => !isHook(object));
  assert.deepEqual(byName(rendered), byName(wanted));
  for (const object of rendered) {
    for (const label of RELEASE_LABELS) assert.ok(object.metadata.labels?.[label], nameOf(object));
  }
});

test("with cert-manager the chart is what its component makes of the manifests", async (t) => {
  const dir = await folder(t, {});
  const wanted = await kustomizeWith(dir, ["cert-manager"]);
  const rendered = await template("--set", `certificates.issuer=cert-manager,image.repository=${IMAGE}`);
  assert.deepEqual(comparable(rendered), comparable(wanted));
});

test("with the webhook of Clusters the chart is what its component makes of the manifests", async (t) => {
  const dir = await folder(t, {});
  for (const [components, flags] of [
    [["cluster-admission"], []],
    [
      ["cluster-admission", "cert-manager"],
      ["--set", "certificates.issuer=cert-manager"],
    ],
  ] as const) {
    const wanted = await kustomizeWith(dir, components);
    const args = ["--set", "admission.clusters=true", "--set", `image.repository=${IMAGE}`, ...flags];
    const rendered = await template(...args);
    assert.deepEqual(comparable(rendered), comparable(wanted));
    const webhooks = wanted.filter(({ kind }) => kind === "ValidatingWebhookConfiguration");
    assert.deepEqual(
      webhooks.map(({ metadata: { name, annotations = {} } }) => [name, Object.keys(annotations).length]),
      ["hookpolicy", "hookpolicy-clusters"].map((name) => [name, components.length - 1]),
    );
  }
});

test("with monitoring the chart is what its component makes of the manifests", async (t) => {
  const dir = await folder(t, {});
  const wanted = (await kustomizeWith(dir, ["monitoring"])).map((object) =>
    object.kind === "ConfigMap" ? { ...object, metadata: unhashed(object.metadata) } : object,
  );
  const rendered = await template("--set", "monitoring.enabled=true", "--set", `image.repository=${IMAGE}`);
  assert.deepEqual(comparable(rendered), comparable(wanted));
  const labelled = await template("--set", "monitoring.enabled=true,monitoring.labels.release=prometheus");
  const kinds = labelled.filter((object) => object.metadata.labels?.["release"] === "prometheus");
  assert.deepEqual(kinds.map(({ kind }) => kind).toSorted(), ["PrometheusRule", "ServiceMonitor"]);
});

/** kustomize ends the names of generated objects with a hash of what is in them. */
function unhashed(of: KubeObject["metadata"]): KubeObject["metadata"] {
  return { ...of, name: of.name.replace(/-[a-z0-9]{10}$/, "") };
}

/**
 * What the component adds to the flags stands behind what it replaces; the last one counts. kustomize puts the label of
 * all objects only on those that are not a component's.
 */
function comparable(objects: readonly KubeObject[]): Record<string, unknown> {
  const kept = objects.filter((object) => object.kind !== "Namespace" && !isHook(object));
  const [container] = deploymentOf(kept)["spec"].template.spec.containers;
  const args: readonly string[] = container.args;
  const flagOf = (arg: string): string => arg.replace(/=.*/, "");
  container.args = args.filter(
    (arg, at) => !args.slice(at + 1).some((later) => flagOf(later) === flagOf(arg)),
  );
  return byName(kept, [...RELEASE_LABELS, "app.kubernetes.io/name"]);
}

test("Cluster API's client certificate can be asked for", async () => {
  const objects = await template("--set", "mtls.caSecretName=capi-client", "--set", "mtls.clientCN=capi");
  const { containers, volumes } = deploymentOf(objects)["spec"].template.spec;
  const [{ args, volumeMounts }] = containers;
  const file = args.find((arg: string) => arg.startsWith("--client-ca-file="))?.split("=")[1];
  const mount = volumeMounts.find(({ mountPath }: { mountPath: string }) => file.startsWith(`${mountPath}/`));
  const volume = volumes.find(({ name }: { name: string }) => name === mount.name);
  assert.equal(volume.secret.secretName, "capi-client");
  assert.ok(args.includes("--client-cn=capi"));
});

test("the API server's client certificate can be asked for", async () => {
  const objects = await template("--set", "admission.caSecretName=api", "--set", "admission.clientCN=api");
  const { containers, volumes } = deploymentOf(objects)["spec"].template.spec;
  const [{ args, volumeMounts }] = containers;
  const file = args.find((arg: string) => arg.startsWith("--admission-client-ca-file="))?.split("=")[1];
  const mount = volumeMounts.find(({ mountPath }: { mountPath: string }) => file.startsWith(`${mountPath}/`));
  assert.equal(volumes.find(({ name }: { name: string }) => name === mount.name).secret.secretName, "api");
  assert.ok(args.includes("--admission-client-cn=api"));
});

test("names of client certificates are taken as they are, and need the authority that signs them", async () => {
  const names = "system: capi #1";
  for (const [value, flag] of [
    ["mtls", "--client-cn"],
    ["admission", "--admission-client-cn"],
  ] as const) {
    const clientCN = ["--set", `${value}.clientCN=${names}`];
    const objects = await template("--set", `${value}.caSecretName=ca`, ...clientCN);
    assert.ok(deploymentOf(objects)["spec"].template.spec.containers[0].args.includes(`${flag}=${names}`));
    await assert.rejects(template(...clientCN), new RegExp(`'/${value}/caSecretName'`));
  }
});

test("hooks can be restricted to the Pods of namespaces that are named", async () => {
  assert.ok((await template()).every(({ kind }) => kind !== "NetworkPolicy"));
  const objects = await template("--set", "networkPolicy.callers={capi-system}");
  const { spec } = objects.find(({ kind }) => kind === "NetworkPolicy") ?? assert.fail("no NetworkPolicy");
  const [hooks] = spec.ingress;
  assert.deepEqual(hooks.ports, [{ port: "webhook" }]);
  assert.deepEqual(hooks.from[0].namespaceSelector.matchExpressions[0].values, ["capi-system"]);
});

test("on the nodes' network an update frees a node first, and no NetworkPolicy pretends to protect", async () => {
  const strategy = async (...args: string[]): Promise<unknown> =>
    deploymentOf(await template(...args))["spec"].strategy.rollingUpdate;
  assert.deepEqual(await strategy(), { maxUnavailable: 0, maxSurge: 1 });
  const onNodes = ["--set", "hostNetwork=true"];
  assert.deepEqual(await strategy(...onNodes), { maxUnavailable: 1, maxSurge: 0 });
  await assert.rejects(template(...onNodes, "--set", "networkPolicy.callers={capi-system}"), /use mtls/);
});

test("an authority that the chart writes is none that the operator may write", async () => {
  const pem = "-----BEGIN CERTIFICATE-----";
  const objects = await template("--set", `certificates.issuer=none,certificates.caBundle=${pem}`);
  const webhook = objects.find(({ kind }) => kind === "ValidatingWebhookConfiguration");
  assert.ok(webhook);
  const { caBundle } = webhook["webhooks"][0].clientConfig;
  assert.equal(Buffer.from(caBundle, "base64").toString(), pem);
  assert.ok(!objects.some(({ metadata: { name } }) => name === "hookpolicy-cabundle"));
});

test("an authority that is left over from a certificate of one's own is written nowhere", async () => {
  const caBundle = ["--set", "certificates.caBundle=-----BEGIN CERTIFICATE-----"];
  for (const issuer of ["self", "cert-manager"]) {
    const args = ["--set", "admission.clusters=true", "--set", `certificates.issuer=${issuer}`];
    assert.deepEqual(await template(...args, ...caBundle), await template(...args), issuer);
  }
});

test("an authority without a value is none", async () => {
  const args = ["--set", "admission.clusters=true", "--set", "certificates.issuer=none"];
  assert.deepEqual(await template(...args, "--set", "certificates.caBundle=null"), await template(...args));
});

test("a certificate of one's own needs no Secret of the operator's", async () => {
  const objects = await template("--set", "certificates.issuer=none");
  assert.ok(
    deploymentOf(objects)["spec"].template.spec.containers[0].args.includes("--cert-management=Files"),
  );
  const names = objects.map(({ metadata: { name } }) => name);
  assert.ok(!names.includes("hookpolicy-certificates") && !names.includes("hookpolicy-ca"));
});

test("the chart passes helm's linter, strictly", async () => {
  assert.match(await helm("lint", "--strict", CHART), /1 chart\(s\) linted, 0 chart\(s\) failed/);
});

test("the namespace of the release is everywhere", async () => {
  const args = ["template", "hookpolicy", CHART, "--namespace", "elsewhere"];
  for (const issuer of ["self", "cert-manager"]) {
    const values = `monitoring.enabled=true,certificates.issuer=${issuer}`;
    const objects = objectsOf(await helm(...args, "--set", values));
    assert.doesNotMatch(JSON.stringify(objects), new RegExp(NAMESPACE));
  }
});

test("the chart's README is current, and describes every value", async () => {
  const read = (name: string): string => readFileSync(join(CHART, name), "utf8");
  assert.equal(
    read("README.md"),
    await chartReadme(read("values.yaml"), read("Chart.yaml")),
    "npm run generate",
  );
  for (const { path, description } of valuesOf(read("values.yaml"))) assert.match(description, /\.$/, path);
});

test("the schema knows every value", () => {
  const schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8"));
  for (const { path } of valuesOf(readFileSync(join(CHART, "values.yaml"), "utf8"))) {
    const found = path.split(".").reduce((at, name) => at?.properties?.[name], schema);
    assert.ok(found, path);
  }
});

test("a misspelt value, and one of a wrong type, are refused with their place", async () => {
  await assert.rejects(template("--set", "replica=3"), /additional properties 'replica' not allowed/);
  await assert.rejects(template("--set", "image.name=x"), /'\/image'/);
  await assert.rejects(template("--set", "replicas=many"), /'\/replicas'/);
  await assert.rejects(template("--set", "capiVersion=latest"), /'\/capiVersion'/);
});

test("the versions of chart, image and package are one", async () => {
  const chart = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8"));
  assert.deepEqual([chart.version, chart.appVersion], [metadata.version, metadata.version]);
  const [container] = deploymentOf(await template())["spec"].template.spec.containers;
  assert.equal(container.image, `hookpolicy:${metadata.version}`);
});

test("values for the Pods reach the Deployment", async () => {
  const values = {
    capiVersion: "1.12",
    replicas: 3,
    image: { repository: "registry.example.com/hookpolicy", digest: `sha256:${"0".repeat(64)}` },
    imagePullSecrets: [{ name: "registry" }],
    extraArgs: ["--log-level=debug"],
    extraEnv: [{ name: "HTTPS_PROXY", value: "http://proxy.example.com" }],
    resources: { limits: { memory: "1Gi" } },
    podLabels: { team: "platform" },
    podAnnotations: { note: "yes" },
    priorityClassName: "important",
    nodeSelector: { disk: "fast" },
    tolerations: [{ key: "special" }],
    affinity: { nodeAffinity: {} },
    securityContext: { readOnlyRootFilesystem: false },
    deploymentAnnotations: { reloader: "true" },
    extraVolumes: [{ name: "ca", configMap: { name: "ca" } }],
    extraVolumeMounts: [{ name: "ca", mountPath: "/ca" }],
    hostNetwork: true,
    topologySpreadConstraints: [{ topologyKey: "rack", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }],
    serviceAccount: { annotations: { role: "arn" } },
    podDisruptionBudget: { maxUnavailable: "50%" },
    terminationGracePeriodSeconds: 90,
  };
  const flags = Object.entries(values).flatMap(([name, value]) => [
    "--set-json",
    `${name}=${JSON.stringify(value)}`,
  ]);
  const objects = await template(...flags);
  const { replicas, template: pod } = deploymentOf(objects)["spec"];
  const [container] = pod.spec.containers;
  assert.equal(replicas, 3);
  assert.equal(container.image, `registry.example.com/hookpolicy@sha256:${"0".repeat(64)}`);
  assert.deepEqual(container.args.slice(-2), ["--capi-version=1.12", "--log-level=debug"]);
  assert.deepEqual(container.env.at(-1), values.extraEnv[0]);
  assert.deepEqual(container.resources.limits, { memory: "1Gi" });
  assert.equal(pod.metadata.labels.team, "platform");
  assert.equal(pod.metadata.annotations.note, "yes");
  assert.equal(pod.spec.priorityClassName, "important");
  assert.equal(pod.spec.terminationGracePeriodSeconds, 90);
  assert.deepEqual(pod.spec.nodeSelector, values.nodeSelector);
  assert.deepEqual(pod.spec.tolerations.slice(0, 1), values.tolerations);
  assert.deepEqual(Object.keys(pod.spec.affinity), ["nodeAffinity", "podAntiAffinity"]);
  const accounts = objects.filter(({ kind }) => kind === "ServiceAccount");
  for (const account of accounts) assert.deepEqual(account["imagePullSecrets"], values.imagePullSecrets);
  assert.equal(container.securityContext.readOnlyRootFilesystem, false);
  assert.equal(container.securityContext.allowPrivilegeEscalation, false);
  assert.deepEqual(deploymentOf(objects).metadata.annotations, values.deploymentAnnotations);
  assert.deepEqual(pod.spec.volumes.at(-1), values.extraVolumes[0]);
  assert.deepEqual(container.volumeMounts.at(-1), values.extraVolumeMounts[0]);
  assert.deepEqual([pod.spec.hostNetwork, pod.spec.dnsPolicy], [true, "ClusterFirstWithHostNet"]);
  assert.deepEqual(pod.spec.topologySpreadConstraints.slice(1), values.topologySpreadConstraints);
  assert.deepEqual(accounts[0]?.metadata.annotations, values.serviceAccount.annotations);
  const budget = objects.find(({ kind }) => kind === "PodDisruptionBudget");
  assert.equal(budget?.["spec"].maxUnavailable, "50%");
});

test("an environment variable that the chart has, too, is given once, as the user wants it", async () => {
  const names = async (...args: string[]): Promise<string[]> =>
    deploymentOf(await template(...args))["spec"].template.spec.containers[0].env.map(
      ({ name, value }: { name: string; value: string }) => `${name}=${value}`,
    );
  assert.deepEqual(
    (await names()).map((each) => each.replace(/=.*/, "")),
    ["NODE_OPTIONS", "MALLOC_MMAP_THRESHOLD_"],
  );
  const own = [
    { name: "NODE_OPTIONS", value: "--use-system-ca" },
    { name: "MALLOC_MMAP_THRESHOLD_", value: "1" },
  ];
  assert.deepEqual(await names("--set-json", `extraEnv=${JSON.stringify(own)}`), [
    "NODE_OPTIONS=--use-system-ca",
    "MALLOC_MMAP_THRESHOLD_=1",
  ]);
});

test("the user of a Pod can be left to the cluster, as OpenShift wants it", async () => {
  const unset = ["runAsUser", "runAsGroup", "fsGroup"].flatMap((name) => [
    "--set",
    `podSecurityContext.${name}=null`,
  ]);
  const { securityContext } = deploymentOf(await template(...unset))["spec"].template.spec;
  assert.deepEqual(securityContext, { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
});

test("common labels are those of all objects and Pods", async () => {
  const objects = await template("--set", "commonLabels.team=platform", "--set", "monitoring.enabled=true");
  for (const object of objects.filter(({ kind }) => kind !== "CustomResourceDefinition"))
    assert.equal(object.metadata.labels?.["team"], "platform", nameOf(object));
  assert.equal(deploymentOf(objects)["spec"].template.metadata.labels.team, "platform");
});

test("a budget for disruptions can be left out", async () => {
  const objects = await template("--set", "podDisruptionBudget.enabled=false");
  assert.ok(objects.every(({ kind }) => kind !== "PodDisruptionBudget"));
});

test("values that an earlier chart did not have, as with --reuse-values, are as in values.yaml", async () => {
  const args = ["--set", "monitoring.enabled=true"];
  const absent = ["--set", "terminationGracePeriodSeconds=null,monitoring.tokenSecret=null"];
  assert.deepEqual(await template(...args, ...absent), await template(...args));
});

test("an umbrella chart switches it on and off by its condition, with values that are global", async (t) => {
  const dir = await folder(t, {});
  await cp(CHART, join(dir, "charts/hookpolicy"), { recursive: true });
  const dependency = { name: "hookpolicy", version: metadata.version, condition: "hookpolicy.enabled" };
  const chart = { apiVersion: "v2", name: "platform", version: "1.0.0", dependencies: [dependency] };
  await writeFile(join(dir, "Chart.yaml"), JSON.stringify(chart));
  const rendered = async (isEnabled: boolean): Promise<string> =>
    await helm("template", "p", dir, "--set", `hookpolicy.enabled=${isEnabled},global.imageRegistry=x`);
  assert.ok(objectsOf(await rendered(true)).some(({ kind }) => kind === "Deployment"));
  assert.equal((await rendered(false)).trim(), "");
});

test("an API server that knows ExtensionConfigs only as v1alpha1 gets one of that version, and the hooks of Cluster API 1.10", async () => {
  const rendered = async (served: string[], ...args: string[]): Promise<(string | undefined)[]> => {
    const flags = served.flatMap((version) => [
      "--api-versions",
      `runtime.cluster.x-k8s.io/${version}/ExtensionConfig`,
    ]);
    const objects = await template(...flags, ...args);
    const capi = /--capi-version=([^"]*)/.exec(JSON.stringify(deploymentOf(objects)))?.[1];
    return [objects.find(({ kind }) => kind === "ExtensionConfig")?.apiVersion, capi];
  };
  const [old, current] = ["runtime.cluster.x-k8s.io/v1alpha1", "runtime.cluster.x-k8s.io/v1beta2"];
  assert.deepEqual(await rendered(["v1alpha1"]), [old, "1.10"]);
  assert.deepEqual(await rendered(["v1alpha1"], "--set", "capiVersion=1.12"), [old, "1.12"]);
  assert.deepEqual(await rendered(["v1alpha1", "v1beta2"]), [current, undefined]);
  assert.deepEqual(await rendered([]), [current, undefined]);
});

test("CRDs stay when the chart goes, unless told otherwise, and can be left out", async () => {
  const crds = async (...args: string[]): Promise<KubeObject[]> =>
    (await template(...args)).filter(({ kind }) => kind === "CustomResourceDefinition");
  const annotated = async (...args: string[]): Promise<unknown[]> =>
    (await crds(...args)).map(({ metadata: { annotations } }) => annotations);
  assert.deepEqual(await annotated(), [KEPT, KEPT, KEPT, KEPT, KEPT]);
  assert.deepEqual(await annotated("--set", "crds.keep=false"), Array(5).fill(undefined));
  assert.deepEqual(await crds("--set", "crds.enabled=false"), []);
});

test("what is merely rendered has nothing that uninstalls", async () => {
  const apis = ["--api-versions", "runtime.cluster.x-k8s.io/v1beta2/ExtensionConfig"]; // as Argo CD renders
  for (const args of [[], apis, ["--is-upgrade"]]) {
    const objects = await template(...args);
    assert.deepEqual(objects.filter(isHook), []);
    assert.doesNotMatch(JSON.stringify(objects), /uninstall/);
  }
});
