/** A stage that had passed is closed while its Clusters do not meet it, and does not soak again. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, RolloutStageStatus } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { clusterMeta, NOW, stageOf, TARGET } from "./fixtures.ts";
import { confirm, reasonOf, type Replica, waitingCluster, scopedReplica } from "./rollout-fixture.ts";

const SINCE = "2026-11-23T11:00:00Z";
const CANARY = { wave: "canary" };
const PROD = waitingCluster("p");

const specOf = (minSuccessTime: string): Partial<HookRolloutSpec> => ({
  healthyWhen: [{ name: "ok", expression: "!('ill' in cluster.metadata.labels)" }],
  stages: [{ name: "canary", clusterSelector: { matchLabels: CANARY }, minSuccessTime }, { name: "rest" }],
});

const canary = (labels = {}, resourceVersion = "1"): Cluster =>
  waitingCluster("c", {
    metadata: { ...clusterMeta("c", { ...CANARY, ...labels }), resourceVersion },
    progress: { reconciled: true },
  });
const ill = canary({ ill: "" });

interface Given {
  readonly clusters?: readonly Cluster[];
  readonly soak?: string;
  readonly scope?: string;
}

const replicaWith = (
  row: Partial<RolloutStageStatus>,
  { clusters = [canary()], soak = "1h", ...status }: Given = {},
): Replica => {
  const stages = [stageOf("canary", { soakingSince: SINCE, ...row }), stageOf("rest", { waiting: 1 })];
  return scopedReplica(specOf(soak), { targets: [{ version: TARGET, stages }], ...status }, [
    ...clusters,
    PROD,
  ]);
};

async function looksLike(replica: Replica, expected: readonly unknown[]): Promise<void> {
  const { targets } = await replica.reconciled();
  const [row] = targets?.[0]?.stages ?? [];
  assert.deepEqual([row?.passed, row?.closed, row?.soakingSince], expected);
  assert.equal(reasonOf(await confirm(replica, PROD)), expected[0] === true ? "go" : "StageClosed");
}

const OPEN = [true, undefined, SINCE];
const CLOSED = [false, true, SINCE];
const ANEW = [false, undefined, undefined];
const PASSED = { passed: true, succeeded: 1 };

describe("a stage that has passed is closed, and passes again without another soak,", () => {
  const cases: Readonly<Record<string, (replica: Replica) => () => void>> = {
    "while a Cluster is unhealthy": ({ put }) => {
      put(ill);
      return () => put(canary());
    },
    "while a new Cluster has not succeeded": ({ put, remove }) => {
      put(waitingCluster("new", {}, CANARY));
      return () => remove("new");
    },
    "while a Cluster that was labelled into it is not asked for the version": ({ put, remove }) => {
      put(waitingCluster("d", { topology: { className: "lab", version: "v1.34.0" } }, CANARY));
      return () => remove("d");
    },
  };
  for (const [when, change] of Object.entries(cases))
    test(when, async () => {
      const replica = replicaWith(PASSED);
      await looksLike(replica, OPEN);
      const undo = change(replica);
      await looksLike(replica, CLOSED);
      replica.time.now = new Date(NOW.getTime() + 60_000);
      await looksLike(replica, CLOSED);
      undo();
      await looksLike(replica, [true, undefined, "2026-11-23T11:01:00Z"]);
    });

  test("but only once a read has proven it", async () => {
    const replica = replicaWith(PASSED, { clusters: [ill] });
    await looksLike(replica, CLOSED);
    replica.put(canary());
    replica.api.clusters.set("fleet/c", canary({ ill: "" }, "99"));
    await looksLike(replica, CLOSED);
    replica.put(canary({}, "100"));
    await looksLike(replica, OPEN);
  });
});

describe("a stage soaks anew", () => {
  test("if it had not passed, although its soak ended while nobody looked", async () => {
    await looksLike(replicaWith({ succeeded: 1 }, { clusters: [ill] }), ANEW);
  });

  test("if it has to soak for longer than it did", async () => {
    for (const row of [PASSED, { closed: true }])
      await looksLike(replicaWith(row, { clusters: [ill], soak: "2h" }), ANEW);
  });

  test("if it has to soak for longer once it is met again, for the time that it was closed does not count", async () => {
    const replica = replicaWith({ closed: true });
    replica.time.now = new Date(NOW.getTime() + 24 * 3600_000);
    const opened = "2026-11-24T11:00:00Z";
    await looksLike(replica, [true, undefined, opened]);
    const raised = replicaWith({ ...PASSED, soakingSince: opened }, { soak: "2h" });
    raised.time.now = replica.time.now;
    await looksLike(raised, [false, undefined, opened]);
    const now = "2026-11-23T12:00:00Z";
    await looksLike(replicaWith({ closed: true }, { soak: "2h" }), [false, undefined, now]);
  });

  test("once the members of the rollout are others, or its status was lost", async () => {
    for (const row of [PASSED, { closed: true }])
      for (const clusters of [[ill], []]) {
        const { targets } = await replicaWith(row, { clusters, scope: "before" }).reconciled();
        assert.deepEqual(targets?.[0]?.stages[0]?.soakingSince, undefined);
      }
  });
});

describe("a stage without Clusters", () => {
  test("stays passed if it had passed, and closed if it was closed", async () => {
    await looksLike(replicaWith(PASSED, { clusters: [] }), OPEN);
    await looksLike(replicaWith({ closed: true }, { clusters: [] }), CLOSED);
  });

  test("does not pass if it had not", async () => {
    await looksLike(replicaWith({ succeeded: 1 }, { clusters: [] }), ANEW);
  });
});
