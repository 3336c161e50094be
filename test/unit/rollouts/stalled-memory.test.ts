import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, HookRolloutStatus } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { clusterMeta, failureOf, NOW, TARGET } from "./fixtures.ts";
import { confirm, reasonOf, type Replica, waitingCluster, scopedReplica } from "./rollout-fixture.ts";

const SPEC: Partial<HookRolloutSpec> = {
  healthyWhen: [{ name: "ok", expression: "'ok' in cluster.metadata.labels" }],
  stages: [
    { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "40s" },
    { name: "rest" },
  ],
};
const SUCCEEDS = { wave: "canary", ok: "" };
const PROD = waitingCluster("p");

function canary(labels: Readonly<Record<string, string>>, resourceVersion = "1"): Cluster {
  const metadata = { ...clusterMeta("a", labels), resourceVersion };
  return waitingCluster("a", { metadata, progress: { reconciled: true } });
}

const replicaWith = (status: Partial<HookRolloutStatus> = {}): Replica =>
  scopedReplica(SPEC, status, [canary(SUCCEEDS), PROD]);

function wait(replica: Replica, seconds: number): void {
  replica.time.now = new Date(NOW.getTime() + seconds * 1000);
  replica.time.nowMs = seconds * 1000;
}

const stageOf = (replica: Replica) =>
  replica.status().targets?.find(({ version }) => version === TARGET)?.stages[0];

describe("while the leader's memory of Clusters is behind the API server", () => {
  const changes: Readonly<Record<string, (replica: Replica) => void>> = {
    "the canary has failed": ({ api }) => api.clusters.set("fleet/a", canary({ wave: "canary" }, "99")),
    "another canary was created": ({ api }) =>
      api.clusters.set("fleet/b", { ...PROD, metadata: clusterMeta("b", { wave: "canary" }) }),
    "the canary was deleted": ({ api }) => api.clusters.delete("fleet/a"),
    "the canary was created again": ({ api }) =>
      api.clusters.set("fleet/a", { ...PROD, metadata: { ...clusterMeta("a", SUCCEEDS), uid: "new" } }),
  };
  for (const [what, change] of Object.entries(changes))
    test(`no stage passes: ${what}`, async () => {
      const replica = replicaWith();
      await replica.reconciler.reconcile("upgrades");
      const { soakingSince } = stageOf(replica) ?? {};
      change(replica);
      wait(replica, 41);
      const { requeueAfterMs = Infinity } = await replica.reconciler.reconcile("upgrades");
      assert.equal(stageOf(replica)?.passed, false);
      assert.equal(stageOf(replica)?.soakingSince, soakingSince);
      assert.equal(reasonOf(await confirm(replica, PROD)), "StageClosed");
      assert.ok(requeueAfterMs <= 2000);
    });

  test("no stage passes: memory catches up with a failed canary while the Clusters are listed", async () => {
    const replica = replicaWith();
    await replica.reconciler.reconcile("upgrades");
    wait(replica, 41);
    const members = replica.api.members.bind(replica.api);
    replica.api.members = async () => {
      replica.put(canary({ wave: "canary" }, "99"));
      return await members();
    };
    await replica.reconciler.reconcile("upgrades");
    assert.equal(stageOf(replica)?.passed, false);
  });

  test("a failure stays", async () => {
    const failed = failureOf("a", { time: "2026-11-23T11:30:00Z" });
    const replica = replicaWith({ failed: [failed] });
    replica.api.clusters.set("fleet/a", canary({ wave: "canary" }, "99"));
    await replica.reconciler.reconcile("upgrades");
    assert.deepEqual(replica.status().failed, [failed]);
    assert.equal(reasonOf(await confirm(replica, PROD)), "Halted");
    replica.put(canary(SUCCEEDS, "100"));
    await replica.reconciler.reconcile("upgrades");
    assert.equal(replica.status().failed, undefined);
  });
});

test("the stage passes once memory has caught up", async () => {
  const replica = replicaWith();
  await replica.reconciler.reconcile("upgrades");
  replica.api.clusters.set("fleet/a", canary(SUCCEEDS, "99"));
  wait(replica, 41);
  await replica.reconciler.reconcile("upgrades");
  assert.equal(stageOf(replica)?.passed, false);
  replica.put(canary(SUCCEEDS, "99"));
  await replica.reconciler.reconcile("upgrades");
  assert.equal(stageOf(replica)?.passed, true);
  assert.equal(reasonOf(await confirm(replica, PROD)), "go");
});

test("the Clusters are read only before a stage passes or a failure ends", async () => {
  const replica = replicaWith();
  const reads = (): number => replica.api.requests.filter((each) => each === "list members").length;
  await replica.reconciler.reconcile("upgrades");
  assert.equal(reads(), 0);
  wait(replica, 41);
  await replica.reconciler.reconcile("upgrades");
  assert.equal(reads(), 1);
  await replica.reconciler.reconcile("upgrades");
  assert.equal(reads(), 1);
});
