/** The pages of docs/recipes/ whose policies have tasks, done for real; a test writes what a Job or a controller would. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import {
  createCluster,
  deleteCluster,
  FIRST_VERSION,
  NEXT_VERSION,
  provision,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { LAB_CONTROL_PLANE } from "../controlplane/lab-kinds.ts";
import { applyPolicy, approvalRule, policyRef, policyRow } from "../controlplane/policies.ts";
import { definition } from "../controlplane/stand-in.ts";
import { endJob, jobsIn, openJob, taskIs, tasksIn } from "../controlplane/tasks.ts";
import { defineBackups, endBackup, openBackup } from "../controlplane/velero.ts";
import { Recipe, startRecipeFleet, untyped } from "./recipe-fleet.ts";
import { TASK_PAGES } from "./recipe-pages.ts";

const ADDONS = { apiVersion: "addons.cluster.x-k8s.io/v1alpha1", kind: "HelmChartProxy" };

const HELD = { name: "waits", labels: { creation: "held" } };

const fleet = await startRecipeFleet();
after(async () => await fleet.stop());
await defineBackups(fleet.cp);
await fleet.cp.apply(definition("addons.cluster.x-k8s.io", "v1alpha1", "HelmChartProxy", "helmchartproxies"));

/** With the rights of its tasks. */
async function recipe(name: string): Promise<Recipe> {
  const page = new Recipe(fleet.cp, name);
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  await fleet.cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
  await page.type("hookpolicy init tasks");
  return page;
}

/** Its Pod is admitted, too. */
async function runningJob({ namespace }: Recipe): Promise<KubeObject> {
  const job = await openJob(fleet.cp, namespace);
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "probe" }, spec: job["spec"].template.spec };
  await fleet.cp.request("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, JSON.stringify(pod));
  return job;
}

async function remove({ namespace = "", name }: Ref): Promise<void> {
  await deleteCluster(fleet.cp, namespace, name);
}

async function gone({ namespace = "", name }: Ref): Promise<void> {
  await waitUntilGone(fleet.cp, namespace, name);
}

async function heldBy(
  policy: Ref,
  cluster: Ref,
  hook: "BeforeClusterDelete" | "BeforeClusterUpgrade",
  reason: string,
) {
  await fleet.cp.waitFor(`${policy.name} to hold ${cluster.name} as ${reason}`, async () => {
    const row = await policyRow(fleet.cp, policy, cluster.name, hook);
    return row.reason === reason;
  });
}

/** The control plane has been told the new version. */
async function upgrading({ namespace = "", name }: Ref): Promise<void> {
  await fleet.cp.waitFor(`Cluster ${namespace}/${name} to upgrade`, async () => {
    const cluster = await fleet.cp.find({
      apiVersion: "cluster.x-k8s.io/v1beta2",
      kind: "Cluster",
      namespace,
      name,
    });
    const { kind, name: controlPlane } = cluster?.["spec"].controlPlaneRef ?? {};
    const ref = { apiVersion: LAB_CONTROL_PLANE, kind, namespace, name: controlPlane };
    return (await fleet.cp.get(ref))["spec"]?.version === NEXT_VERSION;
  });
}

async function annotate(ref: Ref, annotations: Readonly<Record<string, string>>): Promise<void> {
  await fleet.cp.patch(ref, { metadata: { annotations } });
}

async function approveDeletion(ref: Ref): Promise<void> {
  const { metadata } = await fleet.cp.get(ref);
  await annotate(ref, { "hooks.example.com/delete-approved": metadata.uid ?? "" });
}

function only<T>(all: readonly T[]): T {
  const [one] = all;
  assert.ok(one !== undefined && all.length === 1);
  return one;
}

describe("the recipe", { concurrency: true }, () => {
  test("remove load balancers and volumes first", async () => {
    const page = await recipe("remove-load-balancers");
    const policy = only(await page.apply("kind: HookPolicy\n"));
    await applyPolicy(fleet.cp, policyRef(page.namespace, "creations"), {
      clusterSelector: { matchLabels: HELD.labels },
      rules: [approvalRule("BeforeClusterCreate")],
    });
    const [starts, waits] = [await page.created({ name: "starts" }), await page.created(HELD)];
    await fleet.cp.waitFor("Cluster API to say that neither is initialized", async () => {
      const [{ metadata }, { status }] = [await fleet.cp.get(starts), await fleet.cp.get(waits)];
      const { "runtime.cluster.x-k8s.io/pending-hooks": pending } = metadata.annotations ?? {};
      const why = status?.conditions?.find(
        ({ type }: { readonly type: string }) => type === "ControlPlaneAvailable",
      );
      return pending === "AfterControlPlaneInitialized" && why?.reason === "ObjectDoesNotExist";
    });
    for (const each of [starts, waits]) {
      await remove(each);
      await gone(each);
    }
    assert.deepEqual(await jobsIn(fleet.cp, page.namespace), []);
    const cluster = await page.running();
    await remove(cluster);
    const job = await runningJob(page);
    const [volume] = job["spec"].template.spec.volumes;
    assert.equal(volume.secret.secretName, "prod-1-kubeconfig");
    await heldBy(policy, cluster, "BeforeClusterDelete", "TaskRunning");
    await endJob(fleet.cp, job, "Complete");
    await gone(cluster);
  });

  test("back up before an upgrade", async () => {
    const page = await recipe("backup-at-a-hook");
    only(await page.apply("kind: ClusterHookPolicy"));
    const cluster = await page.running();
    await upgrade(fleet.cp, page.namespace, cluster.name);
    const backup = async (): Promise<Ref> => await openBackup(fleet.cp, `upgrade-${page.namespace}`);
    await endBackup(fleet.cp, await backup(), "PartiallyFailed");
    const { metadata } = await taskIs(fleet.cp, "velero", "Failed");
    await fleet.cp.kubectl("annotate", "hooktask", "-n", "velero", metadata.name, "hookpolicy.dev/retry=now");
    await endBackup(fleet.cp, await backup(), "Completed");
    await upgrading(cluster);
    assert.equal((await tasksIn(fleet.cp, "velero")).length, 1);
  });

  test("a check before the approval", async () => {
    const page = await recipe("preflight-before-approval");
    const policy = only(await page.apply("kind: HookPolicy\n"));
    const cluster = await page.running();
    await upgrade(fleet.cp, page.namespace, cluster.name);
    const job = await runningJob(page);
    const [{ env }] = job["spec"].template.spec.containers;
    assert.deepEqual(env[0], { name: "TARGET_VERSION", value: NEXT_VERSION });
    await heldBy(policy, cluster, "BeforeClusterUpgrade", "WaitingForAnnotation");
    await page.type("kubectl annotate");
    await heldBy(policy, cluster, "BeforeClusterUpgrade", "TaskRunning");
    await endJob(fleet.cp, job, "Complete");
    await upgrading(cluster);
  });

  test("an add-on once the control plane is there", async () => {
    const page = await recipe("add-on-after-initialization");
    only(await page.apply("kind: HookPolicy\n"));
    await createCluster(fleet.cp, { namespace: page.namespace, name: "prod-1" });
    await provision(fleet.cp, page.namespace, "prod-1");
    const ref = { ...ADDONS, namespace: page.namespace, name: "prod-1-network" };
    const values = async (version: string): Promise<KubeObject> =>
      await fleet.cp.waitFor(`the add-on to be of ${version}`, async () => {
        const found = await fleet.cp.find(ref);
        return found?.["spec"].valuesTemplate === `kubernetes: ${version}` && found;
      });
    const { metadata } = await values(FIRST_VERSION);
    assert.equal(metadata.ownerReferences?.[0]?.kind, "Cluster");
    await upgrade(fleet.cp, page.namespace, "prod-1");
    const { metadata: changed } = await values(NEXT_VERSION);
    // There is no subresource here, so the status counts as a change.
    const observedGeneration = (changed.generation ?? 0) + 1;
    const conditions = [{ type: "Ready", status: "True" }];
    await fleet.cp.patch(ref, { status: { observedGeneration, conditions } });
    await upgrading({ ...ref, name: "prod-1" });
  });

  test("uninstall add-ons first", async () => {
    const page = await recipe("uninstall-add-ons-first");
    const policy = only(await page.apply("kind: HookPolicy\n"));
    const cluster = await page.running();
    const addon = (name: string, of: string): KubeObject => ({
      ...ADDONS,
      metadata: {
        namespace: page.namespace,
        name,
        labels: { "hooks.example.com/cluster": of },
        finalizers: ["helmchartproxy.addons.cluster.x-k8s.io"],
      },
      spec: {},
    });
    await fleet.cp.apply([addon("ingress", "prod-1"), addon("others", "prod-2")]);
    const ingress = { ...ADDONS, namespace: page.namespace, name: "ingress" };
    await remove(cluster);
    await heldBy(policy, cluster, "BeforeClusterDelete", "WaitingForAnnotation");
    await approveDeletion(cluster);
    await fleet.cp.waitFor(
      "the add-on to be deleted",
      async () => (await fleet.cp.get(ingress)).metadata.deletionTimestamp !== undefined,
    );
    await heldBy(policy, cluster, "BeforeClusterDelete", "TaskRunning");
    await fleet.cp.patch(ingress, { metadata: { finalizers: [] } });
    await gone(cluster);
    const others = await fleet.cp.get({ ...ingress, name: "others" });
    assert.equal(others.metadata.deletionTimestamp, undefined);
  });

  test("tell a channel before a deletion", async () => {
    const page = await recipe("tell-a-channel");
    await page.type("kubectl create secret");
    only(await page.apply("kind: HookPolicy\n"));
    const cluster = await page.running();
    await remove(cluster);
    await approveDeletion(cluster);
    const job = await runningJob(page);
    const [{ env }] = job["spec"].template.spec.containers;
    assert.deepEqual(env[0], { name: "CLUSTER", value: `${page.namespace}/prod-1` });
    await endJob(fleet.cp, job, "Failed");
    await gone(cluster);
    await taskIs(fleet.cp, page.namespace, "Failed");
  });
});

test("every command of these pages was typed", () => {
  for (const page of TASK_PAGES) assert.deepEqual(untyped(page), [], page);
});
