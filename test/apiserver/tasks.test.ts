/** Tasks on a real API server: what a call stores, what the leader does about it, and when the Cluster is released. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { TaskSpec } from "../../src/api/hook-policy.ts";
import { dies, isTaskStatus } from "../controlplane/dying.ts";
import { clusterRef, isGone } from "../controlplane/lab.ts";
import { APPROVED, policyRef, storeOverride } from "../controlplane/policies.ts";
import { allow, createAccountWith } from "../controlplane/rights.ts";
import type { SeenRequest } from "../controlplane/proxy.ts";
import {
  ACCOUNT,
  allowImpersonation,
  endJob,
  HOOK_TASKS,
  jobsIn,
  jobTask,
  openJob,
  taskIs,
  tasksIn,
} from "../controlplane/tasks.ts";
import { HOOK, startTaskLab } from "./task-lab.ts";

const approved = [{ name: "approved", annotation: { key: APPROVED } }];
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const NO_CONTAINERS = {
  apiVersion: "batch/v1",
  kind: "Job",
  spec: { template: { spec: { restartPolicy: "Never" } } },
};
const MAY_WRITE_CONFIG_MAPS = [allow("", "configmaps", "create", "get", "list", "patch", "delete")];

const { lab, cp, tasks } = await startTaskLab();
after(async () => await lab.stop());

describe("tasks", () => {
  test("begin when every gate is met, and hold the Cluster until the Job is complete", async () => {
    const ns = "story";
    await tasks.policy(ns, { until: approved, tasks: [jobTask("clean")] });
    await tasks.deletedCluster(ns);
    await tasks.isHeld(ns, /gate approved/);
    assert.deepEqual(await tasksIn(cp, ns), []);
    await tasks.approve(ns);
    await tasks.asksUntilStored(ns);
    const job = await openJob(cp, ns);
    assert.equal(job["spec"].template.spec.containers[0].env[0].value, "c1");
    await tasks.isHeld(ns, /task clean runs/);
    assert.ok(((await tasks.ask(ns)).retryAfterSeconds ?? 0) <= 10);
    await endJob(cp, job, "Complete");
    const task = await taskIs(cp, ns, "Succeeded");
    assert.equal(task.status?.object, `Job/${job.metadata.name}`);
    await tasks.isReleased(ns);
    assert.equal((await jobsIn(cp, ns)).length, 1);
  });

  test("create one Job, wherever the operator dies while it does so", async () => {
    const ns = "died";
    const dying = { cp, proxy: lab.proxy, operator: () => lab.operator };
    const creates = ({ method, path }: SeenRequest): boolean =>
      method === "POST" && path === `/apis/batch/v1/namespaces/${ns}/jobs`;
    await tasks.policy(ns, { tasks: [jobTask("clean")] });
    await tasks.deletedCluster(ns);
    const unstored = dies(dying, "the HookTask is stored, and no attempt", isTaskStatus);
    await cp.waitFor("a HookTask", async () => {
      // It may die before it has answered.
      await tasks.ask(ns).catch(() => undefined);
      return (await tasksIn(cp, ns)).length === 1;
    });
    await unstored;
    const uncreated = dies(dying, "the attempt is stored, and no Job", creates);
    await lab.start({ waitReady: false });
    await uncreated;
    assert.deepEqual(await jobsIn(cp, ns), []);
    const unknown = dies(
      dying,
      "the Job is there, and not in the status",
      (request, asked) => isTaskStatus(request) && asked.some(creates),
    );
    await lab.start({ waitReady: false });
    await unknown;
    assert.equal((await jobsIn(cp, ns)).length, 1);
    await lab.start();
    await endJob(cp, await openJob(cp, ns), "Complete");
    const { status } = await taskIs(cp, ns, "Succeeded");
    assert.equal(status?.begun, 1);
    await tasks.isReleased(ns);
    assert.equal((await jobsIn(cp, ns)).length, 1);
    assert.equal((await tasksIn(cp, ns)).length, 1);
  });

  test("run one after the other", async () => {
    const ns = "one-by-one";
    await tasks.begins(ns, { tasks: [jobTask("first"), jobTask("second")] });
    const first = await openJob(cp, ns);
    await tasks.ask(ns);
    assert.equal((await tasksIn(cp, ns)).length, 1);
    await endJob(cp, first, "Complete");
    await tasks.asksUntilStored(ns, 2);
    await tasks.completes(ns);
    assert.deepEqual(
      (await tasksIn(cp, ns)).map(({ spec }) => spec.task),
      ["first", "second"],
    );
  });

  test("hold a Cluster after the last attempt has failed, until a person retries", async () => {
    const ns = "retried";
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await endJob(cp, await openJob(cp, ns), "Failed");
    const task = await taskIs(cp, ns, "Failed", ({ status }) => /backoff limit/.test(status?.message ?? ""));
    const command = `hookpolicy task retry ${ns}/${task.metadata.name}`;
    await tasks.isHeld(ns, new RegExp(`task clean has failed .${command}`));
    await tasks.retry(task);
    await tasks.completes(ns);
    assert.equal((await tasksIn(cp, ns)).length, 1);
    assert.equal((await jobsIn(cp, ns)).length, 2);
  });

  test("let the Cluster proceed after a failure where onFailure says so", async () => {
    const ns = "proceeds";
    await tasks.begins(ns, { tasks: [jobTask("clean", { onFailure: "Proceed" })] });
    await endJob(cp, await openJob(cp, ns), "Failed");
    await taskIs(cp, ns, "Failed");
    await tasks.isReleased(ns);
  });

  test("fail when their object is deleted before it is done", async () => {
    const ns = "vanished";
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    const { metadata } = await openJob(cp, ns);
    await cp.delete({ apiVersion: "batch/v1", kind: "Job", namespace: ns, name: metadata.name });
    const { status } = await taskIs(cp, ns, "Failed");
    assert.equal(status?.attempts?.[0]?.outcome, "Vanished");
    assert.match(status?.message ?? "", /^Job clean-\w+ is gone, and was not seen to be done$/);
    await tasks.isHeld(ns, /has failed/);
  });

  test("do nothing until the operator may act as their ServiceAccount, and say so", async () => {
    const ns = "no-opt-in";
    await tasks.begins(ns, { tasks: [jobTask("clean")] }, { optIn: false });
    await taskIs(cp, ns, "Pending", ({ status }) => /forbidden.*hookpolicy/.test(status?.message ?? ""));
    assert.deepEqual(await jobsIn(cp, ns), []);
    await allowImpersonation(cp, ns);
    await tasks.completes(ns);
  });

  test("begin with another ServiceAccount after the one before could do nothing until the time-out", async () => {
    const ns = "corrected";
    const task = jobTask("clean", { timeout: "1s" });
    const first = await tasks.begins(ns, { tasks: [task] }, { name: "wrong", optIn: false });
    await cp.waitFor("the task to fail", async () =>
      (await tasksIn(cp, ns)).some(({ status }) => status?.attempts?.[0]?.outcome === "TimedOut"),
    );
    await tasks.policy(ns, { tasks: [{ ...task, timeout: "1h" }] });
    await tasks.asksUntilStored(ns, 2);
    await tasks.completes(ns);
    assert.equal(
      (await cp.get({ ...HOOK_TASKS, namespace: ns, name: first.metadata.name }))["status"].phase,
      "Failed",
    );
  });

  test("of a HookPolicy create nothing outside namespaces, whatever their ServiceAccount may do", async () => {
    const ns = "outside";
    await createAccountWith(cp, ns, ACCOUNT, { everywhere: "cluster-admin" });
    const create = { apiVersion: "v1", kind: "Namespace" };
    await tasks.begins(ns, { tasks: [{ name: "escape", create, succeeded: "true" }] });
    const { status } = await taskIs(cp, ns, "Failed");
    assert.equal(status?.attempts?.[0]?.outcome, "Refused");
    const namespaces = await cp.list({ apiVersion: "v1", kind: "Namespace" });
    assert.deepEqual(
      namespaces.filter(({ metadata }) => metadata.name.startsWith("escape")),
      [],
    );
  });

  test("fail an attempt at once that the API server finds invalid", async () => {
    const ns = "invalid";
    await tasks.begins(ns, { tasks: [{ ...jobTask("clean"), create: NO_CONTAINERS }] });
    const { status } = await taskIs(cp, ns, "Failed");
    assert.equal(status?.attempts?.[0]?.outcome, "Refused");
    assert.match(status?.message ?? "", /invalid/);
  });

  test("apply an object that stays, and wait until it shows that it is done", async () => {
    const ns = "applied";
    await tasks.begins(ns, { tasks: [applied("yes")] }, { rules: MAY_WRITE_CONFIG_MAPS });
    const ref = { ...CONFIG_MAP, namespace: ns, name: "c1-settings" };
    const found = await cp.waitFor("the ConfigMap to be applied", async () => await cp.find(ref));
    assert.deepEqual(found["data"], { wanted: "yes" });
    await taskIs(cp, ns, "Running", ({ status }) => /not yet/.test(status?.message ?? ""));
    await cp.patch(ref, { data: { done: "yes" } });
    await tasks.isReleased(ns);
    assert.notEqual(await cp.find(ref), undefined);
  });

  test("apply again what they applied before a move, which keeps whose the fields are", async () => {
    const ns = "moved";
    const ref = { ...CONFIG_MAP, namespace: ns, name: "c1-settings" };
    const task = (value: string): TaskSpec => ({
      ...applied(value),
      succeeded: "true",
      ownedByCluster: true,
    });
    await tasks.policy(ns, { tasks: [task("yes")] }, { rules: MAY_WRITE_CONFIG_MAPS });
    await tasks.deletedCluster(ns);
    await tasks.isReleased(ns);
    const map = await cp.get(ref);
    const { managedFields } = map.metadata as unknown as { managedFields: unknown };
    await tasks.clusterIsGone(ns);
    for (const gone of [policyRef(ns, "p"), ref]) {
      await cp.delete(gone);
      await isGone(cp, gone);
    }

    // As clusterctl creates the object (mover.go, createTargetObject), then the policy, and the Cluster.
    const { resourceVersion: _, ownerReferences: _owners, ...metadata } = map.metadata;
    await cp.create({ ...map, metadata });
    await cp.patch(ref, { metadata: { managedFields } });
    await tasks.policy(ns, { tasks: [task("no")] }, { rules: MAY_WRITE_CONFIG_MAPS });
    await tasks.deletedCluster(ns);
    await tasks.isReleased(ns);
    const again = await cp.get(ref);
    const { uid } = (await cp.get(clusterRef(ns, "c1"))).metadata;
    assert.deepEqual(again["data"], { wanted: "no" });
    assert.equal(again.metadata.annotations?.["hookpolicy.dev/cluster-uid"], uid);
    assert.deepEqual(
      again.metadata.ownerReferences?.map((owner) => owner.uid),
      [uid],
    );
  });

  test("do not take from another manager what they apply", async () => {
    const ns = "conflict";
    const ref = { ...CONFIG_MAP, namespace: ns, name: "c1-settings" };
    await tasks.policy(ns, { tasks: [applied("yes")] }, { rules: MAY_WRITE_CONFIG_MAPS });
    await cp.apply({ ...CONFIG_MAP, metadata: { namespace: ns, name: ref.name }, data: { wanted: "no" } });
    await tasks.deletedCluster(ns);
    await tasks.asksUntilStored(ns);
    const { status } = await taskIs(cp, ns, "Failed");
    assert.equal(status?.attempts?.[0]?.outcome, "Conflict");
    assert.match(status?.message ?? "", /hookpolicy-test/);
    assert.deepEqual((await cp.get(ref))["data"], { wanted: "no" });
  });

  test("delete what is there at the beginning, and wait until it is gone", async () => {
    const ns = "deleted";
    const labels = { cluster: "c1" };
    const finalizers = ["example.com/slow"];
    const task: TaskSpec = {
      name: "addons",
      delete: { ...CONFIG_MAP, selector: { matchLabels: { cluster: "<< cluster.metadata.name >>" } } },
    };
    await tasks.policy(ns, { tasks: [task] }, { rules: MAY_WRITE_CONFIG_MAPS });
    await cp.apply([
      { ...CONFIG_MAP, metadata: { namespace: ns, name: "a", labels, finalizers } },
      { ...CONFIG_MAP, metadata: { namespace: ns, name: "b", labels } },
      { ...CONFIG_MAP, metadata: { namespace: ns, name: "other", labels: { cluster: "c2" } } },
    ]);
    await tasks.deletedCluster(ns);
    await tasks.asksUntilStored(ns);
    await taskIs(cp, ns, "Running", ({ status }) => /ConfigMap a still exists/.test(status?.message ?? ""));
    const names = async (): Promise<string[]> =>
      (await cp.list({ ...CONFIG_MAP, namespace: ns })).map(({ metadata }) => metadata.name);
    await cp.waitFor("b to be gone", async () => !(await names()).includes("b"));
    await tasks.isHeld(ns, /task addons runs/);
    await cp.patch({ ...CONFIG_MAP, namespace: ns, name: "a" }, { metadata: { finalizers: [] } });
    await tasks.isReleased(ns);
    assert.ok((await names()).includes("other"));
  });

  test("are released by a HookOverride, and begin no attempt that it makes needless", async () => {
    const ns = "overridden";
    await tasks.begins(ns, { tasks: [jobTask("clean", { retries: 1 })] });
    await openJob(cp, ns);
    await storeOverride(cp, ns, { clusterRef: { namespace: ns, name: "c1" }, hooks: [HOOK] });
    await tasks.isReleased(ns);
    await tasks.clusterIsGone(ns);
    await endJob(cp, await openJob(cp, ns), "Failed");
    await taskIs(cp, ns, "Cancelled", ({ status }) => status?.over !== undefined);
    assert.equal((await jobsIn(cp, ns)).length, 1);
  });

  function applied(value: string): TaskSpec {
    return {
      name: "settings",
      apply: {
        ...CONFIG_MAP,
        metadata: { name: "<< cluster.metadata.name >>-settings" },
        data: { wanted: value },
      },
      succeeded: "object.data.done == 'yes'",
    };
  }
});
