/** Tasks under a HookRollout and the real Cluster API: they begin when it is the Cluster's turn, and use its slot. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import { clusterRef, FIRST_VERSION, NEXT_VERSION, upgrade } from "../controlplane/lab.ts";
import { applyPolicy, policyRef } from "../controlplane/policies.ts";
import {
  ACCOUNT,
  createAccount,
  endJob,
  HOOK_TASKS,
  jobsIn,
  jobTask,
  taskIs,
  tasksIn,
} from "../controlplane/tasks.ts";
import { sharedFleet, topologySays } from "./fleet.ts";
import { applyRollout, createFleet, FleetObserver, rolloutStatus } from "./rollout-fleet.ts";

const HOOK = "BeforeClusterUpgrade";
const UNSAFE = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => cp.stop());

describe("tasks under a HookRollout", () => {
  async function backedUp(namespace: string): Promise<void> {
    await createAccount(cp, namespace);
    const rules = [{ name: "backed-up", hooks: [HOOK], tasks: [jobTask("backup")], retryAfterSeconds: 5 }];
    await applyPolicy(cp, policyRef(namespace, "backups"), { serviceAccountName: ACCOUNT, rules });
  }

  /** The Jobs that have no end, by the Cluster that they are for. */
  async function running(namespace: string): Promise<ReadonlyMap<string, Parameters<typeof endJob>[1]>> {
    const jobs = (await jobsIn(cp, namespace)).filter(({ status }) => status?.conditions === undefined);
    return new Map(jobs.map((job) => [job["spec"].template.spec.containers[0].env[0].value, job]));
  }

  test("never more run than there are slots, and a failed one gives its slot back until a person retries", async (t) => {
    const namespace = "slots-for-tasks";
    await backedUp(namespace);
    const names = await createFleet(cp, namespace, [{ wave: "prod", count: 3 }]);
    await applyRollout(cp, namespace, namespace, { maxConcurrency: 2 });
    const observer = new FleetObserver(cp, namespace);
    observer.run({ upgradeMs: 500 });
    t.after(async () => await observer.stop());
    await Promise.all(names.map((name) => upgrade(cp, namespace, name)));
    const two = await cp.waitFor("two backups to run", async () => {
      const jobs = await running(namespace);
      return jobs.size === 2 && jobs;
    });
    const waiting = names.find((name) => !two.has(name)) ?? "";
    await topologySays(cp, namespace, waiting, /waits for a free slot/);
    // A deletion of the rollout would let it begin.
    await cp.waitFor("the status to name what waits", async () => {
      const { held = [] } = await rolloutStatus(cp, namespace);
      return held.length === 1 && held[0]?.name === waiting && held[0].reason === "NoFreeSlot";
    });
    assert.equal((await running(namespace)).size, 2);
    const [first, second] = [...two];
    assert.ok(first !== undefined && second !== undefined);
    const [[failing, failed], [other, good]] = [first, second];
    await endJob(cp, failed, "Failed");
    const third = await cp.waitFor("the third backup to run", async () =>
      (await running(namespace)).get(waiting),
    );
    assert.equal((await running(namespace)).size, 2);
    const { running: claims = [] } = await rolloutStatus(cp, namespace);
    assert.deepEqual(claims.map(({ name }) => name).toSorted(), [other, waiting].toSorted());
    assert.ok(claims.every((claim) => claim.tasks === true));
    // While both slots are taken, a retry waits for its turn.
    const task = await taskIs(cp, namespace, "Failed");
    assert.equal(task.spec.clusterRef.name, failing);
    const annotations = { "hookpolicy.dev/retry": new Date().toISOString() };
    await cp.patch({ ...HOOK_TASKS, namespace, name: task.metadata.name }, { metadata: { annotations } });
    await topologySays(cp, namespace, failing, /waits for a free slot/);
    assert.equal((await running(namespace)).size, 2);
    await endJob(cp, good, "Complete");
    const again = await cp.waitFor("the backup to run again", async () =>
      (await running(namespace)).get(failing),
    );
    assert.ok((await running(namespace)).size <= 2);
    await endJob(cp, third, "Complete");
    await endJob(cp, again, "Complete");
    await cp.waitFor("all to be upgraded", () => observer.ends.size === 3, 400_000);
    assert.ok(observer.most <= 2);
    assert.equal((await tasksIn(cp, namespace)).length, 3);
    assert.equal((await jobsIn(cp, namespace)).length, 4);
    assert.deepEqual((await rolloutStatus(cp, namespace)).failed ?? [], []);
  });

  test("an upgrade that is taken back begins no further backup, and one that is wanted again is backed up again", async () => {
    const namespace = "taken-back-tasks";
    await backedUp(namespace);
    const [name = ""] = await createFleet(cp, namespace, [{ wave: "prod", count: 1 }]);
    await upgrade(cp, namespace, name);
    const first = await cp.waitFor("a backup to run", async () => (await running(namespace)).get(name));
    await cp.patch(clusterRef(namespace, name), {
      metadata: { annotations: { [UNSAFE]: "" } },
      spec: { topology: { version: FIRST_VERSION } },
    });
    await cp.patch(clusterRef(namespace, name), { metadata: { annotations: { [UNSAFE]: null } } });
    await taskIs(cp, namespace, "Running", ({ status }) => status?.over !== undefined);
    await endJob(cp, first, "Complete");
    await taskIs(cp, namespace, "Succeeded");
    await upgrade(cp, namespace, name);
    const second = await cp.waitFor("a backup to run again", async () =>
      (await running(namespace)).get(name),
    );
    await endJob(cp, second, "Complete");
    await cp.waitFor("the upgrade to begin", async () => {
      const { metadata } = await cp.get(clusterRef(namespace, name));
      return /AfterClusterUpgrade/.test(
        metadata.annotations?.["runtime.cluster.x-k8s.io/pending-hooks"] ?? "",
      );
    });
    const runs = (await tasksIn(cp, namespace)).map(({ spec }) => [spec.version, spec.run]);
    assert.deepEqual(runs, [
      [NEXT_VERSION, 1],
      [NEXT_VERSION, 2],
    ]);
  });
});
