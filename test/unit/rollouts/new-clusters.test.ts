/** A Cluster that is being created is no upgrade: it makes no target, and its creation does not halt the rollout. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, HookRolloutStatus } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { claimOf, clusterMeta } from "./fixtures.ts";
import { type Replica, waitingCluster, scopedReplica } from "./rollout-fixture.ts";

const MINUTE = 60_000;
const SPEC: Partial<HookRolloutSpec> = {
  progressDeadline: "1h",
  healthyWhen: [{ name: "ok", expression: "!('ill' in cluster.metadata.labels)" }],
};
const ILL = { ill: "" };

const atRest = (name: string, labels = {}, createdAt = "2026-01-01T00:00:00Z"): Cluster =>
  waitingCluster(name, {
    metadata: { ...clusterMeta(name, labels), creationTimestamp: createdAt },
    progress: { reconciled: true },
  });

const initialized = { type: "ControlPlaneInitialized", status: "True", reason: "", lastTransitionTime: "" };
const newborn = (over: Partial<Cluster> = {}, labels: Readonly<Record<string, string>> = ILL): Cluster => ({
  ...atRest("new", labels, "2026-11-23T11:58:00Z"),
  ...over,
});
/** In the order of its creation. */
const CREATION: readonly (readonly [string, Cluster])[] = [
  ["was applied", newborn({ created: false, progress: {} })],
  ["is not reconciled yet", newborn({ progress: { reconciled: false } })],
  ["has objects", newborn()],
  ["has a control plane", newborn({ status: { conditions: [initialized], initialization: {} } })],
  ["is there", newborn({}, {})],
];

const halted = ({ conditions = [] }: HookRolloutStatus): string | undefined =>
  conditions.find(({ type }) => type === "Halted")?.status;
const named = ({ failed = [] }: HookRolloutStatus): readonly string[] => failed.map(({ name }) => name);

/** After it was so for longer than an unhealthy Cluster takes to fail. */
async function later(replica: Replica, minutes = 1): Promise<HookRolloutStatus> {
  await replica.reconciled();
  replica.time.nowMs += minutes * MINUTE;
  replica.time.now = new Date(replica.time.now.getTime() + minutes * MINUTE);
  return await replica.reconciled();
}

test("a creation makes no target, and no failures of Clusters that have been unhealthy for long", async () => {
  const replica = scopedReplica(SPEC, {}, [atRest("old"), atRest("broken", ILL)]);
  for (const [what, cluster] of CREATION) {
    replica.put(cluster);
    const status = await later(replica);
    assert.deepEqual([status.targets, named(status), halted(status)], [undefined, [], "False"], what);
  }
});

describe("beside an upgrade, a Cluster that is being created", () => {
  const beside = (...clusters: readonly Cluster[]): Replica =>
    scopedReplica(SPEC, {}, [atRest("old"), waitingCluster("p"), ...clusters]);
  const row = ({ targets = [] }: HookRolloutStatus) => targets[0]?.stages[0];

  test("counts, and halts nothing", async () => {
    for (const [what, cluster] of CREATION.slice(0, -1)) {
      const status = await later(beside(cluster));
      const { members, succeeded } = row(status) ?? {};
      assert.deepEqual([members, succeeded, named(status), halted(status)], [3, 1, [], "False"], what);
    }
  });

  test("is not waited for in vain before it has objects, and has to become healthy then", async () => {
    const waitsFor = async (cluster: Cluster) =>
      row(await beside(cluster).reconciled())?.waitsFor?.map(({ name, reason }) => [name, reason]);
    assert.deepEqual(await waitsFor(newborn({ created: false, progress: {} })), undefined);
    assert.deepEqual(await waitsFor(newborn()), [["new", "Unhealthy"]]);
  });

  test("has failed if it has been healthy", async () => {
    const replica = beside(newborn({}, {}));
    await replica.reconciled();
    replica.put(newborn());
    const status = await later(replica);
    assert.deepEqual([named(status), halted(status)], [["new"], "True"]);
  });

  test("has failed once it is as old as progressDeadline", async () => {
    const status = await later(beside(newborn()), 58);
    assert.deepEqual([named(status), halted(status)], [["new"], "True"]);
  });
});

describe("a young Cluster", () => {
  test("that is unhealthy after an upgrade has failed", async () => {
    const running = [claimOf("new", { markedAt: "2026-11-23T11:59:01Z" })];
    const replica = scopedReplica(SPEC, { running }, [newborn(), waitingCluster("p")]);
    const status = await later(replica);
    assert.deepEqual([named(status), halted(status), status.running], [["new"], "True", running]);
  });

  test("that waits for an upgrade makes its target", async () => {
    const replica = scopedReplica(SPEC, {}, [newborn({ progress: { heldAt: "BeforeClusterUpgrade" } })]);
    assert.equal((await replica.reconciled()).targets?.length, 1);
  });

  test("with a control plane, that no call is about, makes its target", async () => {
    const silent = newborn({ progress: {}, status: { conditions: [initialized], initialization: {} } });
    assert.equal((await scopedReplica(SPEC, {}, [silent]).reconciled()).targets?.length, 1);
  });
});

test("a creation that began long ago, and has no objects yet, makes no target", async () => {
  const cluster = { ...atRest("long"), created: false, progress: {} };
  assert.equal((await scopedReplica(SPEC, {}, [cluster]).reconciled()).targets, undefined);
});
