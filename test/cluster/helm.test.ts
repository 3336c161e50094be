/** The chart of the release with real helm, where its Job and the operator are Pods. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { createCluster, deleteCluster, waitUntilGone } from "../controlplane/lab.ts";
import { applyPolicy, approvalRule, condition, policyRow, policyRef } from "../controlplane/policies.ts";
import { helmIn } from "../install/tools.ts";
import { attachCluster, isRolledOut } from "./cluster.ts";
import { failuresOf, loadUntil } from "./load.ts";
import {
  CRDS,
  DEPLOYMENT,
  hookpolicy,
  isInstalled,
  leftovers,
  NAMESPACE,
  nodeOf,
  replicas,
} from "./operator-pods.ts";
import { CHART } from "./product.ts";

const IN_NAMESPACE = ["--namespace", NAMESPACE];
const HOOK = "BeforeClusterDelete";
const POLICY = policyRef("team-helm", "protect");

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
});
after(async () => {
  await cluster?.kubectl("uncordon", "n1", "n2");
  await cluster?.kubectl("delete", "crd", ...CRDS, "--ignore-not-found");
  await cluster?.stop();
});

const helm = async (...args: readonly string[]): Promise<string> => await helmIn(cluster, ...args);

async function install(...values: readonly string[]): Promise<void> {
  await helm("install", "hookpolicy", CHART, ...IN_NAMESPACE, "--create-namespace", ...values);
  await cluster.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted");
  await isInstalled(cluster);
  assert.deepEqual((await replicas(cluster)).map(nodeOf).toSorted(), ["n1", "n2"]);
}

test("helm installs, and upgrades and rolls back without a failed call", async (t) => {
  await install();
  for (const command of [
    [
      "upgrade",
      "hookpolicy",
      CHART,
      ...IN_NAMESPACE,
      "--reset-then-reuse-values",
      "--set",
      "podLabels.round=two",
    ],
    ["rollback", "hookpolicy", "1", ...IN_NAMESPACE],
  ]) {
    const calls = await loadUntil(cluster, async () => {
      await helm(...command);
      await isRolledOut(cluster, NAMESPACE, DEPLOYMENT.name);
    });
    t.diagnostic(`${command[0]}: ${calls.length} calls`);
    assert.deepEqual(failuresOf(calls), []);
  }
});

test("helm uninstall refuses while a Cluster is held; released by hand, it keeps the policies, and these say that the operator is gone", async () => {
  await applyPolicy(cluster, POLICY, { rules: [approvalRule(HOOK)] });
  await createCluster(cluster, { namespace: "team-helm", name: "prod" });
  await deleteCluster(cluster, "team-helm", "prod");
  await policyRow(cluster, POLICY, "prod", HOOK);
  await assert.rejects(helm("uninstall", "hookpolicy", ...IN_NAMESPACE), /hookpolicy-uninstall/);
  await policyRow(cluster, POLICY, "prod", HOOK);
  await hookpolicy(cluster, "prepare-uninstall", "--yes", "--release-held-clusters");
  await helm("uninstall", "hookpolicy", ...IN_NAMESPACE);
  await waitUntilGone(cluster, "team-helm", "prod");
  const { status, reason } = condition(await cluster.get(POLICY), "Ready") ?? {};
  assert.deepEqual([status, reason], ["Unknown", "OperatorGone"]);
  await assert.rejects(hookpolicy(cluster, "doctor"), /prepare-uninstall has stopped the operator/);
  assert.deepEqual(await leftovers(cluster), []);
});

test("a policy that was kept holds again after the next installation", async () => {
  await install("--set", "uninstall.activeDeadlineSeconds=10");
  await cluster.waitFor("the policy to be Ready", async () => {
    return condition(await cluster.get(POLICY), "Ready")?.status === "True";
  });
  await createCluster(cluster, { namespace: "team-helm", name: "prod" });
  await deleteCluster(cluster, "team-helm", "prod");
  await policyRow(cluster, POLICY, "prod", HOOK);
});

test("helm uninstall without a node for its Job fails at its deadline, and the page's commands finish it", async () => {
  await cluster.kubectl("cordon", "n1", "n2");
  await assert.rejects(
    helm("uninstall", "hookpolicy", ...IN_NAMESPACE),
    /hookpolicy-uninstall not ready.*Job Failed/,
  );
  const job = await cluster.kubectl("describe", "job", "-n", NAMESPACE, "hookpolicy-uninstall");
  assert.match(job, /DeadlineExceeded/);
  assert.equal((await cluster.get(DEPLOYMENT))["status"].availableReplicas, 2); // it goes on holding
  await policyRow(cluster, POLICY, "prod", HOOK);

  await hookpolicy(cluster, "prepare-uninstall", "--yes", "--release-held-clusters");
  await helm("uninstall", "hookpolicy", ...IN_NAMESPACE, "--no-hooks");
  const ours = ["hookpolicy-uninstall", "--ignore-not-found"];
  await cluster.kubectl("delete", "job,serviceaccount,role,rolebinding", "-n", NAMESPACE, ...ours);
  await cluster.kubectl("delete", "clusterrole,clusterrolebinding", ...ours);
  await waitUntilGone(cluster, "team-helm", "prod");
  assert.deepEqual(await leftovers(cluster), []);
});
