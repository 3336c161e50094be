/** A failure at one version hides none at the next. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, HookRolloutStatus, RolloutFailure } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { scopeOf } from "../../../src/rollouts/rollout.ts";
import { claimOf, clusterMeta, failureOf, hookRollout, NOW, readyStatus, TARGET } from "./fixtures.ts";
import { marked, type Replica, replicaOf, waitingCluster } from "./rollout-fixture.ts";

const EARLIER = "v1.34.0";
const SPEC: Partial<HookRolloutSpec> = {
  healthyWhen: [{ name: "ok", expression: "'ok' in cluster.metadata.labels" }],
  maxConcurrency: 1,
};
const RESUMED = { ...SPEC, ignoreFailuresBefore: "2026-11-23T11:00:01Z" };
const failedWith = (reason: string, target = EARLIER): RolloutFailure =>
  failureOf("a", { target, stage: "all", reason, time: "2026-11-23T11:00:00Z" });
const ILL: Cluster = waitingCluster("a", {
  metadata: clusterMeta("a"),
  progress: { reconciled: true },
});

function replicaWith(
  spec: Partial<HookRolloutSpec>,
  status: Partial<HookRolloutStatus>,
  cluster: Cluster,
): Replica {
  const scope = scopeOf(hookRollout(SPEC).spec);
  const clusters = [cluster, waitingCluster("b")];
  return replicaOf({ specs: { upgrades: spec }, status: readyStatus({ scope, ...status }), clusters });
}

async function rest(replica: Replica): Promise<HookRolloutStatus> {
  const { reconciler, time } = replica;
  for (const seconds of [0, 31, 33]) {
    time.nowMs = seconds * 1000;
    time.now = new Date(NOW.getTime() + time.nowMs);
    await reconciler.reconcile("upgrades");
  }
  return replica.status();
}

const halted = ({ conditions = [] }: HookRolloutStatus): string | undefined =>
  conditions.find(({ type }) => type === "Halted")?.status;

describe("a failure at an earlier version, which a user has resumed from", () => {
  for (const reason of ["Unhealthy", "ProgressDeadlineExceeded", "VersionChanged"])
    test(`does not hide that the Cluster fails at the next one: ${reason}`, async () => {
      const status = await rest(replicaWith(RESUMED, { failed: [failedWith(reason)] }, ILL));
      const rows = status.failed?.map((row) => [row.target, row.reason, row.time]);
      assert.deepEqual(rows, [[TARGET, "Unhealthy", "2026-11-23T12:00:31Z"]]);
      assert.equal(halted(status), "True");
    });

  test("is the same one while the Cluster stays unhealthy at its version", async () => {
    const row = failedWith("Unhealthy", TARGET);
    const status = await rest(replicaWith(RESUMED, { failed: [row] }, ILL));
    assert.deepEqual([status.failed, halted(status)], [[row], "False"]);
  });

  test("ends no slot before the Cluster is healthy", async () => {
    const at = "2026-11-23T11:59:00Z";
    const claim = claimOf("a", { claimedAt: at, renewedAt: at, markedAt: at });
    const replica = replicaWith(RESUMED, { running: [claim], failed: [failedWith("Unhealthy")] }, ILL);
    await replica.reconciler.reconcile("upgrades");
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
    replica.put({ ...ILL, metadata: clusterMeta("a", { ok: "" }) });
    await replica.reconciler.reconcile("upgrades");
    assert.deepEqual(replica.api.running("upgrades"), []);
  });
});

test("an operation that took too long lets the next one use a slot, and still counts as a failure", async () => {
  const waiting = waitingCluster("a");
  const replica = replicaWith(SPEC, { failed: [failedWith("ProgressDeadlineExceeded")] }, waiting);
  const message = "it took longer than progressDeadline, and has ended since";
  assert.deepEqual((await rest(replica)).failed, [{ ...failedWith("Unhealthy"), message }]);
  // An override has released it.
  replica.put(marked("a"));
  const { running = [], ...status } = await rest(replica);
  assert.deepEqual(
    running.map(({ name, target, claimed }) => [name, target, claimed]),
    [["a", TARGET, false]],
  );
  assert.deepEqual([status.failed, halted(status)], [[{ ...failedWith("Unhealthy"), message }], "True"]);
});
