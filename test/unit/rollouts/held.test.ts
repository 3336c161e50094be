import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { type HookRolloutSpec, MAX_HELD, type RolloutClaim } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { claimOf, clusterMeta, NOW, readyStatus, TARGET } from "./fixtures.ts";
import {
  ask,
  confirmAfterList,
  marked,
  reasonOf,
  released,
  replicaOf,
  requestOf,
  scopedReplica,
  waitingCluster,
} from "./rollout-fixture.ts";

const CANARY = { wave: "canary" };
const SPEC: Partial<HookRolloutSpec> = {
  healthyWhen: [{ name: "ok", expression: "!('ill' in cluster.metadata.labels)" }],
  stages: [{ name: "canary", clusterSelector: { matchLabels: CANARY } }, { name: "rest" }],
};

const canaryClaim = (name: string): RolloutClaim =>
  claimOf(name, { stage: "canary", markedAt: "2026-11-23T11:59:01Z" });

describe("the status names what the rollout holds", () => {
  test("a Cluster behind a closed stage, and one without a slot, with reason and since when", async () => {
    const replica = scopedReplica(SPEC, { running: [canaryClaim("c0")] }, [
      marked("c0", CANARY),
      waitingCluster("c1", {}, CANARY),
      waitingCluster("p"),
    ]);
    const { held: rows, heldOmitted } = await replica.reconciled();
    assert.deepEqual(
      rows?.map(({ name, stage, reason, since, message }) => [name, stage, reason, since, message]),
      [
        [
          "c1",
          "canary",
          "NoFreeSlot",
          "2026-11-23T12:00:00Z",
          "HookRollout upgrades, stage canary: waits for a free slot (hookpolicy rollout status upgrades)",
        ],
        [
          "p",
          "rest",
          "StageClosed",
          "2026-11-23T12:00:00Z",
          "HookRollout upgrades: waits for stage canary (hookpolicy rollout status upgrades)",
        ],
      ],
    );
    assert.equal(heldOmitted, 0);
  });

  test("not a Cluster that a policy holds, and not one for which a slot is free", async () => {
    const replica = scopedReplica(SPEC, {}, [
      waitingCluster("c", {}, CANARY),
      waitingCluster("p"),
      waitingCluster("q"),
    ]);
    replica.policiesHold.add("p");
    const { held: rows } = await replica.reconciled();
    assert.deepEqual(
      rows?.map(({ name }) => name),
      ["q"],
    );
    assert.equal(ask(replica, waitingCluster("c", {}, CANARY)), "go");
  });

  test("a Cluster that has not used its slot in time", async () => {
    const { markedAt: _, ...claim } = canaryClaim("c");
    const early = { running: [{ ...claim, claimedAt: "2026-11-23T11:59:30Z" }] };
    const cluster = waitingCluster("c", {}, CANARY);
    assert.equal((await scopedReplica(SPEC, early, [cluster]).reconciled()).held, undefined);
    const late = { running: [{ ...claim, claimedAt: "2026-11-23T11:58:30Z" }] };
    assert.equal((await scopedReplica(SPEC, late, [cluster]).reconciled()).held?.[0]?.reason, "ClaimExpires");
  });

  test("not a Cluster whose upgrade ended unhealthy: it gives its slot for one to the next version", async () => {
    const [a, b] = [waitingCluster("a", {}, { ill: "" }), waitingCluster("b")];
    const running = [{ ...canaryClaim("a"), target: "v1.35.0", stage: "rest" }];
    const replica = scopedReplica({ ...SPEC, stages: [{ name: "rest" }] }, { running }, [a, b]);
    ask(replica, b);
    ask(replica, a);
    const { held, failed, running: kept } = await replica.reconciled();
    assert.deepEqual([held?.map(({ name }) => name), failed, kept], [["b"], undefined, running]);
    assert.deepEqual([ask(replica, a), ask(replica, b)], ["go", "NoFreeSlot"]);
    assert.equal(reasonOf(await confirmAfterList(replica, requestOf(a), released(a))), "go");
    const targets = replica.status().running?.map(({ name, target, markedAt }) => [name, target, markedAt]);
    assert.deepEqual(targets, [["a", TARGET, undefined]]);
    assert.equal(reasonOf(await confirmAfterList(replica, requestOf(b), released(b))), "NoFreeSlot");
  });

  test("an unmet gate of the stage holds the Cluster whose turn it is", async () => {
    const until = [{ name: "promoted", annotation: { key: "example.com/promoted" } }];
    const replica = scopedReplica({ ...SPEC, stages: [{ name: "rest", until }] }, {}, [waitingCluster("p")]);
    const { held: rows } = await replica.reconciled();
    assert.equal(rows?.[0]?.reason, "GateOpen");
    assert.match(rows[0].message, /gate promoted waits for/);
  });

  test("since when it waits outlives a restart, and rows beyond the limit are counted", async () => {
    const names = Array.from({ length: MAX_HELD + 2 }, (_, index) => `p${index + 10}`);
    const before = { namespace: "fleet", name: "p10", uid: "uid-p10", target: TARGET, stage: "rest" };
    const since = "2026-11-22T12:00:00Z";
    const status = {
      running: [canaryClaim("c")],
      held: [{ ...before, reason: "StageClosed", message: "", since }],
    };
    const replica = scopedReplica(SPEC, status, [
      marked("c", CANARY),
      ...names.map((name) => waitingCluster(name)),
    ]);
    const { held: rows = [], heldOmitted } = await replica.reconciled();
    assert.equal(rows[0]?.since, since);
    assert.deepEqual([rows.length, heldOmitted], [MAX_HELD, 2]);
  });

  test("since when a Cluster waits for its turn outlives a restart, and so does the order", async () => {
    const [first, second] = ["2026-11-22T12:00:00Z", "2026-11-22T13:00:00Z"];
    const row = { namespace: "fleet", target: TARGET, stage: "all" };
    const replica = replicaOf({
      status: readyStatus({
        next: [
          { ...row, name: "b", since: first },
          { ...row, name: "a", since: second },
          { ...row, name: "new", since: first },
          { ...row, name: "other", target: "v1.0.0", since: first },
        ],
      }),
      clusters: ["a", "b", "other"].map((name) => waitingCluster(name)),
    });
    const created = "2026-11-23T11:00:00Z";
    replica.put(waitingCluster("new", { metadata: { ...clusterMeta("new"), creationTimestamp: created } }));
    await replica.rollouts.get("upgrades")?.refreshed();
    const now = NOW.toISOString().replace(".000", "");
    assert.deepEqual(
      replica.rollouts
        .get("upgrades")
        ?.queue.head()
        .map(({ name, since }) => [name, since]),
      [
        ["b", first],
        ["a", second],
        ["new", now],
        ["other", now],
      ],
    );
  });

  test("a stage that soaks has an end, which the Clusters behind it show", async () => {
    const soaking = {
      ...SPEC,
      stages: [
        { name: "canary", clusterSelector: { matchLabels: CANARY }, minSuccessTime: "24h" },
        { name: "rest" },
      ],
    };
    const done = waitingCluster("c", { metadata: clusterMeta("c", CANARY), progress: { reconciled: true } });
    const replica = scopedReplica(soaking, {}, [done, waitingCluster("p")]);
    await replica.reconciled();
    const { held: rows } = await replica.reconciled();
    assert.equal(
      rows?.[0]?.message,
      "HookRollout upgrades: waits for stage canary, which soaks until 2026-11-24T12:00:00Z (hookpolicy rollout status upgrades)",
    );
  });
});

describe("a stage names the Clusters that it waits for", () => {
  const at = (name: string, version: string, progress: Cluster["progress"], ill = {}): Cluster =>
    waitingCluster(name, {
      metadata: clusterMeta(name, { ...CANARY, ...ill }),
      topology: { className: "lab", version },
      ...(progress !== undefined && { progress }),
    });
  const waitsFor = async (clusters: readonly Cluster[]) => {
    const { targets } = await scopedReplica(SPEC, {}, [...clusters, waitingCluster("p")]).reconciled();
    const [canary, rest] = targets?.[0]?.stages ?? [];
    assert.equal(rest?.waitsFor, undefined);
    return canary?.waitsFor?.map(({ name, reason }) => `${name} ${reason}`);
  };

  test("not asked, unhealthy, and about which Cluster API asks nothing", async () => {
    assert.deepEqual(
      await waitsFor([
        at("old", "v1.0.0", { reconciled: true }),
        at("ill", TARGET, { reconciled: true }, { ill: "" }),
        at("silent", TARGET, {}),
        at("paused", TARGET, { heldAt: "BeforeClusterUpgrade" }),
      ]),
      ["ill Unhealthy", "silent NotCalled", "old NotAsked"],
    );
    const paused = { ...at("paused", TARGET, { heldAt: "BeforeClusterUpgrade" }), paused: true };
    assert.deepEqual(await waitsFor([paused]), ["paused NotCalled"]);
  });

  test("none once it soaks or has passed", async () => {
    assert.equal(await waitsFor([at("done", TARGET, { reconciled: true })]), undefined);
  });
});
