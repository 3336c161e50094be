/** What time does to tasks on a real API server, and what kubectl shows of each state. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { HookTask, HookTaskSpec, HookTaskStatus } from "../../src/api/hook-policy.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import { renderedHash } from "../../src/policy/tasks/task-identity.ts";
import { clusterRef, createCluster, labCondition } from "../controlplane/lab.ts";
import { policyRef, untilTime } from "../controlplane/policies.ts";
import {
  ACCOUNT,
  createAccount,
  endJob,
  HOOK_TASKS,
  hookTask,
  jobsIn,
  jobTask,
  openJob,
  taskIs,
  tasksIn,
} from "../controlplane/tasks.ts";
import { HOOK, startTaskLab } from "./task-lab.ts";

const HOUR_MS = 3_600_000;
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };

const { lab, cp, tasks } = await startTaskLab();
after(async () => await lab.stop());

describe("time", { concurrency: true }, () => {
  /** The last row of kubectl, with its object as this. */
  async function row(ns: string, object: string): Promise<string> {
    const last = (await tasks.listed(ns)).at(-1) ?? "";
    return last.replace(object, "OBJECT");
  }

  test("ends an attempt whose Job never ends, begins another when that Job is gone, and then none", async () => {
    const ns = "timed-out";
    await tasks.begins(ns, { tasks: [jobTask("clean", { timeout: "5s", retries: 1 })] });
    const first = await openJob(cp, ns);
    assert.equal(first["spec"].activeDeadlineSeconds, 5);
    const name = (job: typeof first): string => `Job/${job.metadata.name}`;
    const columns = `c1 | ${HOOK} | - | clean`;
    const late = "not done within 5s: the Job has not finished";
    await taskIs(cp, ns, "Running", ({ status }) => status?.attempts?.[0]?.outcome === "TimedOut");
    assert.equal(await row(ns, name(first)), `${columns} | Running | OBJECT | ${late}`);
    const second = await cp.waitFor("another Job", async () =>
      (await jobsIn(cp, ns)).find(({ metadata }) => metadata.uid !== first.metadata.uid),
    );
    assert.equal((await jobsIn(cp, ns)).length, 1, "never two at once");

    const failed = await tasks.saysEverywhere(ns, "Failed", new RegExp(late));
    assert.equal(await row(ns, name(second)), `${columns} | Failed | OBJECT | ${late}`);
    assert.match(await tasks.described(ns), /Allowed: 2 .*Outcome: TimedOut .*Outcome: TimedOut .*Begun: 2 /);
    await tasks.isHeld(ns, /task clean has failed/);
    await cp.waitFor("its last Job to be gone", async () => (await jobsIn(cp, ns)).length === 0);
    await tasks.retry(failed);
    const third = await cp.waitFor("a third Job", async () =>
      (await jobsIn(cp, ns)).find(({ metadata }) => metadata.uid !== second.metadata.uid),
    );
    await endJob(cp, third, "Complete");
    await taskIs(cp, ns, "Succeeded");
    assert.equal(await row(ns, name(third)), `${columns} | Succeeded | OBJECT | -`);
    await tasks.isReleased(ns);
    assert.equal((await tasksIn(cp, ns)).length, 1);
  });

  test("ends no Job whose Pods are left, so that no other attempt begins beside them", async () => {
    const ns = "pods-left";
    await tasks.begins(ns, { tasks: [jobTask("clean", { timeout: "5s", retries: 1 })] });
    const { metadata } = await openJob(cp, ns);
    const owner = { apiVersion: "batch/v1", kind: "Job", name: metadata.name, uid: metadata.uid };
    const pod = { ...CONFIG_MAP, namespace: ns, name: "pod" };
    await cp.apply({
      ...CONFIG_MAP,
      metadata: {
        namespace: ns,
        name: pod.name,
        finalizers: ["example.com/slow"],
        ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
      },
    });
    const waits = /Job clean-\w+ of an earlier attempt is not gone yet: it still exists/;
    await taskIs(cp, ns, "Running", ({ status }) => waits.test(status?.message ?? ""));
    assert.deepEqual(
      (await jobsIn(cp, ns)).map(({ metadata: { uid } }) => uid),
      [metadata.uid],
    );
    await cp.patch(pod, { metadata: { finalizers: [] } });
    await cp.waitFor("another Job", async () =>
      (await jobsIn(cp, ns)).some(({ metadata: { uid } }) => uid !== metadata.uid),
    );
    await tasks.completes(ns);
  });

  test("makes a success too old, so that the task runs again before the Cluster is released", async () => {
    const ns = "too-old";
    await tasks.begins(ns, { tasks: [jobTask("clean", { validFor: "20s" })] });
    await endJob(cp, await openJob(cp, ns), "Complete");
    const { status } = await taskIs(cp, ns, "Succeeded");
    const end = new Date(Date.parse(status?.endedAt ?? "") + 20_000).toISOString();
    await cp.waitFor("the success to be too old", () => untilTime(end) === 0);
    await tasks.asksUntilStored(ns, 2);
    await tasks.completes(ns);
    const runs = (await tasksIn(cp, ns)).map(
      ({ spec, status: { phase } = {} }) => [spec.run, phase] as const,
    );
    assert.deepEqual(
      new Map(runs),
      new Map([
        [1, "Succeeded"],
        [2, "Succeeded"],
      ]),
    );
  });

  test("removes what a success has created after keep, while its HookTask stays and counts", async () => {
    const [kept, removed] = ["kept", "removed"];
    await tasks.begins(kept, { tasks: [jobTask("clean")] });
    await tasks.begins(removed, { tasks: [jobTask("clean", { keep: "0s" })] });
    for (const ns of [kept, removed]) await endJob(cp, await openJob(cp, ns), "Complete");
    await cp.waitFor("the Job to be removed", async () => (await jobsIn(cp, removed)).length === 0);
    await tasks.isReleased(removed);
    await tasks.isReleased(kept);
    assert.equal((await jobsIn(cp, kept)).length, 1);
    assert.deepEqual(
      (await tasksIn(cp, removed)).map(({ status }) => [status?.phase, status?.begun]),
      [["Succeeded", 1]],
    );
  });

  /** Of a Cluster and a policy that there are not. */
  function ended(ns: string, run: number, policy = "gone"): ReturnType<typeof hookTask> {
    const action: HookTaskSpec["action"] = { create: { apiVersion: "batch/v1", kind: "Job" } };
    const spec: HookTaskSpec = {
      policyRef: { kind: "HookPolicy", namespace: ns, name: policy, uid: policy },
      rule: "rule",
      task: "clean",
      clusterRef: { namespace: ns, name: "gone", uid: "gone" },
      hook: HOOK,
      run,
      actionHash: "gone",
      serviceAccountName: ACCOUNT,
      action,
      renderedHash: renderedHash(action),
      timeout: "1h",
      retries: 0,
    };
    return hookTask(spec);
  }

  async function store(ns: string, run: number, status: HookTaskStatus, policy?: string): Promise<string> {
    const [{ metadata } = assert.fail("not stored")] = await cp.apply(ended(ns, run, policy));
    await cp.patchStatus({ ...HOOK_TASKS, namespace: ns, name: metadata.name }, status);
    return metadata.name;
  }

  const hoursAgo = (hours: number): string =>
    new Date(Date.now() - hours * HOUR_MS).toISOString().replace(/\.\d+Z$/, "Z");

  test("removes a HookTask a day after a success and a week after a failure, and never earlier", async () => {
    const ns = "forgotten";
    await createAccount(cp, ns);
    const at = async (run: number, phase: HookTaskStatus["phase"] & string, end: number, over = end) =>
      await store(ns, run, { phase, endedAt: hoursAgo(end), over: hoursAgo(over) });
    const stay = [
      await at(1, "Succeeded", 23),
      await at(2, "Succeeded", 100, 23),
      await at(3, "Failed", 6 * 24),
      await at(4, "Cancelled", 23),
    ];
    await at(5, "Succeeded", 25);
    await at(6, "Failed", 8 * 24);
    await at(7, "Cancelled", 25);
    await cp.waitFor("the old ones to be gone", async () => (await tasksIn(cp, ns)).length <= stay.length);
    const left = (await tasksIn(cp, ns)).map(({ metadata: { name } }) => name);
    assert.deepEqual(left.toSorted(), stay.toSorted());
  });

  test("keeps the twenty latest of a policy and Cluster", async () => {
    const ns = "surplus";
    await createAccount(cp, ns);
    const names: string[] = [];
    for (let run = 1; run <= 23; run += 1) {
      const end = hoursAgo(20 - run / 10);
      names.push(await store(ns, run, { phase: "Succeeded", endedAt: end, over: end }));
    }
    const other = await store(
      ns,
      1,
      { phase: "Succeeded", endedAt: hoursAgo(23), over: hoursAgo(23) },
      "other",
    );
    await cp.waitFor("the surplus to be gone", async () => (await tasksIn(cp, ns)).length <= 21);
    const left = (await tasksIn(cp, ns)).map(({ metadata: { name } }) => name);
    assert.deepEqual(left.toSorted(), [...names.slice(3), other].toSorted());
  });

  test("does not end a failure that nothing waits for: it is retried long after the hook, and the next task begins", async () => {
    const ns = "initialized";
    const [hook, names] = ["AfterControlPlaneInitialized", ["first", "second", "third"]] as const;
    await createAccount(cp, ns);
    await tasks.policy(ns, { hooks: [hook], tasks: names.map((name) => jobTask(name)) });
    await createCluster(cp, {
      namespace: ns,
      name: "c1",
      annotations: { [PENDING_HOOKS_ANNOTATION]: hook },
    });
    await cp.waitFor("all HookTasks", async () => {
      await lab.ask(hook, ns, "c1");
      return (await tasksIn(cp, ns)).length === names.length;
    });
    const is = async (task: string, phase: string, over = false): Promise<HookTask> =>
      await taskIs(
        cp,
        ns,
        phase,
        ({ spec, status }) => spec.task === task && (status?.over !== undefined) === over,
      );
    await endJob(cp, await openJob(cp, ns), "Complete");
    await is("first", "Succeeded");
    await endJob(cp, await openJob(cp, ns), "Failed");
    await is("second", "Failed");
    await tasks.annotate(ns, { [PENDING_HOOKS_ANNOTATION]: null });
    await is("first", "Succeeded", true);
    const second = await is("second", "Failed");
    const waits =
      /^HookTask initialized\/\S+, the one before it, has failed \(hookpolicy task retry initialized\//;
    await taskIs(cp, ns, "Pending", ({ status }) => waits.test(status?.message ?? ""));
    await tasks.retry(second);
    await endJob(cp, await openJob(cp, ns), "Complete");
    await is("second", "Succeeded", true);
    await endJob(cp, await openJob(cp, ns), "Complete");
    await is("third", "Succeeded", true);
  });

  test("shows what has not begun, and what is no longer wanted, in the columns of kubectl", async () => {
    const ns = "columns";
    const hook = "AfterControlPlaneInitialized";
    await createAccount(cp, ns);
    await tasks.policy(ns, { hooks: [hook], tasks: [jobTask("first"), jobTask("second")] });
    const annotations = { [PENDING_HOOKS_ANNOTATION]: hook };
    await createCluster(cp, { namespace: ns, name: "c1", annotations });
    await cp.patchStatus(clusterRef(ns, "c1"), {
      initialization: { controlPlaneInitialized: true },
      conditions: [labCondition("ControlPlaneInitialized", true)],
    });
    await cp.waitFor("both HookTasks", async () => {
      await lab.ask(hook, ns, "c1");
      return (await tasksIn(cp, ns)).length === 2;
    });
    const job = await openJob(cp, ns);
    await taskIs(cp, ns, "Running", ({ status }) => status?.message === "the Job has not finished");
    const rows = async (): Promise<readonly string[]> =>
      (await tasks.listed(ns)).map((each) => each.replace(/clean-\w+|first-\w{10}/, "NAME")).toSorted();
    assert.deepEqual(await rows(), [
      `c1 | ${hook} | - | first | Running | Job/NAME | the Job has not finished`,
      `c1 | ${hook} | - | second | Pending | - | -`,
    ]);
    await cp.delete(policyRef(ns, "p"));
    await taskIs(cp, ns, "Cancelled");
    assert.deepEqual(await rows(), [
      `c1 | ${hook} | - | first | Running | Job/NAME | the Job has not finished`,
      `c1 | ${hook} | - | second | Cancelled | - | the policy is gone`,
    ]);
    await endJob(cp, job, "Complete");
    await taskIs(cp, ns, "Succeeded");
    assert.equal((await jobsIn(cp, ns)).length, 1);
  });
});
