/** Tasks under the real Cluster API, which asks again until they are done. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { TaskSpec } from "../../src/api/hook-policy.ts";
import {
  createCluster,
  deleteCluster,
  finishControlPlaneUpgrade,
  NEXT_VERSION,
  provision,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { APPROVED, applyPolicy, approve, policyRow, policyRef } from "../controlplane/policies.ts";
import { allow } from "../controlplane/rights.ts";
import {
  ACCOUNT,
  createAccount,
  endJob,
  jobsIn,
  jobTask,
  openJob,
  taskIs,
  tasksIn,
} from "../controlplane/tasks.ts";
import { isCreated, sharedFleet, topologySays } from "./fleet.ts";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const MAY_WRITE_CONFIG_MAPS = [allow("", "configmaps", "create", "get", "list", "patch", "delete")];

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => cp.stop());

describe("tasks under Cluster API", { concurrency: true }, () => {
  test("hold a deletion that is approved until their Job, which fails once, is complete", async () => {
    const namespace = "job-before-delete";
    const ref = policyRef(namespace, "clean");
    const until = [{ name: "approved", annotation: { key: APPROVED } }];
    const tasks = [jobTask("remove-load-balancers", { retries: 1 })];
    await createAccount(cp, namespace);
    const rules = [{ name: "clean", hooks: ["BeforeClusterDelete"], until, tasks, retryAfterSeconds: 5 }];
    await applyPolicy(cp, ref, { serviceAccountName: ACCOUNT, rules });
    await createCluster(cp, { namespace, name: "c1" });
    await isCreated(cp, namespace, "c1");
    await deleteCluster(cp, namespace, "c1");
    assert.equal((await policyRow(cp, ref, "c1", "BeforeClusterDelete")).gate, "approved");
    assert.deepEqual(await tasksIn(cp, namespace), []);
    await approve(cp, namespace, "c1", APPROVED);
    const first = await openJob(cp, namespace);
    await topologySays(cp, namespace, "c1", /BeforeClusterDelete: .*task remove-load-balancers runs/);
    await endJob(cp, first, "Failed");
    await taskIs(cp, namespace, "Running", ({ status }) => status?.attempts?.[0]?.outcome === "Failed");
    const second = await openJob(cp, namespace);
    assert.notEqual(second.metadata.name, first.metadata.name);
    await endJob(cp, second, "Complete");
    const { status } = await taskIs(cp, namespace, "Succeeded");
    assert.deepEqual(
      status?.attempts?.map(({ outcome }) => outcome),
      ["Failed", "Succeeded"],
    );
    await waitUntilGone(cp, namespace, "c1");
    assert.equal((await jobsIn(cp, namespace)).length, 2);
    await taskIs(cp, namespace, "Succeeded", (task) => task.status?.over !== undefined);
    await cp.delete(ref);
  });

  test("apply an add-on after initialization, hold the upgrade until it is ready, and delete it first", async () => {
    const namespace = "add-on";
    const ref = policyRef(namespace, "add-on");
    const addon = { ...CONFIG_MAP, namespace, name: "c1-addon" };
    const rules = [
      { name: "install", hooks: ["AfterControlPlaneInitialized"], tasks: [applies("FIRST", "true")] },
      {
        name: "upgrade",
        hooks: ["BeforeClusterUpgrade"],
        tasks: [
          applies("<< request.toKubernetesVersion >>", "object.data.ready == request.toKubernetesVersion"),
        ],
        retryAfterSeconds: 5,
      },
      {
        name: "uninstall",
        hooks: ["BeforeClusterDelete"],
        tasks: [{ name: "addon", delete: { ...CONFIG_MAP, name: "<< cluster.metadata.name >>-addon" } }],
        retryAfterSeconds: 5,
      },
    ];
    await createAccount(cp, namespace, { rules: MAY_WRITE_CONFIG_MAPS });
    await applyPolicy(cp, ref, { serviceAccountName: ACCOUNT, rules });
    await createCluster(cp, { namespace, name: "c1" });
    await provision(cp, namespace, "c1");
    const installed = await cp.waitFor("the add-on to be installed", async () => await cp.find(addon));
    assert.deepEqual(installed["data"], { version: "FIRST" });
    await taskIs(cp, namespace, "Succeeded", ({ spec }) => spec.hook === "AfterControlPlaneInitialized");
    await upgrade(cp, namespace, "c1");
    await topologySays(cp, namespace, "c1", /BeforeClusterUpgrade: .*task addon runs/);
    await cp.waitFor(
      "the add-on to be upgraded",
      async () => (await cp.get(addon))["data"].version === NEXT_VERSION,
    );
    await cp.patch(addon, { data: { ready: NEXT_VERSION } });
    await finishControlPlaneUpgrade(cp, namespace, "c1");
    await cp.patch(addon, { metadata: { finalizers: ["example.com/slow"] } });
    await deleteCluster(cp, namespace, "c1");
    await topologySays(cp, namespace, "c1", /BeforeClusterDelete: .*task addon runs/);
    await cp.patch(addon, { metadata: { finalizers: [] } });
    await waitUntilGone(cp, namespace, "c1");
    assert.equal(await cp.find(addon), undefined);
    assert.equal((await tasksIn(cp, namespace)).length, 3);
    await cp.delete(ref);
  });

  function applies(version: string, succeeded: string): TaskSpec {
    const metadata = { name: "<< cluster.metadata.name >>-addon" };
    return { name: "addon", apply: { ...CONFIG_MAP, metadata, data: { version } }, succeeded };
  }
});
