/** Tasks under the real Cluster API, which asks again until they are done. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import { createCluster, deleteCluster, waitUntilGone } from "../controlplane/lab.ts";
import { APPROVED, applyPolicy, approve, heldRow, policyRef } from "../controlplane/policies.ts";
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
import { isCreated, type SharedFleet, sharedFleet, topologySays } from "./fleet.ts";

describe("tasks under Cluster API", () => {
  let fleet: SharedFleet;
  before(async () => {
    fleet = await sharedFleet();
  });
  after(async () => fleet?.cp.stop());

  test("hold a deletion that is approved until their Job, which fails once, is complete", async () => {
    const { cp } = fleet;
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
    assert.equal((await heldRow(cp, ref, "c1", "BeforeClusterDelete")).gate, "approved");
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
});
