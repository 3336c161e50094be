/** What the status of a rollout keeps while the operator cannot know better. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import {
  CONDITION,
  type HookRolloutSpec,
  REASON,
  type RolloutFailure,
} from "../../../src/api/hook-policy.ts";
import { stubRollout } from "../../../src/memory/stored-views.ts";
import { clusterMeta, failureOf } from "./fixtures.ts";
import { type Replica, waitingCluster, scopedReplica } from "./rollout-fixture.ts";

const CANARY = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } };
const SPEC: Partial<HookRolloutSpec> = {
  stages: [{ ...CANARY, minSuccessTime: "2h" }, { name: "rest" }],
  healthyWhen: [{ name: "ok", expression: "'wave' in cluster.metadata.labels" }],
};
const BROKEN = { ...SPEC, progressDeadline: "soon" };
const FAILURE = failureOf("c", { time: "2026-11-23T11:59:00Z", message: "is not well" });
/** It has the version and is healthy. */
const canary = waitingCluster("c", {
  metadata: clusterMeta("c", { wave: "canary" }),
  progress: { reconciled: true },
});

const conditionOf = (replica: Replica, type: string) =>
  replica.status().conditions?.find((condition) => condition.type === type);

async function replicaWith(failed: readonly RolloutFailure[] = []): Promise<Replica> {
  const status = failed.length > 0 ? { failed: [...failed] } : {};
  const replica = scopedReplica(SPEC, status, [canary, waitingCluster("p")]);
  if (failed.length === 0) await replica.reconciler.reconcile("upgrades");
  return replica;
}

async function edited(replica: Replica, spec: Partial<HookRolloutSpec>, minutes: number): Promise<void> {
  const generation = (replica.status().observedGeneration ?? 0) + 1;
  replica.time.now = new Date(replica.time.now.getTime() + minutes * 60_000);
  replica.load("upgrades", spec, generation, replica.status());
  await replica.reconciler.reconcile("upgrades");
}

async function later(replica: Replica): Promise<void> {
  replica.time.now = new Date(replica.time.now.getTime() + 1000);
  replica.time.nowMs += 1000;
  await replica.reconciler.reconcile("upgrades");
}

describe("while the spec is invalid", () => {
  test("the stages stay, so that no soak restarts, and Clusters are counted on", async () => {
    const replica = await replicaWith();
    const { targets, stage } = replica.status();
    const soakingSince = targets?.[0]?.stages[0]?.soakingSince;
    assert.ok(soakingSince !== undefined && stage === "canary");
    replica.put(waitingCluster("q"));
    await edited(replica, BROKEN, 30);
    assert.equal(conditionOf(replica, CONDITION.Ready)?.reason, REASON.InvalidSpec);
    assert.deepEqual([replica.status().targets, replica.status().stage], [targets, "canary"]);
    assert.deepEqual([replica.status().summary?.succeeded, replica.status().summary?.waiting], [1, 2]);
    await edited(replica, SPEC, 30);
    assert.equal(replica.status().targets?.[0]?.stages[0]?.soakingSince, soakingSince);
  });

  describe("whose stages are others, too,", () => {
    const OTHER_STAGE = { name: "new", clusterSelector: { matchLabels: { wave: "new" } } };
    const MORE = { ...SPEC, stages: [OTHER_STAGE, ...(SPEC.stages ?? [])] };
    const soakOf = (replica: Replica): unknown =>
      replica.status().targets?.[0]?.stages.find(({ name }) => name === "canary")?.soakingSince;

    /** Each Cluster has the version and is healthy, so that by an invalid spec, too, a soak can begin. */
    async function rest(replica: Replica): Promise<void> {
      replica.put({ ...canary, metadata: clusterMeta("p", { wave: "last" }) });
      await replica.reconciler.reconcile("upgrades");
    }

    test("the status is written once, and a revert has lost nothing", async () => {
      const replica = await replicaWith();
      await rest(replica);
      const soakingSince = soakOf(replica);
      await edited(replica, { ...MORE, progressDeadline: "soon" }, 30);
      replica.api.requests.length = 0;
      await later(replica);
      assert.deepEqual(replica.api.requests, []);
      await edited(replica, SPEC, 1);
      assert.equal(conditionOf(replica, CONDITION.Ready)?.reason, REASON.Loaded);
      assert.ok(soakingSince !== undefined && soakOf(replica) === soakingSince);
    });

    test("soaks begin anew once they are in force", async () => {
      const replica = await replicaWith();
      const soakingSince = soakOf(replica);
      await edited(replica, { ...MORE, progressDeadline: "soon" }, 30);
      await edited(replica, MORE, 1);
      assert.equal(conditionOf(replica, CONDITION.Ready)?.reason, REASON.StatusLost);
      assert.notEqual(soakOf(replica), soakingSince);
    });

    test("and whose status is lost, it is written once", async () => {
      const replica = await replicaWith();
      replica.load("upgrades", BROKEN, 2, {});
      await replica.reconciler.reconcile("upgrades");
      await rest(replica);
      replica.api.requests.length = 0;
      await later(replica);
      assert.deepEqual(replica.api.requests, []);
    });
  });

  test("no failure ends, because healthyWhen is unknown", async () => {
    const replica = await replicaWith([FAILURE]);
    await edited(replica, BROKEN, 1);
    assert.equal(replica.status().failed?.length, 1);
    await edited(replica, SPEC, 1);
    assert.equal(replica.status().failed, undefined);
  });
});

test("one that was too large for memory in between has lost nothing, if its selectors are the same", async () => {
  const replica = await replicaWith();
  const whole = replica.rollouts.get("upgrades")?.object;
  assert.ok(whole);
  replica.rollouts.rolloutChanged("upgrades", stubRollout(whole));
  await replica.reconciler.reconcile("upgrades");
  assert.equal(conditionOf(replica, CONDITION.Ready)?.reason, REASON.TooLarge);
  assert.equal(replica.status().scope, whole.status?.scope);
  await edited(replica, SPEC, 1);
  assert.equal(conditionOf(replica, CONDITION.Ready)?.reason, REASON.Loaded);
});

test("it says that Cluster API does not call, until it does; what is not known yet changes nothing", async () => {
  const replica = await replicaWith();
  const reasons: unknown[] = [];
  const why = { reason: REASON.NotRegistered, message: "no ExtensionConfig" };
  for (const notCalled of [undefined, why, "Unknown", undefined] as const) {
    replica.calls.notCalled = notCalled;
    await replica.reconciler.reconcile("upgrades");
    const found = conditionOf(replica, CONDITION.NotCalled);
    reasons.push(found && [found.status, found.reason]);
  }
  const [said, unsaid] = [["True", REASON.NotRegistered], undefined];
  assert.deepEqual(reasons, [unsaid, said, said, unsaid]);
});
