/** Workers that are pinned to an older version: their Cluster has not succeeded, and has not failed either. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, HookRolloutStatus } from "../../../src/api/hook-policy.ts";
import type { Cluster, TopologyProgress } from "../../../src/api/meta.ts";
import { claimOf, clusterMeta, TARGET } from "./fixtures.ts";
import { type Replica, waitingCluster, scopedReplica } from "./rollout-fixture.ts";

const OLD = "v1.34.0";
const CANARY = { wave: "canary" };
const SPEC: Partial<HookRolloutSpec> = {
  healthyWhen: [{ name: "ok", expression: "!('ill' in cluster.metadata.labels)" }],
  stages: [{ name: "canary", clusterSelector: { matchLabels: CANARY } }, { name: "rest" }],
};

interface Given {
  readonly version?: string;
  readonly pin?: string;
  readonly progress?: TopologyProgress;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Cluster API counts it as upgraded. */
const canary = ({ version = TARGET, pin, progress = { reconciled: true }, labels = {} }: Given): Cluster =>
  waitingCluster("c", {
    metadata: clusterMeta("c", { ...CANARY, ...labels }),
    topology: {
      className: "lab",
      version,
      ...(pin !== undefined && {
        pinnedWorkers: [{ kind: "MachineDeployment", name: "md-0", version: pin } as const],
      }),
    },
    progress,
  });

const replicaWith = (cluster: Cluster, status: Partial<HookRolloutStatus> = {}): Replica =>
  scopedReplica(SPEC, status, [cluster, waitingCluster("p")]);

const stageOf = ({ targets }: HookRolloutStatus, name = "canary") =>
  targets?.find(({ version }) => version === TARGET)?.stages.find((each) => each.name === name);

const AWAITED = {
  namespace: "fleet",
  name: "c",
  reason: "WorkersPinned",
  message: "workers are pinned: md-0 to v1.34.0",
};

describe("a stage whose Cluster has pinned workers", () => {
  test("waits for it, says why, and passes once they have the version", async () => {
    const replica = replicaWith(canary({ pin: OLD }));
    const { succeeded, waiting, failed, passed, waitsFor } = stageOf(await replica.reconciled()) ?? {};
    assert.deepEqual([succeeded, waiting, failed, passed, waitsFor], [0, 1, 0, false, [AWAITED]]);
    // The machines follow the pin.
    replica.put(canary({ pin: TARGET, progress: { reconciled: true, workersVersion: OLD } }));
    const raised = stageOf(await replica.reconciled());
    assert.deepEqual([raised?.succeeded, raised?.passed, raised?.waitsFor], [0, false, undefined]);
    replica.put(canary({ pin: TARGET, progress: { reconciled: true, workersVersion: TARGET } }));
    const done = stageOf(await replica.reconciled());
    assert.deepEqual([done?.succeeded, done?.passed], [1, true]);
  });

  test("waits although it had passed, if the Cluster comes back from an older version of its workers", async () => {
    const replica = replicaWith(canary({}));
    assert.equal(stageOf(await replica.reconciled())?.passed, true);
    replica.put(canary({ pin: OLD }));
    assert.equal(stageOf(await replica.reconciled())?.passed, false);
  });

  test("does not wait for pins at the target while the Cluster is at a newer version", async () => {
    const replica = replicaWith(canary({ version: "v1.36.0", pin: TARGET }));
    assert.deepEqual([stageOf(await replica.reconciled())?.succeeded], [1]);
  });

  test("is not halted: the pin is no failure, and unhealthy comes first", async () => {
    const pinned = stageOf(await replicaWith(canary({ pin: OLD })).reconciled());
    assert.equal(pinned?.failed, 0);
    const ill = stageOf(await replicaWith(canary({ pin: OLD, labels: { ill: "" } })).reconciled());
    assert.deepEqual(
      ill?.waitsFor?.map(({ reason, message }) => [reason, message]),
      [["Unhealthy", undefined]],
    );
  });
});

test("a slot is given back while workers are pinned: Cluster API has ended the upgrade", async () => {
  const claim = claimOf("c", { stage: "canary", markedAt: "2026-11-23T11:59:01Z" });
  const replica = replicaWith(canary({ pin: OLD }), { running: [claim] });
  const status = await replica.reconciled();
  assert.deepEqual([status.running, status.failed], [undefined, undefined]);
  assert.deepEqual(stageOf(status)?.waitsFor, [AWAITED]);
});

test("the target of a Cluster whose workers are behind is in the status although nothing else wants it", async () => {
  const replica = replicaWith(canary({ pin: OLD }));
  replica.remove("p");
  assert.deepEqual(stageOf(await replica.reconciled())?.waitsFor, [AWAITED]);
});

test("words of tenants in the status are short and printable", async () => {
  const pin = `v1\u001b[31m${"x".repeat(500)}`;
  const [row] = stageOf(await replicaWith(canary({ pin })).reconciled())?.waitsFor ?? [];
  assert.ok(row?.message !== undefined && row.message.length <= 256 && !row.message.includes("\u001b"));
});
