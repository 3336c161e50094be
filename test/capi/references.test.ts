/**
 * With a Cluster, Cluster API deletes what it refers to, whoever owns that. A Cluster without topology is asked about at no
 * hook, so protect-marks lets only Cluster API set references. And it takes over what has the name that a ClusterClass
 * makes up for a new object, so these names must have a random part.
 */

import assert from "node:assert/strict";
import { cp as copyFolder, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { ApiError, type KubeObject, objectsOf, type Ref, isRefused, refOf } from "../controlplane/client.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import {
  clusterRef,
  createCluster,
  installLab,
  NEXT_VERSION,
  provision,
  topologyMessage,
  upgrade,
} from "../controlplane/lab.ts";
import {
  CLUSTER_API,
  LAB_CONTROL_PLANE,
  LAB_INFRASTRUCTURE,
  labClass,
  labDefinitions,
} from "../controlplane/lab-kinds.ts";
import { installHookPolicy, startOperator } from "../controlplane/operator.ts";
import { applyPolicy, clusterPolicyRef, statusOf } from "../controlplane/policies.ts";
import { allow, createAccountWith } from "../controlplane/rights.ts";
import { isCreated } from "./fleet.ts";
import { blocksOf, ROOT } from "./recipe-pages.ts";

const NS = "team-a";
const REFUSAL = /only Cluster API may set spec\.controlPlaneRef and spec\.infrastructureRef/;
const NAME_REFUSAL = /a naming template may have characters of names and Cluster API's variables/;

const cp = await startControlPlane({ seed: "clusterApi" });
await installHookPolicy(cp);
await createAccountWith(cp, "capi-system", "capi-manager", { everywhere: "cluster-admin" });
await createAccountWith(cp, NS, "tenant", {
  inNamespace: [
    allow("cluster.x-k8s.io", ["clusters", "clusterclasses"], "*"),
    allow("*", ["labclustertemplates", "labcontrolplanetemplates"], "*"),
  ],
});
const kubeconfig = await cp.kubeconfigFor("capi-system", "capi-manager");
const [operator] = await Promise.all([startOperator(cp), installClusterApi(cp, { kubeconfig })]);
await installLab(cp);
await registerExtension(cp, { name: "hookpolicy", url: operator.url });
/** May write Clusters, ClusterClasses and templates of the namespace, and nothing else. */
const tenant = cp.as(await cp.tokenFor(NS, "tenant"));
/** Cluster API's identity. */
const manager = cp.as(await cp.tokenFor("capi-system", "capi-manager"));
after(async () => {
  tenant.close();
  manager.close();
  await cp.stop();
});
await cp.apply(kubeadmControlPlanes());
for (const object of templates()) await tenant.create(object);
await tenant.create(classOf("old", { controlPlane: "prod" }));
await cp.apply(await protectMarks());
await applyPolicy(cp, clusterPolicyRef("protect"), {
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": NS } },
  rules: [
    {
      name: "approved",
      hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"],
      until: [{ name: "approved", annotation: { key: "hooks.example.com/ok", from: "Namespace" } }],
      retryAfterSeconds: 5,
    },
  ],
});

/** As the recipe's kustomization renders it. */
async function protectMarks() {
  const block = blocksOf("protect-marks.md").find(({ text }) => /^components:/m.test(text));
  assert.ok(block, "the page shows a kustomization");
  const folder = join(cp.folder, "install/mine");
  await mkdir(folder, { recursive: true });
  for (const part of ["manifests", "crds"])
    await copyFolder(join(ROOT, part), join(folder, "../hookpolicy", part), { recursive: true });
  await writeFile(join(folder, "kustomization.yaml"), block.text);
  const rendered = objectsOf(await cp.kubectl("kustomize", folder));
  return rendered.filter(({ metadata }) => metadata.name.startsWith("hookpolicy-protect-"));
}

async function refused(attempt: Promise<unknown>, wanted = REFUSAL): Promise<void> {
  const error: unknown = await attempt.then(
    () => undefined,
    (e: unknown) => e,
  );
  assert.ok(error instanceof ApiError, "it was not refused");
  assert.match(error.message, wanted);
}

/** Of the lab's class. */
function templates(): KubeObject[] {
  const kinds = ["LabClusterTemplate", "LabControlPlaneTemplate"];
  return labClass()
    .filter(({ kind }) => kinds.includes(kind))
    .map((object) => ({ ...object, metadata: { name: "tenant", namespace: NS } }));
}

type Naming = Readonly<Partial<Record<"infrastructure" | "controlPlane" | "machines" | "pool", string>>>;

function classOf(name: string, { infrastructure, controlPlane, machines, pool }: Naming): KubeObject {
  const [cluster, plane] = templates().map(({ apiVersion, kind }) => ({
    templateRef: { apiVersion, kind, name: "tenant" },
  }));
  const naming = (template: string | undefined): object =>
    template === undefined ? {} : { naming: { template } };
  const worker = (template: string): object[] => [
    { class: "w", bootstrap: plane, infrastructure: cluster, ...naming(template) },
  ];
  const workers = {
    ...(machines !== undefined && { machineDeployments: worker(machines) }),
    ...(pool !== undefined && { machinePools: worker(pool) }),
  };
  return {
    apiVersion: CLUSTER_API,
    kind: "ClusterClass",
    metadata: { name, namespace: NS },
    spec: {
      infrastructure: { ...cluster, ...naming(infrastructure) },
      controlPlane: { ...plane, ...naming(controlPlane) },
      ...(Object.keys(workers).length > 0 && { workers }),
    },
  };
}

/** v1beta1 of a class that names its control planes. */
function olderClassOf(name: string, template: string): KubeObject {
  const [cluster, plane] = templates().map(({ apiVersion, kind }) => ({
    ref: { apiVersion, kind, name: "tenant", namespace: NS },
  }));
  return {
    apiVersion: "cluster.x-k8s.io/v1beta1",
    kind: "ClusterClass",
    metadata: { name, namespace: NS },
    spec: { infrastructure: cluster, controlPlane: { ...plane, namingStrategy: { template } } },
  };
}

/** Stands in for the kind of the kubeadm provider, of which the rule reads one field. */
function kubeadmControlPlanes(): KubeObject {
  const like = labDefinitions().find(({ spec }) => spec.names.kind === "LabControlPlane");
  assert.ok(like);
  const [version] = like["spec"].versions;
  const names = {
    kind: "KubeadmControlPlane",
    singular: "kubeadmcontrolplane",
    plural: "kubeadmcontrolplanes",
  };
  return {
    ...like,
    metadata: { name: "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io" },
    spec: { ...like["spec"], names, versions: [version, { ...version, name: "v1beta1", storage: false }] },
  };
}

async function optOut(counts: () => Promise<boolean>): Promise<void> {
  const labels = { "hookpolicy.dev/references": "allowed" };
  await cp.patch({ apiVersion: "v1", kind: "Namespace", name: NS }, { metadata: { labels } });
  await cp.waitFor("the label to count", counts);
}

test("a Cluster that refers to the parts of another one is refused, because its deletion would delete these", async () => {
  await createCluster(cp, {
    namespace: NS,
    name: "prod",
    annotations: { "example.com/kept": "" },
    workers: true,
  });
  await isCreated(cp, NS, "prod");
  await provision(cp, NS, "prod");
  await tenant.delete(clusterRef(NS, "prod"), "Background");
  const blocked = async (): Promise<boolean> =>
    statusOf(await cp.get(clusterPolicyRef("protect"))).blocked === 1;
  await cp.waitFor("the deletion to be held", blocked);

  const { controlPlaneRef, infrastructureRef } = (await cp.get(clusterRef(NS, "prod"))).spec;
  const parts: Ref[] = [
    { apiVersion: LAB_CONTROL_PLANE, kind: "LabControlPlane", namespace: NS, name: controlPlaneRef.name },
    { apiVersion: LAB_INFRASTRUCTURE, kind: "LabCluster", namespace: NS, name: infrastructureRef.name },
  ];
  for (const part of parts) await assert.rejects(tenant.delete(part), /forbidden/i);

  const base = `/apis/${CLUSTER_API}/namespaces/${NS}/clusters`;
  const metadata = { namespace: NS, name: "thief" };
  const spec = { controlPlaneRef, infrastructureRef };
  const thief = JSON.stringify({ apiVersion: CLUSTER_API, kind: "Cluster", metadata, spec });
  const tried = async (): Promise<boolean> =>
    !(await isRefused(tenant.request("POST", `${base}?dryRun=All`, thief)));
  await cp.waitFor("protect-marks to be in force", async () => !(await tried()));
  await refused(tenant.request("POST", base, thief));
  const changed = { spec: { controlPlaneRef: { ...controlPlaneRef, name: "another" } } };
  for (const version of ["v1beta1", "v1beta2"]) {
    const ref = { ...clusterRef(NS, "prod"), apiVersion: `cluster.x-k8s.io/${version}` };
    await refused(tenant.patch(ref, changed));
    await tenant.patch(ref, { metadata: { labels: { "still-free": version } } });
  }
  await createCluster(cp, { namespace: NS, name: "second" });
  await isCreated(cp, NS, "second"); // Cluster API sets the references

  // What would happen without it.
  await optOut(tried);
  await tenant.request("POST", base, thief);
  // Before that it would be gone at once.
  await cp.waitFor(
    "its finalizer",
    async () => (await cp.get(clusterRef(NS, "thief"))).metadata.finalizers !== undefined,
  );
  await tenant.request("DELETE", `${base}/thief`);
  await cp.waitFor("Cluster API to delete the parts of the Cluster that is held", async () => {
    const left = await Promise.all(parts.map(async (part) => await cp.find(part)));
    return left.every((part) => part === undefined);
  });
  assert.equal(await blocked(), true);
  assert.equal(
    (await cp.get(clusterRef(NS, "prod"))).metadata.annotations?.["runtime.cluster.x-k8s.io/ok-to-delete"],
    undefined,
  );
});

const SAFE = ["{{ .cluster.name }}-{{ .random }}", "x.{{.random}}-{{  .cluster.name}}"];
const UNSAFE = [
  "prod-2rp86",
  "{{ .cluster.name }}",
  "{{ if false }}{{ .random }}{{ end }}prod",
  "{{/* {{ .random }} */}}prod",
  '{{ with "prod" }}{{ . }}{{ else }}{{ .random }}{{ end }}',
  "{{ slice .random 0 0 }}prod",
];

test("a class that can choose a name is refused, because Cluster API would take over what has that name", async () => {
  const tried = classOf("tried", { controlPlane: "prod" });
  await cp.waitFor("protect-names to be in force", async () => {
    if (await isRefused(tenant.create(tried))) return true;
    await cp.delete(refOf(tried));
    return false;
  });
  for (const [i, template] of UNSAFE.entries()) {
    for (const place of ["infrastructure", "controlPlane", "machines", "pool"])
      await refused(tenant.create(classOf(`unsafe-${i}`, { [place]: template })), NAME_REFUSAL);
    await refused(tenant.create(olderClassOf(`unsafe-${i}`, template)), NAME_REFUSAL);
  }
  for (const [i, template] of SAFE.entries()) {
    await tenant.create(classOf(`safe-${i}`, { infrastructure: template, controlPlane: template }));
    await tenant.create(olderClassOf(`older-${i}`, template));
  }
  const topology = "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}";
  await refused(tenant.create(classOf("workers", { machines: topology })), NAME_REFUSAL);

  const ref = (name: string): Ref => ({ apiVersion: CLUSTER_API, kind: "ClusterClass", namespace: NS, name });
  const named = (template: string): object => ({ spec: { controlPlane: { naming: { template } } } });
  await refused(tenant.patch(ref("safe-0"), named("prod")), NAME_REFUSAL);
  await tenant.patch(ref("old"), { metadata: { labels: { "still-free": "" } } });
  await refused(tenant.patch(ref("old"), named("another")), NAME_REFUSAL);
  await tenant.patch(ref("old"), named("prod-{{ .random }}"));
  await manager.create(classOf("listed", { controlPlane: "prod" }));
});

test("not even Cluster API can give a KubeadmControlPlane names of machines without a random part", async () => {
  const controlPlane = (version: string, name: string, spec: object): KubeObject => ({
    apiVersion: `controlplane.cluster.x-k8s.io/${version}`,
    kind: "KubeadmControlPlane",
    metadata: { name, namespace: NS },
    spec,
  });
  for (const [version, field] of [
    ["v1beta2", "machineNaming"],
    ["v1beta1", "machineNamingStrategy"],
  ] as const) {
    for (const template of UNSAFE)
      await refused(manager.create(controlPlane(version, "unsafe", { [field]: { template } })), NAME_REFUSAL);
    const template = "{{ .kubeadmControlPlane.name }}-{{ .random }}";
    await manager.create(controlPlane(version, `safe-${version}`, { [field]: { template } }));
    await manager.create(controlPlane(version, `unnamed-${version}`, {}));
  }
});

test("without protect-names, a class of that name upgrades the control plane of a Cluster that is held", async () => {
  await createCluster(cp, { namespace: NS, name: "kept", annotations: { "example.com/kept": "" } });
  await isCreated(cp, NS, "kept");
  await provision(cp, NS, "kept");
  await upgrade(cp, NS, "kept");
  const held = async (): Promise<boolean> =>
    (await topologyMessage(cp, NS, "kept")).includes("BeforeClusterUpgrade: ClusterHookPolicy protect");
  await cp.waitFor("the upgrade to be held", held);
  const { controlPlaneRef, infrastructureRef } = (await cp.get(clusterRef(NS, "kept")))["spec"];
  const thief = classOf("thief", {
    controlPlane: controlPlaneRef.name,
    infrastructure: infrastructureRef.name,
  });
  await refused(tenant.create(thief), NAME_REFUSAL);

  const [apiVersion, kind] = ["admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"];
  await cp.delete({ apiVersion, kind, name: "hookpolicy-protect-names" });
  await cp.waitFor("the class to be free", async () => await tenant.create(thief).catch(() => undefined));
  const topology = { classRef: { name: "thief" }, version: NEXT_VERSION };
  await cp.waitFor("Cluster API to know the class", async () => {
    const metadata = { namespace: NS, name: "other", annotations: { "example.com/kept": "" } };
    const cluster = { apiVersion: CLUSTER_API, kind: "Cluster", metadata, spec: { topology } };
    return await tenant.create(cluster).catch(() => undefined);
  });
  const plane = { kind: "LabControlPlane", namespace: NS, name: controlPlaneRef.name };
  await cp.waitFor("the control plane of the Cluster that is held to be upgraded", async () => {
    const { spec } = await cp.get({ apiVersion: LAB_CONTROL_PLANE, ...plane });
    return spec?.version === NEXT_VERSION;
  });
});
