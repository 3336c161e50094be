import assert from "node:assert/strict";
import test, { describe } from "node:test";
import {
  CONDITION,
  type HookRolloutSpec,
  type HookRolloutStatus,
  REASON,
  type RolloutClaim,
} from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { scopeOf } from "../../../src/rollouts/rollout.ts";
import { claimOf, clusterMeta, failureOf, hookRollout, NOW, readyStatus, TARGET } from "./fixtures.ts";
import { marked, type Replica, replicaOf, waitingCluster, scopedReplica } from "./rollout-fixture.ts";

const MINUTE = 60_000;
const SPEC: Partial<HookRolloutSpec> = {
  healthyWhen: [{ name: "ok", expression: "'ok' in cluster.metadata.labels" }],
};
const CLAIM = claimOf("a");
const MARKED_CLAIM = { ...CLAIM, markedAt: "2026-11-23T11:59:01Z" };

/** It has the version, and is healthy unless told otherwise. */
const upgraded = (name: string, labels: Readonly<Record<string, string>> = { ok: "" }): Cluster =>
  waitingCluster(name, { metadata: clusterMeta(name, labels), progress: { reconciled: true } });

function scoped(status: Partial<HookRolloutStatus> = {}): HookRolloutStatus {
  return readyStatus({ scope: scopeOf(hookRollout(SPEC).spec), ...status });
}

/** One rollout whose status is as given. */
function withStatus(status: Partial<HookRolloutStatus>, clusters: readonly Cluster[]): Replica {
  return scopedReplica(SPEC, status, clusters);
}

const reconcile = async ({ reconciler }: Replica): Promise<unknown> => await reconciler.reconcile("upgrades");
const readyReason = (replica: Replica): string | undefined =>
  replica.status().conditions?.find(({ type }) => type === CONDITION.Ready)?.reason;

test("at rest it reads and writes nothing, and looks again by itself", async () => {
  const replica = withStatus({}, [upgraded("a"), waitingCluster("b")]);
  await reconcile(replica);
  assert.equal(replica.status().targets?.[0]?.version, TARGET);
  replica.api.requests.length = 0;
  assert.deepEqual(await reconcile(replica), { requeueAfterMs: 30_000 });
  assert.deepEqual(replica.api.requests, []);
});

test("a replica that does not lead writes nothing", async () => {
  const replica = withStatus({}, [waitingCluster("b")]);
  replica.leader.leads = false;
  await reconcile(replica);
  assert.deepEqual(replica.api.requests, []);
});

test("a rollout that is gone is not looked at again", async () => {
  const replica = withStatus({}, []);
  replica.rollouts.rolloutChanged("upgrades", undefined);
  assert.deepEqual(await reconcile(replica), {});
});

test("a rollout that is gone by the time it is read is not written", async () => {
  const replica = withStatus({}, [waitingCluster("b")]);
  replica.api.stored.delete("upgrades");
  await reconcile(replica);
  assert.deepEqual(replica.api.requests, ["get upgrades"]);
});

test("another rollout of the name, of which the informer has not told yet, is not written by the old spec", async () => {
  const replica = withStatus({}, [waitingCluster("b")]);
  const { object } = replica.rollouts.get("upgrades") ?? {};
  assert.ok(object);
  const { status: _, ...created } = object;
  replica.api.put({ ...created, metadata: { ...object.metadata, uid: "another" } });
  await reconcile(replica);
  assert.deepEqual(replica.api.requests, ["get upgrades"]);
});

test("a claim that another replica takes meanwhile is a conflict, and is kept", async () => {
  const replica = withStatus({}, [waitingCluster("a")]);
  const { api } = replica;
  api.beforeWrite = () => {
    const object = api.stored.get("upgrades");
    if (object !== undefined) api.put({ ...object, status: { ...object.status, running: [CLAIM] } });
  };
  await assert.rejects(reconcile(replica), /conflict/);
  assert.deepEqual(api.running("upgrades"), ["a"]);
});

describe("a slot is given back", () => {
  test("when the API server shows that it ended, whatever memory says", async () => {
    const replica = withStatus({ running: [MARKED_CLAIM] }, [marked("a", { ok: "" })]);
    replica.known.set("fleet/a", upgraded("a"));
    await reconcile(replica);
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
    replica.api.clusters.set("fleet/a", upgraded("a"));
    await reconcile(replica);
    assert.deepEqual(replica.api.running("upgrades"), []);
  });

  const later = { ...upgraded("a"), topology: { className: "lab", version: "v1.36.0" }, progress: {} };
  const replaced = { ...marked("a"), metadata: { ...marked("a").metadata, uid: "another" } };
  const deleted = waitingCluster("a", {
    metadata: { ...marked("a").metadata, deletionTimestamp: "2026-11-23T12:00:00Z" },
  });
  const cases: readonly (readonly [string, RolloutClaim, Cluster | undefined, boolean])[] = [
    ["for a Cluster that is gone", MARKED_CLAIM, undefined, true],
    ["for another Cluster of the name", MARKED_CLAIM, replaced, true],
    ["for a Cluster that is being deleted", MARKED_CLAIM, deleted, true],
    ["for a Cluster that is upgraded and healthy", MARKED_CLAIM, upgraded("a"), true],
    ["for one that was too fast for its mark to be seen", CLAIM, upgraded("a"), true],
    ["for one that wants a newer version already", MARKED_CLAIM, later, true],
    ["not for one that is not healthy", MARKED_CLAIM, upgraded("a", {}), false],
    ["not for one that shows the mark", MARKED_CLAIM, marked("a", { ok: "" }), false],
    ["not for one that has not begun yet", CLAIM, waitingCluster("a"), false],
  ];
  for (const [title, claim, cluster, isFree] of cases)
    test(title, async () => {
      const replica = withStatus({ running: [claim] }, cluster === undefined ? [] : [cluster]);
      await reconcile(replica);
      const kept = replica.status().running?.some(({ uid }) => uid === CLAIM.uid) ?? false;
      assert.equal(kept, !isFree);
    });

  describe("of a creation", () => {
    const { target: _, ...claim } = CLAIM;
    const begun = { ...claim, markedAt: MARKED_CLAIM.markedAt };
    const unclaimed = { ...begun, claimed: false };
    const creating = waitingCluster("a", { progress: {} });
    const dying = { ...creating, metadata: deleted.metadata };
    const unmarked = (status: "True" | "False"): Cluster => {
      const condition = { type: "ControlPlaneInitialized", status, reason: "", lastTransitionTime: "" };
      return { ...creating, status: { conditions: [condition], initialization: {} } };
    };
    const creations: readonly (readonly [string, RolloutClaim, Cluster, boolean])[] = [
      ["when its control plane is initialized", begun, unmarked("True"), true],
      ["when it is, and its mark was not seen", claim, unmarked("True"), true],
      ["when it is being deleted", begun, dying, true],
      ["not when its mark has gone and the control plane is not", begun, unmarked("False"), false],
      ["not when its mark has gone and it has no status yet", begun, creating, false],
      ["not when its mark has gone and no slot was given to it", unclaimed, unmarked("False"), false],
      [
        "when no slot was given to it, and its control plane is initialized",
        unclaimed,
        unmarked("True"),
        true,
      ],
    ];
    for (const [title, running, cluster, isFree] of creations)
      test(title, async () => {
        const specs = { creations: { ...SPEC, operation: "Create" } as const };
        const replica = replicaOf({ specs, status: scoped({ running: [running] }), clusters: [cluster] });
        replica.time.nowMs = 10 * MINUTE;
        await replica.reconciler.reconcile("creations");
        assert.deepEqual(replica.api.running("creations"), isFree ? [] : ["a"]);
      });
  });

  test("for one whose failure has been noted: that counts instead", async () => {
    const failed = [failureOf("a", { stage: "all", time: "2026-11-23T11:59:30Z" })];
    const replica = withStatus({ running: [MARKED_CLAIM], failed }, [upgraded("a", {})]);
    await reconcile(replica);
    assert.deepEqual(replica.api.running("upgrades"), []);
    assert.equal(replica.status().failed?.length, 1);
  });

  test("three minutes after its last write was seen if its Cluster never began, which then goes behind", async () => {
    const [a, b] = [waitingCluster("a"), waitingCluster("b")];
    const replica = withStatus({ running: [CLAIM] }, [a, b]);
    const entry = replica.rollouts.get("upgrades");
    assert.ok(entry);
    const asked = (): void => ["uid-a", "uid-b"].forEach((uid) => entry.queue.asked(uid, replica.time.nowMs));
    const at = async (ms: number): Promise<void> => {
      replica.time.nowMs = ms;
      replica.time.now = new Date(NOW.getTime() + ms);
      asked();
      await reconcile(replica);
    };
    await at(0);
    await at(2 * MINUTE);
    const object = replica.api.stored.get("upgrades");
    assert.ok(object);
    const renewed = { ...CLAIM, attempts: 2, renewedAt: "2026-11-23T12:01:00Z" };
    const again = replica.api.put({ ...object, status: { ...object.status, running: [renewed] } });
    replica.rollouts.rolloutChanged("upgrades", again);
    await at(2 * MINUTE);
    await at(5 * MINUTE - 1);
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
    await at(5 * MINUTE);
    assert.deepEqual(replica.api.running("upgrades"), []);
    await at(5 * MINUTE + 1000);
    assert.deepEqual(
      entry.queue.order.map(({ member }) => member.metadata.uid),
      ["uid-b", "uid-a"],
    );
  });

  const HEARD = [
    {
      renewedAt: "2026-11-23T11:57:00Z",
      order: ["uid-b", "uid-a"],
      what: "one that was not used goes behind",
    },
    {
      renewedAt: "2026-11-23T11:59:58Z",
      order: ["uid-a", "uid-b"],
      what: "one that another rollout refused does not",
    },
  ];
  for (const { renewedAt, order, what } of HEARD) {
    test(`by another replica, which may not be the one that is asked next: ${what}`, async () => {
      const running = [{ ...CLAIM, renewedAt }];
      const replica = withStatus({ running }, [waitingCluster("a"), waitingCluster("b")]);
      const object = replica.api.stored.get("upgrades");
      const entry = replica.rollouts.get("upgrades");
      assert.ok(object && entry);
      const without = replica.api.put({ ...object, status: { ...object.status, running: [] } });
      replica.rollouts.rolloutChanged("upgrades", without);
      await entry.refreshed();
      assert.deepEqual(
        entry.queue.order.map(({ member }) => member.metadata.uid),
        order,
      );
    });
  }

  test("for many at a time, with a few reads at once", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `c${index}`);
    const running = names.map((name) => ({ ...MARKED_CLAIM, name, uid: `uid-${name}` }));
    const replica = withStatus(
      { running },
      names.map((name) => upgraded(name)),
    );
    let [reading, most] = [0, 0];
    const find = replica.api.findCluster.bind(replica.api);
    replica.api.findCluster = async (...args) => {
      most = Math.max(most, (reading += 1));
      return await find(...args).finally(() => (reading -= 1));
    };
    await reconcile(replica);
    assert.deepEqual(replica.api.running("upgrades"), []);
    assert.equal(most, 8);
  });
});

describe("a Cluster at its version that is not healthy", () => {
  const failures = async (replica: Replica, ms: number): Promise<number> => {
    replica.time.nowMs = ms;
    await reconcile(replica);
    return replica.status().failed?.length ?? 0;
  };
  const ill = upgraded("a", {});

  test("has failed after 30 seconds on end", async () => {
    const replica = withStatus({}, [ill, waitingCluster("b")]);
    assert.deepEqual(
      [await failures(replica, 0), await failures(replica, 29_999), await failures(replica, 30_000)],
      [0, 0, 1],
    );
  });

  test("has not when it was healthy for a moment", async () => {
    const replica = withStatus({}, [ill, waitingCluster("b")]);
    await failures(replica, 0);
    replica.put(upgraded("a"));
    await failures(replica, 20_000);
    replica.put(ill);
    assert.equal(await failures(replica, 30_000), 0);
    assert.equal(await failures(replica, 60_000), 1);
  });

  test("has not by what was seen before the replica did not lead for a while", async () => {
    const replica = withStatus({}, [ill, waitingCluster("b")]);
    await failures(replica, 0);
    replica.leader.leads = false;
    await failures(replica, 10_000);
    replica.leader.leads = true;
    assert.equal(await failures(replica, 30_000), 0);
    assert.equal(await failures(replica, 60_000), 1);
  });

  test("has not by what was seen before it left the rollout", async () => {
    const replica = withStatus({}, [ill, waitingCluster("b")]);
    await failures(replica, 0);
    replica.remove("a");
    await failures(replica, 10_000);
    replica.put(ill);
    assert.equal(await failures(replica, 30_000), 0);
  });
});

describe("a Cluster that has succeeded, and whose tenant scales a MachineDeployment,", () => {
  const SOAKS: Partial<HookRolloutSpec> = {
    ...SPEC,
    stages: [
      { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "24h" },
      { name: "rest" },
    ],
  };
  const canary = upgraded("a", { ok: "", wave: "canary" });
  const scaled: Cluster = { ...canary, progress: {} };
  const soaking = async (): Promise<Replica> => {
    const replica = scopedReplica(SOAKS, {}, [canary, waitingCluster("b", {}, { ok: "" })]);
    await reconcile(replica);
    return replica;
  };
  const seen = async (replica: Replica, cluster: Cluster, minutes: number) => {
    replica.time.now = new Date(NOW.getTime() + minutes * MINUTE);
    replica.put(cluster);
    await reconcile(replica);
    const [first] = replica.status().targets?.[0]?.stages ?? [];
    return [first?.succeeded, first?.soakingSince];
  };

  test("stays so, and its stage soaks as before", async () => {
    const replica = await soaking();
    assert.deepEqual(await seen(replica, scaled, 10), [1, "2026-11-23T12:00:00Z"]);
    assert.deepEqual(await seen(replica, canary, 20), [1, "2026-11-23T12:00:00Z"]);
  });

  test("does not when it is not healthy, and must be reconciled to succeed again", async () => {
    const replica = await soaking();
    assert.deepEqual(await seen(replica, { ...scaled, metadata: clusterMeta("a", { wave: "canary" }) }, 10), [
      0,
      undefined,
    ]);
    assert.deepEqual(await seen(replica, scaled, 20), [0, undefined]);
    assert.deepEqual(await seen(replica, canary, 30), [1, "2026-11-23T12:30:00Z"]);
  });

  test("does not for a replica that did not lead meanwhile", async () => {
    const replica = await soaking();
    replica.leader.leads = false;
    await reconcile(replica);
    replica.leader.leads = true;
    assert.deepEqual(await seen(replica, scaled, 10), [0, undefined]);
  });

  test("does not as another Cluster of the name, or after it had left the rollout", async () => {
    const replica = await soaking();
    const other = { ...scaled, metadata: { ...scaled.metadata, uid: "another" } };
    assert.deepEqual(await seen(replica, other, 10), [0, undefined]);
    await seen(replica, canary, 20);
    replica.remove("a");
    await reconcile(replica);
    assert.deepEqual(await seen(replica, scaled, 30), [0, undefined]);
  });
});

describe("nothing begins for three minutes", () => {
  test("when the status of a rollout that is not young was lost", async () => {
    const replica = replicaOf({ specs: { upgrades: SPEC }, status: {}, clusters: [waitingCluster("a")] });
    await reconcile(replica);
    assert.equal(readyReason(replica), REASON.StatusLost);
    replica.time.nowMs = 3 * MINUTE - 1;
    await reconcile(replica);
    assert.equal(readyReason(replica), REASON.StatusLost);
    replica.time.nowMs = 3 * MINUTE;
    await reconcile(replica);
    assert.equal(readyReason(replica), REASON.Loaded);
  });

  test("when prepare-uninstall had said that no operator runs: Clusters began unasked meanwhile", async () => {
    const conditions = scoped().conditions?.map((each) => ({ ...each, reason: REASON.OperatorGone }));
    const replica = withStatus({ ...(conditions && { conditions }) }, [waitingCluster("a")]);
    await reconcile(replica);
    assert.equal(readyReason(replica), REASON.StatusLost);
    replica.time.nowMs = 3 * MINUTE;
    await reconcile(replica);
    assert.equal(readyReason(replica), REASON.Loaded);
  });

  test("when the selectors changed", async () => {
    const replica = withStatus({ scope: "before" }, [waitingCluster("a")]);
    await reconcile(replica);
    assert.equal(readyReason(replica), REASON.StatusLost);
  });

  test("when another replica had begun to wait, counted anew", async () => {
    const conditions = scoped().conditions?.map((each) => ({ ...each, reason: REASON.StatusLost }));
    const replica = withStatus({ ...(conditions && { conditions }) }, [waitingCluster("a")]);
    replica.time.nowMs = 10 * MINUTE;
    await reconcile(replica);
    assert.equal(readyReason(replica), REASON.StatusLost);
    replica.time.nowMs = 13 * MINUTE;
    await reconcile(replica);
    assert.equal(readyReason(replica), REASON.Loaded);
  });

  test("but not for a young rollout, and not in mode Audit", async () => {
    const young = replicaOf({ specs: { upgrades: SPEC }, status: {}, clusters: [waitingCluster("a")] });
    young.time.now = new Date("2026-11-23T11:01:00Z");
    await reconcile(young);
    assert.equal(readyReason(young), REASON.Loaded);
    const audit = replicaOf({ specs: { upgrades: { ...SPEC, mode: "Audit" } }, status: {}, clusters: [] });
    await reconcile(audit);
    assert.equal(readyReason(audit), REASON.SelectsNothing);
  });
});

test("thousands of members are looked at in slices: their health may take a millisecond each", async () => {
  const clusters = Array.from({ length: 40 }, (_, index) => waitingCluster(`c${index}`));
  const replica = replicaOf({ clusters, turnMs: 3 });
  const entry = replica.rollouts.get("upgrades");
  assert.ok(entry);
  let seen = 0;
  const all = entry.ofMembers(() => {
    const end = performance.now() + 1;
    while (performance.now() < end);
    return (seen += 1);
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(seen > 0 && seen < 40, String(seen));
  assert.equal((await all).length, 40);
});
