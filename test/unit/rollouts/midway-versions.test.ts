/** Up to Cluster API 1.11, BeforeClusterUpgrade is also called about a version that changes while an upgrade runs. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, RolloutClaim, RolloutFailure } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { CLAIM_MS } from "../../../src/rollouts/rollout-reconciler.ts";
import { claimOf, clusterMeta, failureOf, readyStatus, TARGET } from "./fixtures.ts";
import {
  ask,
  confirm,
  confirmAfterList,
  reasonOf,
  released,
  type Replica,
  replicaOf,
  requestOf,
  waitingCluster,
} from "./rollout-fixture.ts";

const BEFORE = "v1.35.0";
const CLAIM = claimOf("a", {
  target: BEFORE,
  claimedAt: "2026-11-23T11:30:00Z",
  renewedAt: "2026-11-23T11:30:00Z",
  markedAt: "2026-11-23T11:30:01Z",
});
/** It was being upgraded to BEFORE, and Cluster API asks about TARGET. */
const midway = waitingCluster("a", { metadata: clusterMeta("a", {}, true) });

interface Waiting {
  readonly claim: Partial<RolloutClaim>;
  readonly failed: readonly RolloutFailure[];
  readonly cluster: Cluster;
}

function replicaWith(
  spec: Partial<HookRolloutSpec>,
  claim: Partial<RolloutClaim> = {},
  { capi = 11, failed = [] }: { readonly capi?: number; readonly failed?: readonly RolloutFailure[] } = {},
): Replica {
  const status = readyStatus({ running: [{ ...CLAIM, ...claim }], failed: [...failed] });
  return replicaOf({ specs: { upgrades: spec }, status, clusters: [midway], capi });
}

async function saysTwice(replica: Replica, reason: string): Promise<void> {
  assert.equal(ask(replica, midway), reason, "from memory");
  assert.equal(reasonOf(await confirm(replica, midway)), reason, "confirmed");
}

const targets = (replica: Replica): unknown =>
  replica.status().running?.map(({ name, target }) => [name, target]);

describe("a Cluster whose version changes while it is upgraded", () => {
  const failure = failureOf("b", { target: BEFORE, stage: "all", time: CLAIM.claimedAt });
  const until = [{ name: "never", expression: "false" }];
  const gated = { stages: [{ name: "all", until }] };

  test("is held by a pause, a halt and a gate", async () => {
    await saysTwice(replicaWith({ paused: true }), "Paused");
    await saysTwice(replicaWith({}, {}, { failed: [failure] }), "Halted");
    await saysTwice(replicaWith(gated), "GateOpen");
  });

  test("is held by a pause without a slot of its own, too", async () => {
    await saysTwice(replicaWith({ paused: true }, { uid: "uid-b", name: "b" }), "Paused");
    // The operator has only seen its mark.
    await saysTwice(replicaWith({ paused: true }, { target: TARGET, claimed: false }), "Paused");
  });

  test("gives its slot for one to the new version when it is its turn, and has not failed", async () => {
    const replica = replicaWith({ maxConcurrency: 1 });
    const { rollouts, reconciler, put } = replica;
    put(waitingCluster("b"));
    ask(replica, midway);
    await rollouts.get("upgrades")?.refreshed();
    assert.equal(ask(replica, midway), "go");
    assert.equal(reasonOf(await confirmAfterList(replica, requestOf(midway), released(midway))), "go");
    assert.deepEqual(targets(replica), [["a", TARGET]]);
    assert.equal(reasonOf(await confirm(replica, waitingCluster("b"))), "NoFreeSlot");
    await reconciler.reconcile("upgrades");
    assert.deepEqual(replica.status().failed, undefined);
  });

  test("gets a slot of its own where the operator has only seen the mark", async () => {
    const replica = replicaWith({ maxConcurrency: 1 }, { target: TARGET, claimed: false });
    assert.equal(reasonOf(await confirm(replica, midway)), "go");
    const [{ claimed, target } = CLAIM, ...others] = replica.status().running ?? [];
    assert.deepEqual([claimed, target, others], [true, TARGET, []]);
  });

  test("is listed as held while the rollout is paused, and does not halt it", async () => {
    const replica = replicaWith({ paused: true });
    ask(replica, midway);
    await replica.reconciler.reconcile("upgrades");
    const { held, failed } = replica.status();
    assert.deepEqual(
      [held?.map(({ name, reason }) => [name, reason]), failed],
      [[["a", "Paused"]], undefined],
    );
  });

  describe("and has a slot for that, with which it has not begun", () => {
    const { markedAt: _, ...unbegun } = { ...CLAIM, target: TARGET };
    const waiting = (
      spec: Partial<HookRolloutSpec>,
      { claim = {}, failed = [], cluster = midway }: Partial<Waiting> = {},
    ): Replica => {
      const status = readyStatus({ running: [{ ...unbegun, ...claim }], failed: [...failed] });
      return replicaOf({ specs: { upgrades: spec }, status, clusters: [cluster], capi: 11 });
    };

    // Cluster API shows an error, or nothing yet, although it waits.
    for (const progress of [midway.progress, {}])
      test(`is held by a pause, a halt and a gate, and fails by no deadline: ${JSON.stringify(progress)}`, async () => {
        const cluster = { ...midway, ...(progress && { progress }) };
        const says = async (replica: Replica, reason: string): Promise<void> => {
          assert.equal(ask(replica, cluster), reason, "from memory");
          if (cluster.progress?.heldAt === undefined) return;
          assert.equal(reasonOf(await confirm(replica, cluster)), reason, "confirmed");
        };
        await says(waiting({ paused: true }, { cluster }), "Paused");
        await says(waiting({}, { failed: [failure], cluster }), "Halted");
        await says(waiting(gated, { cluster }), "GateOpen");
        const late = waiting({}, { cluster });
        late.time.now = new Date("2026-11-23T12:31:00Z");
        await late.reconciler.reconcile("upgrades");
        assert.equal(late.status().failed, undefined);
      });

    test("gives it back", async () => {
      const replica = waiting({ paused: true });
      await replica.reconciler.reconcile("upgrades");
      assert.deepEqual(replica.status().running, [unbegun]);
      replica.time.nowMs += CLAIM_MS;
      await replica.reconciler.reconcile("upgrades");
      assert.equal(replica.status().running, undefined);
    });

    test("has begun once Cluster API names a step after the control plane has the version", async () => {
      const replica = waiting({});
      replica.put({ ...midway, progress: { begun: true } });
      await replica.reconciler.reconcile("upgrades");
      assert.notEqual(replica.status().running?.[0]?.markedAt, undefined);
    });

    test("says of a slot whether the Cluster showed an upgrade before", async () => {
      const stored = async (cluster: Cluster, capi: number): Promise<unknown> => {
        const replica = replicaOf({ clusters: [cluster], capi });
        assert.equal(reasonOf(await confirm(replica, cluster)), "go");
        return replica.status().running?.[0]?.unmarked;
      };
      assert.equal(await stored(waitingCluster("a"), 11), true);
      assert.equal(await stored(midway, 11), undefined);
      assert.equal(await stored(waitingCluster("a"), 12), undefined);
    });

    test("proceeds where the mark came after the slot: a step of Cluster API has failed since", async () => {
      await saysTwice(waiting({ paused: true }, { claim: { unmarked: true } }), "go");
    });
  });

  test("proceeds with the version that it has begun, or had a slot for until its deadline, whatever the rollout says by now", async () => {
    await saysTwice(replicaWith({ paused: true }, { target: TARGET }), "go");
    const late = { ...failure, uid: "uid-a", name: "a", target: TARGET, reason: "ProgressDeadlineExceeded" };
    const status = readyStatus({ failed: [late] });
    await saysTwice(replicaOf({ specs: { upgrades: {} }, status, clusters: [midway], capi: 11 }), "go");
  });

  describe("past the deadline of the slot that it has", () => {
    const late = new Date("2026-11-23T12:31:00Z");
    const afterDeadline = async (replica: Replica) => {
      replica.time.now = late;
      await replica.reconciler.reconcile("upgrades");
      const { failed = [], conditions = [] } = replica.status();
      const halted = conditions.find(({ type }) => type === "Halted")?.status;
      return [halted, failed.map(({ name, target, reason }) => [name, target, reason])];
    };

    test("does not halt the rollout that may hold it", async () => {
      const unclaimed = ["False", [["a", BEFORE, "UnclaimedOperation"]]];
      assert.deepEqual(await afterDeadline(replicaWith({ paused: true })), unclaimed);
      assert.deepEqual(await afterDeadline(replicaWith({ stages: [{ name: "all" }] })), unclaimed);
    });

    test("halts it where it waits for no other version, or has begun this one", async () => {
      const halts = (target: string) => ["True", [["a", target, "ProgressDeadlineExceeded"]]];
      const begun = replicaWith({}, { target: TARGET });
      assert.deepEqual(await afterDeadline(begun), halts(TARGET));
      const status = readyStatus({ running: [CLAIM] });
      const stuck = waitingCluster("a", { metadata: midway.metadata, progress: {} });
      const still = replicaOf({ specs: { upgrades: {} }, status, clusters: [stuck], capi: 11 });
      assert.deepEqual(await afterDeadline(still), halts(BEFORE));
      assert.deepEqual(await afterDeadline(replicaWith({}, {}, { capi: 12 })), halts(BEFORE));
    });

    const unclaimed = { ...failure, uid: "uid-a", name: "a", target: BEFORE, reason: "UnclaimedOperation" };
    test("waits for a slot like any other", async () => {
      const status = readyStatus({ failed: [unclaimed] });
      const of = (spec: Partial<HookRolloutSpec>): Replica =>
        replicaOf({ specs: { upgrades: spec }, status, clusters: [midway], capi: 11 });
      await saysTwice(of({ paused: true }), "Paused");
      const replica = of({});
      assert.equal(reasonOf(await confirm(replica, midway)), "go");
      assert.deepEqual(targets(replica), [["a", TARGET]]);
    });

    test("keeps that until it is healthy", async () => {
      const own = { ...CLAIM, target: TARGET };
      const done = waitingCluster("a", { metadata: clusterMeta("a"), progress: { reconciled: true } });
      for (const healthy of [false, true]) {
        const replica = replicaOf({
          specs: { upgrades: { healthyWhen: [{ name: "never", expression: String(healthy) }] } },
          status: readyStatus({ running: [own], failed: [unclaimed] }),
          clusters: [done],
          capi: 11,
        });
        await replica.reconciler.reconcile("upgrades");
        assert.deepEqual(targets(replica), healthy ? undefined : [["a", TARGET]]);
      }
    });
  });

  describe("with a slot for tasks before the new version", () => {
    const { markedAt: _, ...unmarked } = CLAIM;
    const forTasks: RolloutClaim = { ...unmarked, target: TARGET, tasks: true };
    const tasksRun = (
      spec: Partial<HookRolloutSpec> = {},
      failed: readonly RolloutFailure[] = [],
    ): Replica => {
      const status = readyStatus({ running: [forTasks], failed: [...failed] });
      return replicaOf({ specs: { upgrades: spec }, status, clusters: [midway], capi: 11 });
    };

    test("is held by a pause, a halt and a gate", async () => {
      await saysTwice(tasksRun({ paused: true }), "Paused");
      await saysTwice(tasksRun({}, [failure]), "Halted");
      await saysTwice(tasksRun(gated), "GateOpen");
    });

    test("begins with it once they have ended", async () => {
      const replica = tasksRun({ maxConcurrency: 1 });
      await saysTwice(replica, "go");
      const [{ tasks, target } = CLAIM] = replica.status().running ?? [];
      assert.deepEqual([tasks, target], [undefined, TARGET]);
    });

    test("waits for no other slot", async () => {
      const entry = tasksRun().rollouts.get("upgrades");
      await entry?.refreshed();
      assert.deepEqual(entry?.queue.head(), []);
    });

    test("has no deadline, and keeps it until the tasks say that it is unused", async () => {
      const replica = tasksRun();
      const { time, reconciler } = replica;
      const running = () => replica.status().running;
      for (const now of ["2026-11-23T12:00:00Z", "2026-11-23T20:00:00Z"]) {
        time.now = new Date(now);
        ask(replica, midway);
        await reconciler.reconcile("upgrades");
        assert.deepEqual(running(), [forTasks]);
      }
      time.nowMs += CLAIM_MS;
      await reconciler.reconcile("upgrades");
      const { failed } = replica.status();
      assert.deepEqual([running(), failed], [undefined, undefined]);
    });
  });

  test("proceeds since Cluster API 1.12, which asks nothing then", async () => {
    await saysTwice(replicaWith({ paused: true }, {}, { capi: 12 }), "go");
  });
});
