/** What a held Cluster owns is deleted by others than Cluster API, with a real garbage collector: everything that users look at shows it. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import test, { after, describe } from "node:test";
import { promisify } from "node:util";
import type { DecisionRow } from "../../src/api/hook-policy.ts";
import { diagnose } from "../../src/cli/doctor/command.ts";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import { clusterRef, createCluster, deleteCluster, provision, upgrade } from "../controlplane/lab.ts";
import { LAB_CONTROL_PLANE, LAB_INFRASTRUCTURE } from "../controlplane/lab-kinds.ts";
import {
  applyPolicy,
  approvalRule,
  approve,
  conditionIs,
  eventAbout,
  policyRow,
  noRow,
  policyRef,
  statusOf,
} from "../controlplane/policies.ts";
import { may } from "../controlplane/may.ts";
import { NAMESPACE } from "../controlplane/operator.ts";
import { environment } from "../controlplane/processes.ts";
import { askedAgain, isSeenByCollector, restartOperator, startFleet, topologySays } from "./fleet.ts";
import { ROOT } from "./pages.ts";
import { pathOfPrograms } from "./programs.ts";

const run = promisify(execFile);
const HOOK = "BeforeClusterDelete";
const FOREGROUND = "foregroundDeletion";
const PROVIDER = "lab.example.com/cloud";

const fleet = await startFleet();
after(async () => fleet.cp.stop());
// With the rights of the manifests, and no more.
await restartOperator(fleet, { kubeconfig: await fleet.cp.kubeconfigFor(NAMESPACE, "hookpolicy") });

describe("a held Cluster of which others delete what it owns", () => {
  async function running(namespace: string, workers = false): Promise<void> {
    const { cp } = fleet;
    const upgrades = { ...approvalRule("BeforeClusterUpgrade"), name: "upgrades" };
    const rules = [approvalRule(HOOK), upgrades];
    await applyPolicy(cp, policyRef(namespace, "protect"), { rules });
    await createCluster(cp, { namespace, name: "c1", workers });
    const labels = { "hookpolicy.dev/foreground-deletion": "allowed" };
    await cp.patch({ apiVersion: "v1", kind: "Namespace", name: namespace }, { metadata: { labels } });
    await provision(cp, namespace, "c1");
  }

  async function held(namespace: string, workers = false): Promise<void> {
    const { cp } = fleet;
    await running(namespace, workers);
    await deleteCluster(cp, namespace, "c1");
    const row = await policyRow(cp, policyRef(namespace, "protect"), "c1", HOOK);
    assert.equal(row.tornDown, undefined);
  }

  async function part(namespace: string, field: "controlPlaneRef" | "infrastructureRef"): Promise<Ref> {
    const { kind, name } = (await fleet.cp.get(clusterRef(namespace, "c1"))).spec[field];
    const apiVersion = field === "controlPlaneRef" ? LAB_CONTROL_PLANE : LAB_INFRASTRUCTURE;
    return { apiVersion, kind, namespace, name };
  }

  /** As a provider that has a cloud to clean up: the object stays while it is being deleted. */
  async function keep(ref: Ref): Promise<void> {
    await fleet.cp.patch(ref, { metadata: { finalizers: [PROVIDER] } });
  }

  /** Until this object is gone, the garbage collector keeps its finalizer on the Cluster. */
  async function blockCollection(namespace: string): Promise<Ref> {
    const { apiVersion, kind, metadata } = await fleet.cp.get(clusterRef(namespace, "c1"));
    const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true };
    const ref = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "blocker" };
    await fleet.cp.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: "blocker", ownerReferences: [owner], finalizers: [PROVIDER] },
    });
    return ref;
  }

  async function tornRow(namespace: string, reason: string, message: RegExp): Promise<DecisionRow> {
    const policy = policyRef(namespace, "protect");
    return await fleet.cp.waitFor(`the row to say ${message}`, async () => {
      const row = statusOf(await fleet.cp.get(policy)).decisions?.find(({ cluster }) => cluster === "c1");
      return row?.tornDown?.reason === reason && message.test(row.tornDown.message) && row;
    });
  }

  const hookpolicy = async (...args: readonly string[]): Promise<string> => {
    const argv = [join(ROOT, "dist/main.js"), ...args, "--kubeconfig", fleet.cp.adminKubeconfig];
    return (await run(process.execPath, argv)).stdout;
  };

  async function everythingShows(namespace: string, reason: string, message: RegExp): Promise<void> {
    const { cp, operator } = fleet;
    const name = `${namespace}/c1`;
    assert.equal((await tornRow(namespace, reason, message)).verdict, "Blocked");
    const condition = await conditionIs(cp, policyRef(namespace, "protect"), "TornDown", reason);
    assert.match(condition.message, new RegExp(name));
    const listed = await cp.kubectl("get", "hookpolicy", "-n", namespace);
    assert.match(listed, new RegExp(`ALARM[^]*${reason}`));
    for (const about of [
      { kind: "Cluster", name: "c1" },
      { kind: "HookPolicy", name: "protect" },
    ]) {
      const event: KubeObject = await eventAbout(cp, { namespace, ...about }, "TornDown");
      assert.equal(event["type"], "Warning");
    }
    const gauge = `hookpolicy_torn_down_clusters{reason="${reason}"}`;
    const line = (await operator.scrape()).split("\n").find((each) => each.startsWith(gauge));
    assert.ok(Number(line?.split(" ")[1]) > 0, line);
    const logged = operator.lines().filter(({ msg }) => msg === "A held Cluster is being torn down");
    assert.ok(logged.some((each) => each["cluster"] === name && each["level"] === "error"));
    assert.match(await hookpolicy("explain", name), new RegExp(`^ALARM: .*${message.source}`));
    assert.match(await hookpolicy("get", "-n", namespace), new RegExp(`ALARM: ${name} is torn down`));
    const checks = await diagnose({ kubeconfig: cp.adminKubeconfig });
    const { state, problems = [] } = checks.find((each) => each.name === "owned objects") ?? {};
    assert.equal(state, "error");
    assert.ok(problems.some(({ detail }) => detail.startsWith(`${name}: `)));
  }

  test("by a second deletion in the foreground, to which no hook says anything", async () => {
    const { cp } = fleet;
    await held("foreground");
    const policy = policyRef("foreground", "protect");
    const parts = [
      await part("foreground", "controlPlaneRef"),
      await part("foreground", "infrastructureRef"),
    ];
    const blocker = await blockCollection("foreground");
    await isSeenByCollector(cp, "foreground");
    await cp.delete(clusterRef("foreground", "c1"), "Foreground");
    await everythingShows(
      "foreground",
      "ForegroundDeletion",
      /the garbage collector deletes what the Cluster owns/,
    );
    await tornRow("foreground", "ForegroundDeletion", /LabControlPlane .* is gone; LabCluster .* is gone/);
    for (const ref of parts) assert.equal(await cp.find(ref), undefined);
    assert.ok(await cp.find(clusterRef("foreground", "c1")), "the Cluster itself is held");
    // Nothing more is said, or written, while nothing changes.
    const { resourceVersion } = (await cp.get(policy)).metadata;
    await askedAgain(fleet, "foreground/c1", HOOK, 3);
    assert.equal((await cp.get(policy)).metadata.resourceVersion, resourceVersion);
    // The garbage collector has finished, and takes its finalizer away.
    await cp.patch(blocker, { metadata: { finalizers: null } });
    await tornRow("foreground", "OwnedObjectsDeleted", /LabControlPlane .* is gone; LabCluster .* is gone/);
    await approve(cp, "foreground", "c1");
    await noRow(cp, policy, "c1", HOOK);
    await cp.waitFor("the condition to end", async () =>
      (statusOf(await cp.get(policy)).conditions ?? []).every(({ type }) => type !== "TornDown"),
    );
  });

  test("by hand, control plane first, without the right to see it", async () => {
    await held("by-hand");
    await fleet.cp.delete(await part("by-hand", "controlPlaneRef"));
    await everythingShows(
      "by-hand",
      "OwnedObjectsDeleted",
      /LabControlPlane .* is gone: Cluster API has not/,
    );
  });

  test("while an upgrade is held", async () => {
    const { cp } = fleet;
    await running("upgrading");
    await upgrade(cp, "upgrading", "c1");
    await topologySays(cp, "upgrading", "c1", /BeforeClusterUpgrade/);
    await cp.delete(await part("upgrading", "infrastructureRef"));
    const { hook } = await tornRow("upgrading", "OwnedObjectsDeleted", /LabCluster .* is gone/);
    assert.equal(hook, "BeforeClusterUpgrade");
  });

  test("is named before its deletion, which a finalizer would make one in the foreground", async () => {
    const { cp } = fleet;
    await running("danger");
    const ref = clusterRef("danger", "c1");
    const { finalizers = [] } = (await cp.get(ref)).metadata;
    await cp.patch(ref, { metadata: { finalizers: [...finalizers, FOREGROUND] } });
    const text = await hookpolicy("explain", "danger/c1");
    assert.match(text, /^ALARM: a deletion without a propagation policy will delete what the Cluster owns/);
    const command = /run +(kubectl patch .*)/.exec(text)?.[1] ?? "";
    assert.match(command, /remove/);
    const env = environment({ KUBECONFIG: cp.adminKubeconfig, PATH: await pathOfPrograms(cp) });
    await run("bash", ["-ec", command], { env });
    await cp.request("DELETE", `/apis/cluster.x-k8s.io/v1beta2/namespaces/danger/clusters/c1`);
    await policyRow(cp, policyRef("danger", "protect"), "c1", HOOK);
    await askedAgain(fleet, "danger/c1", HOOK, 3);
    for (const field of ["controlPlaneRef", "infrastructureRef"] as const) {
      const found = await cp.get(await part("danger", field));
      assert.equal(found.metadata.deletionTimestamp, undefined);
    }
  });

  test("is seen while a part is being deleted, with the right to see it", async () => {
    const { cp } = fleet;
    await held("seen");
    const controlPlane = await part("seen", "controlPlaneRef");
    await keep(controlPlane);
    await cp.apply({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: {
        name: "hookpolicy-owned-objects",
        labels: { "hookpolicy.dev/aggregate-to-operator": "true" },
      },
      rules: [
        {
          apiGroups: ["controlplane.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"],
          resources: ["*"],
          verbs: ["list", "watch"],
        },
      ],
    });
    // The operator tries again after minutes only: a hold that begins now finds the right.
    const right = { verb: "list", resource: "labcontrolplanes.controlplane.cluster.x-k8s.io" };
    const user = `system:serviceaccount:${NAMESPACE}:hookpolicy`;
    await cp.waitFor("the operator to have the right", async () => await may(cp, user, right));
    const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy");
    await restartOperator(fleet, { name: "again", kubeconfig });
    await cp.delete(controlPlane);
    await everythingShows(
      "seen",
      "OwnedObjectsDeleted",
      /LabControlPlane .* is being deleted: Cluster API has not/,
    );
    await cp.patch(controlPlane, { metadata: { finalizers: null } });
    await tornRow("seen", "OwnedObjectsDeleted", /LabControlPlane .* is gone/);
  });

  test("stops where the Cluster is paused: Cluster API removes nothing more", async () => {
    const { cp } = fleet;
    await held("paused", true);
    const deployments = {
      apiVersion: "cluster.x-k8s.io/v1beta2",
      kind: "MachineDeployment",
      namespace: "paused",
    };
    await cp.waitFor("the MachineDeployment", async () => (await cp.list(deployments)).length === 1);
    await blockCollection("paused");
    await cp.patch(clusterRef("paused", "c1"), { spec: { paused: true } });
    await cp.delete(clusterRef("paused", "c1"), "Foreground");
    await tornRow("paused", "ForegroundDeletion", /the garbage collector deletes/);
    // The garbage collector may leave to the end what does not block it (processDeletingDependentsItem).
    const [deployment] = await cp.list(deployments);
    assert.ok(deployment);
    const ref = { ...deployments, name: deployment.metadata.name };
    await cp.delete(ref);
    assert.ok((await cp.get(ref)).metadata.deletionTimestamp, "Cluster API's finalizer keeps it");
    await cp.patch(clusterRef("paused", "c1"), { spec: { paused: null } });
    await cp.waitFor("Cluster API to remove it", async () => (await cp.list(deployments)).length === 0);
  });
});
