/** What keeps a task from what it is to do, on a real API server: each has a sentence, and ends when its cause is removed. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { HookTask, TaskSpec } from "../../src/api/hook-policy.ts";
import { type KubeObject, isRefused } from "../controlplane/client.ts";
import { applyPolicy, conditionIs, policyRow, policyRef, storePolicy } from "../controlplane/policies.ts";
import { allow } from "../controlplane/rights.ts";
import { definition } from "../controlplane/stand-in.ts";
import {
  ACCOUNT,
  allowImpersonation,
  createAccount,
  endJob,
  jobsIn,
  jobTask,
  openJob,
  taskIs,
  tasksIn,
} from "../controlplane/tasks.ts";
import { HOOK, startTaskLab } from "./task-lab.ts";

const ADMISSION = "admissionregistration.k8s.io/v1";
const BACKUP = { apiVersion: "velero.io/v1", kind: "Backup" };
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const MAY_WRITE_CONFIG_MAPS = [allow("", "configmaps", "create", "get", "patch", "delete")];

const { lab, cp, tasks } = await startTaskLab();
after(async () => await lab.stop());

describe("a task that is refused", () => {
  /** One HookTask, one attempt, one Job: it went on where it was. */
  async function completesOnce(ns: string): Promise<void> {
    await tasks.completes(ns);
    const all = await tasksIn(cp, ns);
    assert.deepEqual(
      all.map(({ status }) => [status?.phase, status?.begun]),
      [["Succeeded", 1]],
    );
    assert.equal((await jobsIn(cp, ns)).length, 1);
  }

  test("waits while a quota is full, and goes on when it is larger", async () => {
    const ns = "quota";
    const quota = { apiVersion: "v1", kind: "ResourceQuota", namespace: ns, name: "jobs" };
    const limit = async (hard: string): Promise<void> => {
      await cp.apply({
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { namespace: ns, name: "jobs" },
        spec: { hard: { "count/jobs.batch": hard } },
      });
      // What its controller would write.
      await cp.patchStatus(quota, { hard: { "count/jobs.batch": hard }, used: { "count/jobs.batch": "1" } });
    };
    await createAccount(cp, ns);
    await limit("1");
    await cp.waitFor("the quota to be full", async () => await refusesJob(ns, /exceeded quota/));
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    const sentence =
      /admission refuses it \(correct what it names\): .*exceeded quota: jobs.*used: count\/jobs.batch=1/;
    await tasks.saysEverywhere(ns, "Pending", sentence);
    await tasks.isHeld(ns, /task clean cannot begin: admission refuses it/);
    assert.deepEqual(await jobsIn(cp, ns), []);
    await limit("2");
    await completesOnce(ns);
  });

  test("goes on after a conflict, as that of a quota whose use changes at the moment", async () => {
    const ns = "conflict";
    await createAccount(cp, ns);
    lab.proxy.failNext(409, new RegExp(`^POST .*/namespaces/${ns}/jobs`));
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await completesOnce(ns);
  });

  test("waits while a webhook or a policy forbids its object, and goes on when it does not any more", async () => {
    const ns = "forbidden";
    await createAccount(cp, ns);
    await forbid(ns, "Forbidden");
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await tasks.saysEverywhere(ns, "Pending", /admission refuses it .*no Jobs on Sundays/);
    assert.deepEqual(await jobsIn(cp, ns), []);
    await allowAgain(ns);
    await completesOnce(ns);
  });

  test("has failed when a policy finds its object invalid, and begins when a person retries", async () => {
    const ns = "found-invalid";
    await createAccount(cp, ns);
    await forbid(ns, "Invalid");
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    const task = await tasks.saysEverywhere(ns, "Failed", /no Jobs on Sundays/);
    assert.equal(task.status?.attempts?.[0]?.outcome, "Refused");
    await tasks.isHeld(ns, /task clean has failed .hookpolicy task retry/);
    await allowAgain(ns);
    await tasks.retry(task);
    await tasks.completes(ns);
    assert.equal((await jobsIn(cp, ns)).length, 1);
  });

  test("waits while its ServiceAccount is missing, with its rights", async () => {
    const ns = "no-account";
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: ns } });
    await allowImpersonation(cp, ns);
    const rules = [{ name: "rule", hooks: [HOOK], tasks: [jobTask("clean")], retryAfterSeconds: 5 }];
    await applyPolicy(cp, policyRef(ns, "p"), { serviceAccountName: ACCOUNT, rules });
    await tasks.deletedCluster(ns);
    await tasks.asksUntilStored(ns);
    const sentence =
      /a right is missing \(hookpolicy doctor prints which\): .*system:serviceaccount:no-account:cluster-tasks/;
    await tasks.saysEverywhere(ns, "Pending", sentence);
    const [row = ""] = await tasks.listed(ns);
    assert.match(row, new RegExp(`^c1 \\| ${HOOK} \\| - \\| clean \\| Pending \\| - \\| ${sentence.source}`));
    await createAccount(cp, ns);
    const job = await openJob(cp, ns);
    const isFound = ({ status }: HookTask): boolean => status?.object === `Job/${job.metadata.name}`;
    const { status } = await taskIs(cp, ns, "Running", isFound);
    assert.equal(status?.attempts?.[0]?.askedAt, job.metadata.creationTimestamp, "its time-out begins");
    await completesOnce(ns);
  });

  test("waits while its kind is unknown, and goes on when it is defined", async () => {
    const ns = "unknown-kind";
    const succeeded = "object.status.phase == 'Completed'";
    const task = { name: "backup", create: { ...BACKUP, spec: {} }, succeeded };
    const rules = [allow("velero.io", "backups", "create", "get", "delete")];
    await tasks.begins(ns, { tasks: [task] }, { rules });
    const sentence = /the API server has no Backup in velero.io\/v1: install its CustomResourceDefinition/;
    await tasks.saysEverywhere(ns, "Pending", sentence);
    await cp.apply(definition("velero.io", "v1", "Backup"));
    const backup = await cp.waitFor("a Backup", async () => (await cp.list({ ...BACKUP, namespace: ns }))[0]);
    await cp.patch(
      { ...BACKUP, namespace: ns, name: backup.metadata.name },
      { status: { phase: "Completed" } },
    );
    await tasks.isReleased(ns);
    assert.equal((await cp.list({ ...BACKUP, namespace: ns })).length, 1);
    assert.equal((await taskIs(cp, ns, "Succeeded")).status?.begun, 1);
  });

  test("ends when its policy is corrected, and the corrected one begins", async () => {
    const ns = "wrong-kind";
    const nope = { apiVersion: "example.com/v1", kind: "Nope" };
    await tasks.begins(ns, {
      tasks: [{ name: "clean", create: { ...nope, spec: {} }, succeeded: "true" }],
    });
    await tasks.saysEverywhere(ns, "Pending", /the API server has no Nope in example.com\/v1/);
    await tasks.policy(ns, { tasks: [jobTask("clean")] });
    await taskIs(cp, ns, "Cancelled", ({ status }) => status?.attempts?.[0]?.outcome === "Cancelled");
    await tasks.asksUntilStored(ns, 2);
    await tasks.completes(ns);
    assert.equal((await jobsIn(cp, ns)).length, 1);
  });

  test("creates beside what others have created, and takes nothing of theirs for its own", async () => {
    const ns = "exists";
    await createAccount(cp, ns);
    const theirs = async (name: string): Promise<KubeObject> => {
      const { create } = jobTask("theirs");
      return await cp.create({ ...(create as unknown as KubeObject), metadata: { namespace: ns, name } });
    };
    const first = await theirs("clean");
    const taken = Promise.withResolvers<string>();
    const answered = Promise.withResolvers<void>();
    lab.proxy.wait(answered.promise, ({ method, path }) => {
      if (method === "POST" && path === `/apis/batch/v1/namespaces/${ns}/jobs`) taken.resolve(path);
      return method === "POST" && path.startsWith(`/apis/batch/v1/namespaces/${ns}/`);
    });
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await taken.promise;
    const [running] = await tasksIn(cp, ns);
    const name = running?.status?.attempts?.[0]?.name ?? assert.fail("no attempt");
    const second = await theirs(name);
    lab.proxy.resume();
    answered.resolve();
    const failed = await tasks.saysEverywhere(
      ns,
      "Failed",
      /Job clean-\w{10} exists already, and this task has not created it/,
    );
    await tasks.retry(failed);
    const own = await cp.waitFor("a Job of the task", async () =>
      (await jobsIn(cp, ns)).find(({ metadata }) => metadata.labels?.["hookpolicy.dev/task"] !== undefined),
    );
    await endJob(cp, own, "Complete");
    await tasks.isReleased(ns);
    const uids = (await jobsIn(cp, ns)).map(({ metadata }) => metadata.uid);
    assert.deepEqual(new Set(uids), new Set([first, second, own].map(({ metadata }) => metadata.uid)));
  });

  test("is judged by what it applied, however others change that, and does not apply it again", async () => {
    const ns = "changed";
    const ref = { ...CONFIG_MAP, namespace: ns, name: "settings" };
    await tasks.begins(ns, { tasks: [settings()] }, { rules: MAY_WRITE_CONFIG_MAPS });
    await taskIs(cp, ns, "Running", ({ status }) => /not yet: .*done/.test(status?.message ?? ""));
    const changed = await cp.patch(ref, { metadata: { labels: null }, data: { wanted: "no" } });
    await cp.patch(ref, { data: { done: "yes" } });
    await tasks.isReleased(ns);
    const { metadata, data } = (await cp.get(ref)) as KubeObject & { data: object };
    assert.deepEqual([metadata.uid, data], [changed.metadata.uid, { wanted: "no", done: "yes" }]);
  });

  test("has failed when others replace what it applied, and applies it when a person retries", async () => {
    const ns = "replaced";
    const ref = { ...CONFIG_MAP, namespace: ns, name: "settings" };
    await tasks.begins(ns, { tasks: [settings()] }, { rules: MAY_WRITE_CONFIG_MAPS });
    await taskIs(cp, ns, "Running", ({ status }) => /not yet: .*done/.test(status?.message ?? ""));
    await cp.delete(ref);
    await cp.create({ ...CONFIG_MAP, metadata: { namespace: ns, name: "settings" }, data: { done: "yes" } });
    const failed = await tasks.saysEverywhere(ns, "Failed", /ConfigMap settings was replaced by another/);
    await tasks.isHeld(ns, /has failed/);
    await tasks.retry(failed);
    await tasks.isReleased(ns);
    assert.deepEqual((await cp.get(ref))["data"], { wanted: "yes", done: "yes" });
  });

  const values: Readonly<
    Record<
      string,
      { readonly bad: string; readonly good: string; readonly task: TaskSpec; readonly says: RegExp }
    >
  > = {
    "a name that is too long": {
      bad: "n".repeat(254),
      good: "settings",
      task: settings({ name: value("wrong") }),
      says: /task settings cannot begin \(metadata.name: it gives no name of an object, which has 1 to 253 characters/,
    },
    "a value that is too large": {
      bad: "x".repeat(66_000),
      good: "small",
      task: settings({ name: "settings" }, { large: value("wrong") }),
      says: /task settings cannot begin \(with its values it has more than 64 KiB\)/,
    },
  };
  for (const [what, { bad, good, task, says }] of Object.entries(values))
    test(`has not begun with ${what}, and begins when that is corrected`, async () => {
      const ns = `value-${Object.keys(values).indexOf(what)}`;
      await tasks.policy(ns, { tasks: [task] }, { rules: MAY_WRITE_CONFIG_MAPS });
      await tasks.deletedCluster(ns, { wrong: bad });
      await tasks.isHeld(ns, says);
      await cp.waitFor("the policy's status to say it", async () =>
        says.test((await policyRow(cp, policyRef(ns, "p"), "c1", HOOK)).message ?? ""),
      );
      assert.match(await tasks.explained(ns), says);
      assert.deepEqual(await tasksIn(cp, ns), []);
      await tasks.annotate(ns, { wrong: good });
      await tasks.asksUntilStored(ns);
      const ref = { ...CONFIG_MAP, namespace: ns, name: "settings" };
      await cp.waitFor("the object to be applied", async () => await cp.find(ref));
      await cp.patch(ref, { data: { done: "yes" } });
      await tasks.isReleased(ns);
    });

  test("that cannot become an object is found when its policy is written, with the path", async () => {
    const ns = "no-object";
    const task = settings(value("wrong"));
    const rules = [{ name: "rule", hooks: [HOOK], tasks: [task] }];
    await storePolicy(cp, policyRef(ns, "p"), { serviceAccountName: ACCOUNT, rules });
    const { message } = await conditionIs(cp, policyRef(ns, "p"), "Ready", "InvalidSpec");
    assert.match(message, /rules\[0\]\.tasks\[0\]\.apply\.metadata: expected an object/);
  });

  function settings(metadata: unknown = { name: "settings" }, data: object = { wanted: "yes" }): TaskSpec {
    const apply = { ...CONFIG_MAP, metadata, data };
    return { name: "settings", apply, succeeded: "object.data.done == 'yes'" };
  }

  /** Creates no object: whether the API server refuses a Job, with these words. */
  async function refusesJob(ns: string, words: RegExp): Promise<boolean> {
    const { create } = jobTask("try");
    const job = { ...create, metadata: { namespace: ns, name: "try" } };
    const path = `/apis/batch/v1/namespaces/${ns}/jobs?dryRun=All`;
    return await isRefused(cp.request("POST", path, JSON.stringify(job)), words);
  }

  async function forbid(ns: string, reason: "Forbidden" | "Invalid"): Promise<void> {
    const resourceRules = [
      { apiGroups: ["batch"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["jobs"] },
    ];
    const validations = [{ expression: "false", message: "no Jobs on Sundays", reason }];
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns } };
    await cp.apply([
      {
        apiVersion: ADMISSION,
        kind: "ValidatingAdmissionPolicy",
        metadata: { name: ns },
        spec: { failurePolicy: "Fail", matchConstraints: { resourceRules }, validations },
      },
      {
        apiVersion: ADMISSION,
        kind: "ValidatingAdmissionPolicyBinding",
        metadata: { name: ns },
        spec: { policyName: ns, validationActions: ["Deny"], matchResources: { namespaceSelector } },
      },
    ]);
    await cp.waitFor("the policy to deny", async () => await refusesJob(ns, /Sundays/));
  }

  async function allowAgain(ns: string): Promise<void> {
    await cp.delete({ apiVersion: ADMISSION, kind: "ValidatingAdmissionPolicyBinding", name: ns });
    await cp.waitFor("the policy not to deny", async () => !(await refusesJob(ns, /Sundays/)));
  }
});

function annotation(key: string): string {
  return `cluster.metadata.annotations['${key}']`;
}

function value(key: string): string {
  return `<< ${annotation(key)} >>`;
}
