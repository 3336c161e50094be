/** Tasks on a real API server: what a call stores, what the leader does about it, and when the Cluster is released. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { RuleSpec } from "../../src/api/hook-policy.ts";
import type { HookResponse } from "../../src/api/runtime-hooks.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster, FIRST_VERSION } from "../controlplane/lab.ts";
import { APPROVED, applyPolicy, policyRef } from "../controlplane/policies.ts";
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
import { type Lab, startLab } from "./operator-lab.ts";

const HOOK = "BeforeClusterDelete";

describe("tasks", () => {
  let lab: Lab;
  let cp: ControlPlane;
  before(async () => {
    lab = await startLab();
    cp = lab.cp;
  });
  after(async () => await lab?.stop());

  const approved = [{ name: "approved", annotation: { key: APPROVED } }];

  async function policy(namespace: string, rule: Partial<RuleSpec>): Promise<void> {
    await createAccount(cp, namespace);
    const rules = [{ name: "rule", hooks: [HOOK], retryAfterSeconds: 5, ...rule }];
    await applyPolicy(cp, policyRef(namespace, "p"), { serviceAccountName: ACCOUNT, rules });
  }

  /** A Cluster whose deletion Cluster API asks about. */
  async function deletedCluster(namespace: string): Promise<void> {
    await createCluster(cp, { namespace, name: "c1", version: FIRST_VERSION });
    const finalizers = ["cluster.cluster.x-k8s.io"];
    await cp.patch(clusterRef(namespace, "c1"), { metadata: { finalizers } });
    await cp.delete(clusterRef(namespace, "c1"));
  }

  async function ask(namespace: string): Promise<HookResponse> {
    return await lab.ask(HOOK, namespace, "c1");
  }

  async function approve(namespace: string): Promise<void> {
    await cp.patch(clusterRef(namespace, "c1"), { metadata: { annotations: { [APPROVED]: "yes" } } });
  }

  /** Asks until a HookTask is stored: memory may be behind. */
  async function asksUntilStored(namespace: string): Promise<void> {
    await cp.waitFor("a HookTask to be stored", async () => {
      const { retryAfterSeconds = 0 } = await ask(namespace);
      assert.ok(retryAfterSeconds > 0, "it is held");
      return (await tasksIn(cp, namespace)).length > 0;
    });
  }

  async function isReleased(namespace: string): Promise<void> {
    await cp.waitFor("the Cluster to be released", async () => {
      const { retryAfterSeconds = 0 } = await ask(namespace);
      return retryAfterSeconds === 0;
    });
  }

  test("begin when every gate is met, and hold the Cluster until the Job is complete", async () => {
    await policy("story", { until: approved, tasks: [jobTask("clean")] });
    await deletedCluster("story");
    const first = await ask("story");
    assert.match(first.message ?? "", /gate approved/);
    assert.deepEqual(await tasksIn(cp, "story"), []);
    await approve("story");
    await asksUntilStored("story");
    const job = await openJob(cp, "story");
    assert.equal(job["spec"].template.spec.containers[0].env[0].value, "c1");
    const held = await ask("story");
    assert.match(held.message ?? "", /task clean runs/);
    assert.ok((held.retryAfterSeconds ?? 0) <= 10);
    await endJob(cp, job, "Complete");
    const task = await taskIs(cp, "story", "Succeeded");
    assert.equal(task.status?.object, `Job/${job.metadata.name}`);
    await isReleased("story");
    assert.equal((await jobsIn(cp, "story")).length, 1);
  });
});
