/**
 * With a Cluster, Cluster API deletes what it refers to, whoever owns that. A Cluster without topology is asked about at no
 * hook, so protect-marks lets only Cluster API set references.
 */

import assert from "node:assert/strict";
import { cp as copyFolder, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { ApiError, type Client, objectsOf, type Ref } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { clusterRef, createCluster, installLab, provision } from "../controlplane/lab.ts";
import { CLUSTER_API, LAB_CONTROL_PLANE, LAB_INFRASTRUCTURE } from "../controlplane/lab-kinds.ts";
import { installHookPolicy, startOperator } from "../controlplane/operator.ts";
import { applyPolicy, clusterPolicyRef, statusOf } from "../controlplane/policies.ts";
import { isCreated } from "./fleet.ts";
import { blocksOf, ROOT } from "./recipe-pages.ts";

const NS = "team-a";
const REFUSAL = /only Cluster API may set spec\.controlPlaneRef and spec\.infrastructureRef/;
const RBAC = "rbac.authorization.k8s.io";

let cp: ControlPlane;
/** May write Clusters of the namespace, and nothing else. */
let tenant: Client;
before(async () => {
  cp = await startControlPlane({ seed: "clusterApi" });
  await installHookPolicy(cp);
  const manager = { kind: "ServiceAccount", namespace: "capi-system", name: "capi-manager" };
  const writer = { kind: "ServiceAccount", namespace: NS, name: "tenant" };
  const bound = (kind: string, name: string) => ({ apiGroup: RBAC, kind, name });
  await cp.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "capi-system" } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NS } },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { namespace: "capi-system", name: "capi-manager" },
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: NS, name: "tenant" } },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "Role",
      metadata: { namespace: NS, name: "tenant" },
      rules: [{ apiGroups: ["cluster.x-k8s.io"], resources: ["clusters"], verbs: ["*"] }],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: { namespace: NS, name: "tenant" },
      roleRef: bound("Role", "tenant"),
      subjects: [writer],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "capi-manager" },
      roleRef: bound("ClusterRole", "cluster-admin"),
      subjects: [manager],
    },
  ]);
  const kubeconfig = await cp.kubeconfigFor("capi-system", "capi-manager");
  const [operator] = await Promise.all([startOperator(cp), installClusterApi(cp, { kubeconfig })]);
  await installLab(cp);
  await registerExtension(cp, { name: "hookpolicy", url: operator.url });
  tenant = cp.as(await cp.tokenFor(NS, "tenant"));
  await cp.apply(await protectMarks());
  await applyPolicy(cp, clusterPolicyRef("protect"), {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": NS } },
    rules: [
      {
        name: "approved",
        hooks: ["BeforeClusterDelete"],
        until: [{ name: "approved", annotation: { key: "hooks.example.com/ok", from: "Namespace" } }],
        retryAfterSeconds: 5,
      },
    ],
  });
});
after(async () => {
  tenant?.close();
  await cp?.stop();
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
  return rendered.filter(({ metadata }) => metadata.name === "hookpolicy-protect-marks");
}

async function refused(attempt: Promise<unknown>): Promise<void> {
  const error: unknown = await attempt.then(
    () => undefined,
    (e: unknown) => e,
  );
  assert.ok(error instanceof ApiError, "it was not refused");
  assert.match(error.message, REFUSAL);
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
    await tenant.request("POST", `${base}?dryRun=All`, thief).then(
      () => true,
      () => false,
    );
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
