/** What is scraped mirrors what is in memory. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutStatus } from "../../../src/api/hook-policy.ts";
import type { Condition } from "../../../src/api/meta.ts";
import { createMetrics } from "../../../src/report/metrics.ts";
import {
  at,
  cluster,
  clusterHookPolicy,
  gated,
  hookOverride,
  hookPolicy,
  letGo,
  NOW,
  READY,
  rule,
  period,
} from "../builders.ts";
import { StoredTask } from "../../../src/tasks/stored-task.ts";
import { hookTask } from "../tasks/hook-tasks.ts";
import type { Rollouts } from "../../../src/rollouts/rollout-decisions.ts";
import { readyStatus, stageOf, TARGET } from "../rollouts/fixtures.ts";
import { ask, replicaOf, waitingCluster } from "../rollouts/rollout-fixture.ts";
import { type Fixture, passTo, storeWith } from "../memory/fixtures.ts";
import { metricsWorld } from "./metrics-world.ts";

const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });

const NO_ROLLOUTS: Pick<Rollouts, "entries"> = { entries: () => [] };

async function scraped(
  { store, clock }: Fixture,
  name: string,
  rollouts = NO_ROLLOUTS,
  { clusterNames = false, tasks = [] }: { clusterNames?: boolean; tasks?: readonly StoredTask[] } = {},
): Promise<Record<string, number>> {
  const metrics = createMetrics({ capiVersion: "1.14" });
  const [all, now] = [() => tasks, () => clock.now];
  metrics.follow(metricsWorld({ store, rollouts, tasks: { all }, clusterNames, now }));
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => {
      const [, labels = "", value] = /\{(.*)\} (\S+)$/.exec(line) ?? [];
      return [labels.replaceAll('"', ""), Number(value)];
    }),
  );
}

describe("the metrics", () => {
  const of = "kind=HookPolicy,namespace=team-a,policy=protect";

  test("tell of each window whether it is open, as soon as it is", async () => {
    const allow = [period("+1h", "+2h")];
    const fixture = storeWith({ policies: [gated([{ name: "w", window: { allow } }])] });
    const name = "hookpolicy_window_open";
    const series = `${of},rule=confirmed-delete,gate=w`;
    assert.deepEqual(await scraped(fixture, name), { [series]: 0 });
    passTo(fixture, at("+1h"));
    assert.deepEqual(await scraped(fixture, name), { [series]: 1 });
    fixture.deletePolicy(gated([]));
    assert.deepEqual(await scraped(fixture, name), {});
  });

  test("count what an Audit policy would have held, from 0 on", async () => {
    const name = "hookpolicy_policy_would_block_total";
    const fixture = storeWith({ policies: [hookPolicy({ mode: "Audit" })], clusters: [deleting] });
    const series = `${of},hook=BeforeClusterDelete`;
    assert.deepEqual(await scraped(fixture, name), { [series]: 0 });
    fixture.setCluster(letGo(deleting));
    assert.deepEqual(await scraped(fixture, name), { [series]: 1 });
    const enforcing = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
    assert.deepEqual(await scraped(enforcing, name), {});
  });

  test("count running deadlines by the part that has passed, and none where none runs", async () => {
    const name = "hookpolicy_deadlines";
    const policy = gated([{ name: "a", annotation: { key: "a" } }], {
      deadline: { after: "100m", onExpiry: "KeepBlocking" },
    });
    const fixture = storeWith({ policies: [policy] });
    assert.deepEqual(await scraped(fixture, name), {});
    fixture.setCluster(deleting);
    passTo(fixture, at("+80m"));
    fixture.setCluster(cluster({ ...deleting.metadata, name: "late", uid: "late" }));
    assert.deepEqual(await scraped(fixture, name), {
      [`${of},passed=0`]: 1,
      [`${of},passed=50`]: 0,
      [`${of},passed=80`]: 1,
      [`${of},passed=near`]: 0,
      [`${of},passed=100`]: 0,
    });
  });

  test("count overrides by whether they are in force", async () => {
    const long = hookOverride({ expiresAt: at("+30d").toISOString() }, { name: "long", uid: "long" });
    const fixture = storeWith({ overrides: [hookOverride(), long] });
    const name = "hookpolicy_overrides";
    assert.deepEqual(await scraped(fixture, name), {
      "state=active": 1,
      "state=expired": 0,
      "state=ineffective": 1,
    });
    passTo(fixture, at("+1h"));
    assert.equal((await scraped(fixture, name))["state=expired"], 1);
  });

  test("count the Clusters that are held, by hook, each once, and none that only would be", async () => {
    const other = hookPolicy({}, { name: "other", uid: "other" });
    const audit = hookPolicy({ mode: "Audit" }, { name: "audit", uid: "audit" });
    const name = "hookpolicy_held_clusters";
    assert.deepEqual(
      await scraped(storeWith({ policies: [hookPolicy(), other], clusters: [deleting] }), name),
      {
        "hook=BeforeClusterDelete": 1,
      },
    );
    assert.deepEqual(await scraped(storeWith({ policies: [audit], clusters: [deleting] }), name), {});
  });

  test("count the Clusters that a rollout holds, and tell since when it holds the oldest", async () => {
    const name = "hookpolicy_held_clusters";
    const specs = { upgrades: { maxConcurrency: 0 }, watched: { mode: "Audit", maxConcurrency: 0 } } as const;
    const replica = replicaOf({ specs, clusters: [waitingCluster("a"), waitingCluster("b")] });
    assert.equal(ask(replica, waitingCluster("a")), "NoFreeSlot");
    const fixture = storeWith({ policies: [], clusters: [] });
    const upgrades = "hook=BeforeClusterUpgrade";
    assert.deepEqual(await scraped(fixture, name, replica.rollouts), { [upgrades]: 2 });
    replica.policiesHold.add("a");
    replica.time.nowMs += 60_000;
    assert.deepEqual(await scraped(fixture, name, replica.rollouts), { [upgrades]: 1 });
    assert.deepEqual(await scraped(fixture, "hookpolicy_oldest_hold_timestamp_seconds", replica.rollouts), {
      [`kind=HookRollout,namespace=,policy=upgrades,${upgrades},release=other,held_cluster=`]:
        Date.parse("2026-11-23T12:00:00Z") / 1000,
    });
    const named = await scraped(fixture, "hookpolicy_oldest_hold_timestamp_seconds", replica.rollouts, {
      clusterNames: true,
    });
    assert.match(Object.keys(named).join(), /policy=upgrades,.*,held_cluster=fleet\/b$/);
  });

  test("count what each policy holds or would hold, by hook and verdict, and since when the oldest is asked for", async () => {
    const younger = cluster({
      ...deleting.metadata,
      name: "b",
      uid: "b",
      deletionTimestamp: NOW.toISOString(),
    });
    const audit = hookPolicy({ mode: "Audit" }, { name: "audit", uid: "audit" });
    const fixture = storeWith({ policies: [hookPolicy(), audit], clusters: [younger, deleting] });
    const deletes = "hook=BeforeClusterDelete";
    assert.deepEqual(await scraped(fixture, "hookpolicy_policy_decisions"), {
      [`${of},${deletes},verdict=Blocked`]: 2,
      [`kind=HookPolicy,namespace=team-a,policy=audit,${deletes},verdict=WouldBlock`]: 2,
    });
    const name = "hookpolicy_oldest_hold_timestamp_seconds";
    assert.deepEqual(await scraped(fixture, name), {
      [`${of},${deletes},release=other,held_cluster=`]: Date.parse("2026-11-21T11:00:00Z") / 1000,
    });
    const named = await scraped(fixture, name, NO_ROLLOUTS, { clusterNames: true });
    assert.deepEqual(Object.keys(named), [`${of},${deletes},release=other,held_cluster=team-a/prod-1`]);
    fixture.setCluster(undefined, "team-a/prod-1");
    assert.deepEqual(await scraped(fixture, name), {
      [`${of},${deletes},release=other,held_cluster=`]: NOW.getTime() / 1000,
    });
  });

  test("name the first by its name of two that are asked about in the same second, whichever was known first", async () => {
    const twin = cluster({ ...deleting.metadata, name: "prod-0", uid: "0" });
    const name = "hookpolicy_oldest_hold_timestamp_seconds";
    for (const clusters of [
      [deleting, twin],
      [twin, deleting],
    ]) {
      const series = await scraped(storeWith({ policies: [hookPolicy()], clusters }), name, NO_ROLLOUTS, {
        clusterNames: true,
      });
      assert.deepEqual(Object.keys(series), [
        `${of},hook=BeforeClusterDelete,release=other,held_cluster=team-a/prod-0`,
      ]);
    }
  });

  test("of one policy each have at most 1000 series, ClusterHookPolicies first, and tell how many are left out", async () => {
    const gate = { name: "w", window: { allow: [period("+1h", "+2h")] } };
    const rules = [rule({ until: [gate] })];
    const policies = Array.from({ length: 1001 }, (_, n) =>
      hookPolicy({ rules }, { name: `p${n}`, uid: `p${n}` }),
    );
    const fleet = clusterHookPolicy({ rules });
    const fixture = storeWith({ policies: [...policies, fleet] });
    const windows = await scraped(fixture, "hookpolicy_window_open");
    assert.equal(Object.keys(windows).length, 1000);
    assert.match(Object.keys(windows)[0] ?? "", /policy=fleet/);
    assert.deepEqual(await scraped(fixture, "hookpolicy_metric_series_omitted"), {
      "metric=hookpolicy_policy_decisions": 0,
      "metric=hookpolicy_policy_would_block_total": 0,
      "metric=hookpolicy_oldest_hold_timestamp_seconds": 0,
      "metric=hookpolicy_window_open": 2,
      "metric=hookpolicy_deadlines": 0,
      "metric=hookpolicy_policy_not_ready": 0,
      "metric=hookpolicy_failed_tasks": 0,
    });
  });

  test("count rollouts as policies, so that one that is not in force as written is told of", async () => {
    const conditions = [{ ...READY, status: "False", reason: "InvalidSpec" } as const];
    const specs = { upgrades: {}, watched: { mode: "Audit" } } as const;
    const { rollouts } = replicaOf({ specs, status: { conditions } });
    assert.deepEqual(await scraped(storeWith({ policies: [] }), "hookpolicy_policies", rollouts), {
      "kind=HookRollout,mode=Enforce,ready=False": 1,
      "kind=HookRollout,mode=Audit,ready=False": 1,
    });
    assert.deepEqual(
      await scraped(storeWith({ policies: [] }), "hookpolicy_policy_not_ready", rollouts),
      Object.fromEntries(
        ["upgrades", "watched"].map((name) => [
          `kind=HookRollout,namespace=,policy=${name},reason=InvalidSpec`,
          1,
        ]),
      ),
    );
  });

  test("name each policy that is not in force as written, and none that is, or of which that is not known", async () => {
    const withStatus = (name: string, ...conditions: Condition[]) => ({
      ...hookPolicy({}, { name, uid: name }),
      status: { conditions },
    });
    const wrong = withStatus("wrong", { ...READY, status: "False", reason: "InvalidSpec" });
    const policies = [wrong, withStatus("right", READY), withStatus("new")];
    assert.deepEqual(await scraped(storeWith({ policies }), "hookpolicy_policy_not_ready"), {
      "kind=HookPolicy,namespace=team-a,policy=wrong,reason=InvalidSpec": 1,
    });
  });

  test("count by policy the tasks on which a person has to act", async () => {
    const ofFleet = { policyRef: { kind: "ClusterHookPolicy", name: "fleet", uid: "f" } } as const;
    const stored = (...task: Parameters<typeof hookTask>): StoredTask => new StoredTask(hookTask(...task));
    const tasks = [
      stored({ phase: "Failed" }),
      stored({ phase: "Failed" }, { run: 2 }),
      stored({ phase: "Failed", over: NOW.toISOString() }),
      stored({ phase: "Running", altered: "Changed" } as never),
      stored({ phase: "Succeeded" }),
      stored({ phase: "Failed" }, ofFleet),
    ];
    const series = await scraped(storeWith({ policies: [] }), "hookpolicy_failed_tasks", NO_ROLLOUTS, {
      tasks,
    });
    assert.deepEqual(series, {
      "kind=ClusterHookPolicy,namespace=,policy=fleet,phase=Failed": 1,
      [`${of},phase=Altered`]: 1,
      [`${of},phase=Failed`]: 2,
    });
  });

  test("say of the oldest hold whether time alone ends it", async () => {
    const window = { allow: [period("+1h", "+2h")] };
    const timed = gated([{ name: "w", window }]);
    const fixture = storeWith({ policies: [timed], clusters: [deleting] });
    const name = "hookpolicy_oldest_hold_timestamp_seconds";
    const since = Date.parse("2026-11-21T11:00:00Z") / 1000;
    assert.deepEqual(await scraped(fixture, name), {
      [`${of},hook=BeforeClusterDelete,release=time,held_cluster=`]: since,
    });
    fixture.setPolicy(
      gated([
        { name: "w", window },
        { name: "a", annotation: { key: "a" } },
      ]),
    );
    assert.deepEqual(await scraped(fixture, name), {
      [`${of},hook=BeforeClusterDelete,release=other,held_cluster=`]: since,
    });
  });

  test("say of a rollout's oldest hold whether a soak, or what runs, ends it", async () => {
    const wave = { clusterSelector: { matchLabels: { wave: "canary" } } };
    const stages = [{ name: "canary", ...wave, minSuccessTime: "1h" }, { name: "rest" }];
    const counts = { members: 1, notAsked: 0, waiting: 0, succeeded: 1, failed: 0, passed: false };
    const releases = async (more: HookRolloutStatus, spec: object = {}): Promise<string | undefined> => {
      const specs = { upgrades: { stages, ...spec } };
      const replica = replicaOf({ specs, status: readyStatus(more), clusters: [waitingCluster("a")] });
      ask(replica, waitingCluster("a"));
      const name = "hookpolicy_oldest_hold_timestamp_seconds";
      const [series = ""] = Object.keys(await scraped(storeWith({ policies: [] }), name, replica.rollouts));
      return /release=(\w+)/.exec(series)?.[1];
    };
    const soakingSince = "2026-11-23T11:30:00Z"; // it is 12:00
    const canary = { ...counts, name: "canary", running: 0 };
    const soaking = { targets: [{ version: TARGET, stages: [{ ...canary, soakingSince }] }] };
    assert.equal(await releases(soaking), "time");
    const summary = { running: 1, succeeded: 0, failed: 0, waiting: 1 };
    assert.equal(await releases({ summary }), "time", "a Cluster before it runs");
    assert.equal(await releases({}), "other", "nobody has asked for the canary");
    assert.equal(await releases({ ...soaking, summary }, { paused: true }), "other");
  });

  test("tell of the oldest hold of a rollout that time ends, and of the oldest that it does not", async () => {
    const stages = [
      { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "1h" },
      { name: "rest", clusterSelector: { matchLabels: { wave: "rest" } } },
    ];
    const canary = stageOf("canary", { succeeded: 1, soakingSince: "2026-11-23T11:30:00Z" });
    const status = readyStatus({ targets: [{ version: TARGET, stages: [canary] }] });
    const rest = { wave: "rest" };
    const clusters = [
      waitingCluster("a", {}, rest),
      waitingCluster("b", {}, rest),
      waitingCluster("c"), // in no stage
      waitingCluster("d"),
    ];
    const replica = replicaOf({ specs: { upgrades: { stages } }, status, clusters });
    for (const each of clusters) ask(replica, each);
    const name = "hookpolicy_oldest_hold_timestamp_seconds";
    const found = await scraped(storeWith({ policies: [] }), name, replica.rollouts, { clusterNames: true });
    assert.deepEqual(
      Object.keys(found).map((labels) => labels.replace(/.*(?=release)/, "")),
      ["release=time,held_cluster=fleet/a", "release=other,held_cluster=fleet/c"],
    );
  });

  test("count policies by kind and whether they are Ready", async () => {
    const name = "hookpolicy_policies";
    const ready = { ...hookPolicy({}, { name: "ready", uid: "ready" }), status: { conditions: [READY] } };
    assert.deepEqual(await scraped(storeWith({ policies: [hookPolicy(), ready] }), name), {
      "kind=HookPolicy,mode=Enforce,ready=Unknown": 1,
      "kind=HookPolicy,mode=Enforce,ready=True": 1,
    });
  });
});
