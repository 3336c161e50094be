import assert from "node:assert/strict";
import test from "node:test";
import { CONDITION, REASON } from "../../../src/api/hook-policy.ts";
import { readyStatus } from "./fixtures.ts";
import { replicaOf, waitingCluster } from "./rollout-fixture.ts";

const MINUTE = 60_000;

test("a new leader waits three minutes when the one before had begun to, also if it has waited for an earlier change", async () => {
  const status = readyStatus({ scope: "before" });
  const replica = replicaOf({ status, clusters: [waitingCluster("a")] });
  const { api, time, leader, rollouts } = replica;
  const readyAfter = async (ms: number): Promise<string | undefined> => {
    time.nowMs += ms;
    const { conditions = [] } = await replica.reconciled();
    return conditions.find(({ type }) => type === CONDITION.Ready)?.reason;
  };
  assert.equal(await readyAfter(0), REASON.StatusLost);
  assert.equal(await readyAfter(3 * MINUTE), REASON.Loaded);
  leader.leads = false;
  await readyAfter(0);
  // The other replica has seen an edit, and leads no more ten seconds later.
  const object = api.stored.get("upgrades");
  assert.ok(object);
  const conditions = (object.status?.conditions ?? []).map((each) => ({
    ...each,
    reason: REASON.StatusLost,
  }));
  rollouts.rolloutChanged("upgrades", api.put({ ...object, status: { ...object.status, conditions } }));
  leader.leads = true;
  assert.equal(await readyAfter(10_000), REASON.StatusLost);
  assert.equal(await readyAfter(3 * MINUTE - 1), REASON.StatusLost);
  assert.equal(await readyAfter(1), REASON.Loaded);
});
