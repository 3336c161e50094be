/** Calls that are not Cluster API's, about Clusters that wait for a slot of a rollout. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { type HookRolloutSpec, MAX_TARGETS } from "../../src/api/hook-policy.ts";
import { healthOf } from "../../src/rollouts/health.ts";
import { compileRollout } from "../../src/rollouts/rollout.ts";
import { scopeOf } from "../../src/rollouts/rollout.ts";
import {
  confirm,
  marked,
  reasonOf,
  type Replica,
  replicaOf,
  waitingCluster,
} from "../unit/rollouts/rollout-fixture.ts";
import { hookRollout, NOW, readyStatus } from "../unit/rollouts/fixtures.ts";

const [A, B] = [waitingCluster("a"), waitingCluster("b")];

describe("forged calls about the first of the queue", () => {
  test("take no more than its slot, and leave it to Cluster API's own call", async () => {
    const replica = replicaOf({ clusters: [A, B] });
    for (let call = 0; call < 20; call += 1) assert.equal(reasonOf(await confirm(replica, A)), "go");
    assert.equal(reasonOf(await confirm(replica, B)), "NoFreeSlot");
    replica.time.now = new Date(NOW.getTime() + 25_000);
    assert.equal(reasonOf(await confirm(replica, A)), "go", "the slot was used up by calls");
    replica.put(marked("a"));
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
  });

  test("keep the slot of a Cluster that never begins no longer than its claim", async () => {
    const status = readyStatus({ scope: scopeOf(hookRollout({}).spec) });
    const replica = replicaOf({ clusters: [A, B], status });
    const reasons = new Set<string>();
    for (let seconds = 0; seconds <= 300; seconds += 5) {
      Object.assign(replica.time, { now: new Date(NOW.getTime() + seconds * 1000), nowMs: seconds * 1000 });
      if (replica.api.running("upgrades").includes("a") || seconds === 0)
        reasons.add(reasonOf(await confirm(replica, A)));
      await replica.reconciler.reconcile("upgrades");
    }
    assert.deepEqual([...reasons], ["go", "ClaimExpires"]);
    assert.deepEqual(replica.api.running("upgrades"), []);
  });
});

test("a tenant whose Clusters want more versions than a rollout follows keeps no other namespace out", async () => {
  const tenants = Array.from({ length: MAX_TARGETS }, (_, index) => {
    const { metadata, ...cluster } = waitingCluster(`t${index}`);
    const topology = { className: "lab", version: `v1.99.${index}` };
    return { ...cluster, metadata: { ...metadata, namespace: "tenant" }, topology };
  });
  const status = readyStatus({ scope: scopeOf(hookRollout({}).spec) });
  const replica = replicaOf({ clusters: tenants, status });
  await replica.reconciler.reconcile("upgrades");
  replica.put(A);
  await replica.reconciler.reconcile("upgrades");
  assert.equal(reasonOf(await confirm(replica, A)), "go");
});

test("a rollout from before a restore of etcd is not what memory knows under the same generation", async () => {
  const replica = replicaOf({ clusters: [A], specs: { upgrades: { mode: "Audit" } } });
  assert.equal(reasonOf(await confirm(replica, A)), "go");
  const known = replica.api.stored.get("upgrades");
  assert.ok(known !== undefined);
  const metadata = { ...known.metadata, resourceVersion: "5" };
  const restored = { ...known, metadata, spec: { ...known.spec, mode: "Enforce" as const, paused: true } };
  replica.api.stored.set("upgrades", restored);
  assert.equal(reasonOf(await confirm(replica, A)), "RolloutNotInMemory");
  replica.rollouts.rolloutChanged("upgrades", undefined);
  replica.rollouts.rolloutChanged("upgrades", restored);
  assert.equal(reasonOf(await confirm(replica, A)), "Paused");
});

describe("a replica whose clock is two hours ahead", () => {
  const HOURS = 2 * 3_600_000;
  const ahead = new Date(NOW.getTime() + HOURS);
  const wrong = (now: Date): Date => new Date(now.getTime() - HOURS);

  const AVAILABLE = { type: "Available", status: "True", reason: "", lastTransitionTime: NOW.toISOString() };

  /** `a` runs, and b waits for its slot. */
  async function runningReplica(spec: Partial<HookRolloutSpec> = {}): Promise<Replica> {
    const status = readyStatus({ scope: scopeOf(hookRollout(spec).spec) });
    const replica = replicaOf({ specs: { upgrades: spec }, clusters: [A, B], status });
    assert.equal(reasonOf(await confirm(replica, A)), "go");
    replica.put(marked("a"));
    await replica.reconciler.reconcile("upgrades");
    return replica;
  }

  for (const [what, serverNow] of [
    ["is compared with the API server's", wrong],
    ["cannot be compared with the API server's", undefined],
  ] as const) {
    test(`frees no slot, where it ${what}`, async () => {
      const replica = await runningReplica();
      Object.assign(replica.api, { serverNow });
      replica.time.now = ahead;
      await assert.rejects(replica.reconciler.reconcile("upgrades"), /Clock(Skewed|Unknown)/);
      replica.time.now = NOW;
      replica.api.serverNow = (now) => now;
      await replica.reconciler.reconcile("upgrades");
      assert.deepEqual(replica.api.running("upgrades"), ["a"]);
      assert.equal(reasonOf(await confirm(replica, B)), "NoFreeSlot");
    });
  }

  test("takes no slot of another Cluster, whose deadline seems to have passed", async () => {
    const replica = await runningReplica();
    // It was right while policies were confirmed.
    const reads = replica.api.members.bind(replica.api);
    replica.api.members = async () => {
      Object.assign(replica.time, { now: ahead });
      replica.api.serverNow = wrong;
      return await reads();
    };
    assert.equal(reasonOf(await confirm(replica, B)), "NotConfirmed");
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
  });

  test("begins nothing of a stage whose soak seems to be over", async () => {
    const stages = [
      { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "1h" },
      { name: "rest" },
    ];
    const upgraded = waitingCluster("c", { progress: { reconciled: true } }, { wave: "canary" });
    const available = {
      ...upgraded,
      status: { conditions: [AVAILABLE], initialization: {} },
    };
    const status = readyStatus({ scope: scopeOf(hookRollout({ stages }).spec) });
    const replica = replicaOf({ specs: { upgrades: { stages } }, clusters: [A, available], status });
    await replica.reconciler.reconcile("upgrades");
    const canary = (): unknown => replica.api.stored.get("upgrades")?.status?.targets?.[0]?.stages[0];
    const before = canary();
    replica.time.now = ahead;
    replica.api.serverNow = wrong;
    await assert.rejects(replica.reconciler.reconcile("upgrades"), /ClockSkewed/);
    assert.deepEqual(canary(), before);
    assert.equal(reasonOf(await confirm(replica, A)), "ClockSkewed");
  });

  test("has stored instants that count from when the clock is right again", async () => {
    const replica = await runningReplica();
    const object = replica.api.stored.get("upgrades")!;
    const { running = [] } = object.status ?? {};
    const claims = running.map((each) => ({ ...each, claimedAt: "2027-11-23T12:00:00Z" }));
    const stored = replica.api.put({ ...object, status: { ...object.status, running: claims } });
    replica.rollouts.rolloutChanged("upgrades", stored);
    await replica.reconciler.reconcile("upgrades");
    replica.time.now = new Date(NOW.getTime() + 3_600_000);
    await replica.reconciler.reconcile("upgrades");
    assert.deepEqual(replica.api.running("upgrades"), [], "it keeps its slot for a year");
  });
});

describe("checks of health over Clusters with many annotations", () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `a${index}`);
  const annotations = Object.fromEntries(names(1000).map((name) => [name, "b"]));
  const upgraded = { ...A, metadata: { ...A.metadata, annotations } };
  const health = (count: number): string => {
    const expression = "cluster.metadata.annotations.all(a, a != 'x')";
    const healthyWhen = names(count).map((name) => ({ name, expression }));
    return healthOf(compileRollout(hookRollout({ healthyWhen })), upgraded, NOW);
  };

  test("share the steps of one decision", () => {
    assert.deepEqual([1, 16].map(health), ["Healthy", "Unknown"]);
  });
});
