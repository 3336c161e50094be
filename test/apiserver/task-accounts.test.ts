/** As whom tasks act, and what nobody can make them do: the API server's audit log says who asked for what. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { HookTaskSpec, TaskSpec } from "../../src/api/hook-policy.ts";
import { CLUSTER_UID } from "../../src/policy/tasks/template-metadata.ts";
import { renderedHash, taskName } from "../../src/policy/tasks/task-identity.ts";
import type { KubeObject } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster, FIRST_VERSION } from "../controlplane/lab.ts";
import { installHookPolicy, NAMESPACE } from "../controlplane/operator.ts";
import { applyPolicy, clusterPolicyRef } from "../controlplane/policies.ts";
import { startProxy } from "../controlplane/proxy.ts";
import { allow } from "../controlplane/rights.ts";
import {
  ACCOUNT,
  createAccount,
  HOOK_TASKS,
  jobsIn,
  jobTask,
  openJob,
  taskIs,
  tasksIn,
} from "../controlplane/tasks.ts";
import { AuditLog } from "./grants.ts";
import { inParallel, Lab } from "./operator-lab.ts";
import { HOOK, TaskLab } from "./task-lab.ts";

const OPERATOR = `system:serviceaccount:${NAMESPACE}:hookpolicy`;
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };

describe("the accounts of tasks", () => {
  let lab: Lab;
  let cp: ControlPlane;
  let tasks: TaskLab;
  let audit: AuditLog;

  before(async () => {
    audit = await AuditLog.of(OPERATOR);
    cp = await startControlPlane({ apiServerArgs: audit.args, seed: "cluster" });
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
    lab = new Lab(cp, proxy, await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url }));
    await lab.start();
    tasks = new TaskLab(lab);
  });
  after(async () => {
    await lab?.stop();
    await audit?.remove();
  });

  test("the operator acts as the policy's ServiceAccount, and as no other, reads included", async () => {
    const ns = "audited";
    await createAccount(cp, ns, { name: "other" });
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await tasks.completes(ns);
    const events = audit.seen().filter((seen) => seen.resource === "jobs" && seen.namespace === ns);
    assert.deepEqual(new Set(events.map(({ verb }) => verb)), new Set(["create", "get"]));
    assert.deepEqual(
      new Set(events.map(({ impersonated }) => impersonated)),
      new Set([`system:serviceaccount:${ns}:${ACCOUNT}`]),
    );
  });

  test("an account that is not the namespace's own, or that is not opted in, is never used", async () => {
    const ns = "platform-tasks";
    await createCluster(cp, { namespace: ns, name: "c1", version: FIRST_VERSION });
    const rules = [{ name: "rule", hooks: [HOOK], tasks: [jobTask("clean")], retryAfterSeconds: 5 }];
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns } };
    const serviceAccount = { namespace: "kube-system", name: "namespace-controller" };
    await applyPolicy(cp, clusterPolicyRef("borrowed"), { namespaceSelector, serviceAccount, rules });
    await cp.patch(clusterRef(ns, "c1"), { metadata: { finalizers: ["cluster.cluster.x-k8s.io"] } });
    await cp.delete(clusterRef(ns, "c1"));
    await cp.waitFor("a HookTask to be stored", async () => {
      assert.ok(((await tasks.ask(ns)).retryAfterSeconds ?? 0) > 0);
      return (await tasksIn(cp, "kube-system")).length > 0;
    });
    await taskIs(cp, "kube-system", "Pending", ({ status }) =>
      /cannot impersonate|forbidden/.test(status?.message ?? ""),
    );
    assert.deepEqual(await jobsIn(cp, "kube-system"), []);
    await cp.delete(clusterPolicyRef("borrowed"));
  });

  test("Clusters of one name in two namespaces do not share what a ClusterHookPolicy applies", async () => {
    const platform = "shared-platform";
    await createAccount(cp, platform, { rules: [allow("", "configmaps", "create", "get", "patch")] });
    const metadata = { name: "<< cluster.metadata.name >>-marker" };
    const task: TaskSpec = {
      name: "mark",
      apply: { ...CONFIG_MAP, metadata, data: { is: "there" } },
      succeeded: "true",
    };
    const values = ["tenant-a", "tenant-b"];
    const matchExpressions = [{ key: "kubernetes.io/metadata.name", operator: "In", values }];
    const namespaceSelector = { matchExpressions };
    const serviceAccount = { namespace: platform, name: ACCOUNT };
    const rule = { name: "rule", hooks: [HOOK], tasks: [task], retryAfterSeconds: 5 };
    await applyPolicy(cp, clusterPolicyRef("marks"), { namespaceSelector, serviceAccount, rules: [rule] });
    await tasks.deletedCluster("tenant-a");
    await tasks.isReleased("tenant-a");
    await tasks.deletedCluster("tenant-b");
    await tasks.isHeld("tenant-b", /task mark has failed/);
    const failed = await taskIs(cp, platform, "Failed");
    assert.equal(failed.status?.attempts?.[0]?.outcome, "Conflict");
    await cp.delete(clusterPolicyRef("marks"));
  });

  test("a HookTask that the operator did not store never counts, and is never carried out", async () => {
    const ns = "forged";
    const real = await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await openJob(cp, ns);
    const evil = {
      create: { apiVersion: "batch/v1", kind: "Job", metadata: { name: "evil" }, spec: { template: {} } },
    };
    // Another name: it says that it is the next run of the same task.
    await forge({ ...real.spec, run: 7, action: evil }, "forged-name", "Succeeded");
    // The name of its identity, in a namespace that is not the account's.
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "elsewhere" } });
    await forge({ ...real.spec, run: 8, action: evil }, undefined, "Succeeded", "elsewhere");
    // A task that the policy does not have.
    await forge({ ...real.spec, task: "evil", action: evil });
    // Another template than the policy's.
    await forge({ ...real.spec, actionHash: "feedfeedfeedfeed", action: evil });
    await taskIs(cp, ns, "Cancelled", ({ spec }) => spec.task === "evil");
    await taskIs(cp, ns, "Cancelled", ({ spec }) => spec.actionHash === "feedfeedfeedfeed");
    for (let calls = 0; calls < 3; calls += 1) await tasks.isHeld(ns, /task clean runs/);
    assert.equal((await jobsIn(cp, ns)).length, 1);
    assert.deepEqual(await jobsIn(cp, "elsewhere"), []);
    await tasks.completes(ns);
  });

  async function forge(
    spec: HookTaskSpec,
    name = taskName(spec),
    phase?: string,
    namespace = spec.clusterRef.namespace,
  ): Promise<void> {
    const labels = { [CLUSTER_UID]: spec.clusterRef.uid };
    const own = { ...spec, renderedHash: renderedHash(spec.action) };
    const [stored] = await cp.apply({ ...HOOK_TASKS, metadata: { namespace, name, labels }, spec: own });
    const status = { phase, endedAt: new Date().toISOString().replace(/\.\d+Z$/, "Z") };
    if (phase !== undefined && stored !== undefined)
      await cp.patchStatus({ ...HOOK_TASKS, namespace, name }, status);
  }

  for (const onFailure of ["Hold", "Proceed"] as const)
    test(`in a namespace that is being deleted, a task has failed, and onFailure ${onFailure} decides`, async () => {
      const ns = `terminating-${onFailure.toLowerCase()}`;
      await tasks.policy(ns, { tasks: [jobTask("clean", { onFailure })] });
      await tasks.deletedCluster(ns);
      await cp.delete({ apiVersion: "v1", kind: "Namespace", name: ns });
      if (onFailure === "Proceed") await tasks.isReleased(ns);
      else await tasks.isHeld(ns, /task clean has failed/);
      assert.deepEqual(await jobsIn(cp, ns), []);
      await tasks.clusterIsGone(ns);
    });

  test("a thousand tasks of one namespace do not delay those of another", async (t) => {
    const [many, few] = ["many-tasks", "few-tasks"];
    const { spec } = await tasks.begins(few, { tasks: [jobTask("clean")] });
    await tasks.completes(few);
    await tasks.clusterIsGone(few);
    await createAccount(cp, many);
    const all = Array.from({ length: 1000 }, (_, index): KubeObject => {
      const named = { namespace: many, name: `c${index}`, uid: `uid-${index}` };
      const policyRef = { ...spec.policyRef, namespace: many };
      const forged = { ...spec, clusterRef: named, policyRef };
      const labels = { [CLUSTER_UID]: named.uid };
      return {
        ...HOOK_TASKS,
        metadata: { namespace: many, name: taskName(forged), labels },
        spec: forged,
      };
    });
    await inParallel(all, 8, async (each) => await cp.create(each));
    await tasks.deletedCluster(few);
    const begun = Date.now();
    await tasks.asksUntilStored(few, 2);
    await openJob(cp, few);
    const tookMs = Date.now() - begun;
    const open = (await tasksIn(cp, many)).filter(({ status }) => status?.phase !== "Cancelled").length;
    // It is a figure for people, and not asserted: how long something takes depends on the machine.
    t.diagnostic(
      `${tookMs} ms from the first call to the Job, beside ${open} open tasks of another namespace`,
    );
    await cp.waitFor(
      "the others to be cancelled",
      async () => (await tasksIn(cp, many)).every(({ status }) => status?.phase === "Cancelled"),
      900_000,
    );
    assert.deepEqual(await jobsIn(cp, many), []);
  });
});
