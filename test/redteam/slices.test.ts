/** What a tenant's policies make the operator do is done a piece at a time, and others' in between. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { DecisionRow, GateSpec } from "../../src/api/hook-policy.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import type { ObjectReader } from "../../src/policy/watched-objects.ts";
import {
  APPROVED,
  at,
  cluster,
  clusterHookPolicy,
  DELETE,
  hookPolicy,
  namespace,
  NO_OBJECTS,
  rule,
} from "../unit/builders.ts";
import { entryOf, type Fixture, keyOf, rowsOf, storeWith } from "../unit/memory/fixtures.ts";
import { reconcilerOf } from "../unit/status/reconciling.ts";

const deletionTimestamp = at("-1h").toISOString();

const gates = (count: number): GateSpec[] =>
  Array.from({ length: count }, (_, i) => ({
    name: `g${i}`,
    expression: `cluster.metadata.name != 'x${i}'`,
  }));

/** 256 expressions. */
function large(name: string, ns = "team-a", generation = 1): PolicyObject {
  const rules = Array.from({ length: 16 }, (_, r) => rule({ name: `r${r}`, until: gates(16) }));
  return hookPolicy({ rules }, { name, namespace: ns, uid: `uid-${ns}-${name}`, generation });
}

function rings(fixture: Fixture, until: () => boolean): number {
  let count = 0;
  for (; !until(); count += 1) {
    assert.ok(count < 20_000, "it never ends");
    fixture.store.wake();
  }
  return count;
}

describe("a policy of 256 expressions", () => {
  test("is in force once it is compiled, and the one before it until then", () => {
    const fixture = storeWith({ compileMs: -1, clusters: [cluster({ deletionTimestamp })] });
    const loose = hookPolicy({ mode: "Audit" });
    fixture.setPolicy(loose);
    rings(fixture, () => fixture.store.policies.get(keyOf(loose)) !== undefined);
    const strict = hookPolicy({}, { generation: 2 });
    fixture.setPolicy(strict);
    assert.equal(entryOf(fixture, loose).compiled.generation, 1);
    rings(fixture, () => entryOf(fixture, loose).compiled.generation === 2);
    assert.equal(rowsOf(fixture, strict)[0]?.verdict, "Blocked");
  });

  test("that is edited faster than it is compiled is compiled all the same, and at last the newest edit", () => {
    const fixture = storeWith({ compileMs: -1 });
    let generation = 1;
    fixture.setPolicy(large("p", "team-a", generation));
    const known = (): number => fixture.store.policies.get(keyOf(large("p")))?.compiled.generation ?? 0;
    rings(fixture, () => {
      fixture.setPolicy(large("p", "team-a", (generation += 1)));
      return known() > 0;
    });
    rings(fixture, () => known() === generation);
  });

  test("is compiled in at least as many turns, one expression in each", () => {
    const fixture = storeWith({ compileMs: -1, turnMs: -1 });
    fixture.setPolicy(large("p"));
    const known = (): boolean => fixture.store.policies.get(keyOf(large("p"))) !== undefined;
    const turns = rings(fixture, known);
    assert.ok(turns >= 256, `${turns} turns`);
    assert.equal(entryOf(fixture, large("p")).compiled.rules.length, 16);
  });

  test("ends its compilation before that of its next edit begins", () => {
    const fixture = storeWith({ compileMs: -1, turnMs: -1 });
    fixture.setPolicy(large("p"));
    for (let i = 0; i < 100; i += 1) fixture.store.wake();
    fixture.setPolicy(large("p", "team-a", 2));
    const known = (): number => fixture.store.policies.get(keyOf(large("p")))?.compiled.generation ?? 0;
    rings(fixture, () => known() > 0);
    assert.equal(known(), 1);
    assert.ok(fixture.store.compiles(keyOf(large("p"))));
    rings(fixture, () => known() === 2);
    assert.ok(!fixture.store.compiles(keyOf(large("p"))));
  });

  test("that is made again under its name while it is compiled is the new one", () => {
    const fixture = storeWith({ compileMs: -1, turnMs: -1 });
    const old = large("p");
    fixture.setPolicy(old);
    for (let i = 0; i < 100; i += 1) fixture.store.wake();
    fixture.setPolicy({ ...old, metadata: { ...old.metadata, uid: "another" } });
    rings(fixture, () => fixture.store.policies.get(keyOf(old)) !== undefined);
    assert.equal(entryOf(fixture, old).compiled.uid, "another");
  });

  test("is compiled to the end where the clock is set back meanwhile", () => {
    const fixture = storeWith({ compileMs: -1, turnMs: -1 });
    fixture.setPolicy(large("p"));
    for (let i = 0; i < 100; i += 1) fixture.store.wake();
    fixture.clock.now = at("-1h");
    rings(fixture, () => fixture.store.policies.get(keyOf(large("p"))) !== undefined);
  });

  test("that is deleted meanwhile does not come back", () => {
    const fixture = storeWith({ compileMs: -1 });
    fixture.setPolicy(large("p"));
    fixture.deletePolicy(large("p"));
    for (let i = 0; i < 2000; i += 1) fixture.store.wake();
    assert.equal(fixture.store.policies.get(keyOf(large("p"))), undefined);
  });

  test("keeps the newest status while it is compiled", () => {
    const fixture = storeWith({ compileMs: -1 });
    const object = large("p");
    fixture.setPolicy(object);
    const status = { observedGeneration: 1, matchedClusters: 7 };
    fixture.setPolicy({ ...object, status });
    rings(fixture, () => fixture.store.policies.get(keyOf(object)) !== undefined);
    assert.deepEqual(entryOf(fixture, object).object.status, status);
  });

  test("of another namespace delays a small one by one compilation, whatever their number", () => {
    const fixture = storeWith({ compileMs: -1 });
    for (let n = 0; n < 10; n += 1) fixture.setPolicy(large(`p${n}`, "aaa-flood"));
    const small = hookPolicy();
    fixture.setPolicy(small);
    rings(fixture, () => fixture.store.policies.get(keyOf(small)) !== undefined);
    const order = [...fixture.store.policies.entries()].map(({ key }) => key);
    assert.ok(order.indexOf(keyOf(small)) <= 1, order.join());
  });

  test("is awaited before everything counts as loaded", () => {
    const fixture = storeWith({ compileMs: -1, load: false });
    fixture.setPolicy(large("p"));
    fixture.store.load();
    assert.equal(fixture.store.loaded, false);
    rings(fixture, () => fixture.store.loaded);
    assert.ok(fixture.store.policies.get(keyOf(large("p"))));
  });

  test("is awaited once, however fast it is edited", () => {
    const fixture = storeWith({ compileMs: -1, turnMs: -1, load: false });
    let generation = 1;
    fixture.setPolicy(large("p"));
    fixture.store.load();
    rings(fixture, () => {
      fixture.setPolicy(large("p", "team-a", (generation += 1)));
      return fixture.store.loaded;
    });
    assert.ok(fixture.store.compiles(keyOf(large("p"))));
  });
});

describe("2,000 Clusters", () => {
  const clusters = Array.from({ length: 2000 }, (_, n) => cluster({ name: `c${n}`, uid: `c${n}` }));

  test("are compared with the selectors of a policy one at a time", () => {
    const fixture = storeWith({ clusters, turnMs: -1 });
    const policy = hookPolicy();
    fixture.setPolicy(policy);
    assert.equal(entryOf(fixture, policy).matched.size, 1);
    rings(fixture, () => entryOf(fixture, policy).matched.size === 2000);
  });

  test("of a Namespace that changes are looked at one at a time", () => {
    const policy = clusterHookPolicy({ namespaceSelector: { matchLabels: { held: "yes" } } });
    const fixture = storeWith({ clusters, policies: [policy], turnMs: -1 });
    rings(fixture, () => entryOf(fixture, policy).toCompare.length === 0);
    fixture.setNamespace(namespace({ labels: { held: "yes" }, resourceVersion: "2" }));
    assert.ok(entryOf(fixture, policy).matched.size <= 1);
    rings(fixture, () => entryOf(fixture, policy).matched.size === 2000);
  });
});

test("objects that change for a flood of gates do not keep another namespace waiting", () => {
  const object = { apiVersion: "v1", kind: "ConfigMap", name: "x" } as const;
  const looking = (ns: string): PolicyObject =>
    hookPolicy(
      { rules: [rule({ until: [{ name: "o", object }] })] },
      { namespace: ns, uid: `uid-${ns}`, name: "p" },
    );
  const looks: string[] = [];
  const objects: ObjectReader = {
    find: (kind, ns) => {
      looks.push(ns);
      return NO_OBJECTS.find(kind, ns);
    },
  };
  const many = (ns: string, count: number): ReturnType<typeof cluster>[] =>
    Array.from({ length: count }, (_, n) =>
      cluster({ namespace: ns, name: `c${n}`, uid: `${ns}-${n}`, deletionTimestamp }),
    );
  const fixture = storeWith({
    policies: [looking("flood"), looking("other")],
    clusters: [...many("flood", 300), ...many("other", 1)],
    objects,
    turnMs: -1,
  });
  for (let i = 0; i < 2000; i += 1) fixture.store.wake();
  looks.length = 0;
  fixture.store.objectsChanged(object);
  rings(fixture, () => looks.includes("other"));
  assert.ok(looks.indexOf("other") <= 5, `${looks.indexOf("other")} looks before`);
});

test("a policy is evaluated again with those that share its steps, as a call would evaluate it", () => {
  const costly = ["a", "b", "c"].reduceRight(
    (inner, name) => `[1, 2, 3, 4, 5, 6, 7, 8].all(${name}, ${inner})`,
    "cluster.metadata.name != ''",
  );
  const until = Array.from({ length: 4 }, (_, i) => ({ name: `g${i}`, expression: costly }));
  const policies = ["a", "b"].map((name) => hookPolicy({ rules: [rule({ until })] }, { name, uid: name }));
  const held = cluster({ deletionTimestamp });
  const fixture = storeWith({ policies, clusters: [held] });
  const [a, b] = policies;
  assert.ok(a && b);
  const verdicts = (): unknown[] => [a, b].map((policy) => rowsOf(fixture, policy)[0]?.reason);
  assert.deepEqual(verdicts(), [undefined, "BudgetExhausted"]);
  fixture.setPolicy({ ...b, metadata: { ...b.metadata, generation: 2 } });
  assert.deepEqual(verdicts(), [undefined, "BudgetExhausted"]);
  const { trace } = fixture.store.decider.ask({ call: DELETE, cluster: held }, fixture.clock.now);
  assert.equal(trace[1]?.rules[0]?.reason, "BudgetExhausted");
  fixture.setPolicy(hookPolicy({ rules: [rule()] }, { name: "a", uid: "a", generation: 2 }));
  assert.deepEqual(
    verdicts(),
    ["WaitingForAnnotation", undefined],
    "an edit of one gives the other its steps back",
  );
});

describe("the rows of a flood of policies", () => {
  const never = (schedule: string): GateSpec => ({
    name: schedule.replaceAll(/\W/g, "x"),
    window: { timeZone: "Etc/UTC", allow: [{ schedule, duration: "1h" }] },
  });
  const policies = Array.from({ length: 10 }, (_, n) =>
    hookPolicy({ rules: [rule({ until: [never("0 20 * * *")] })] }, { name: `p${n}`, uid: `p${n}` }),
  );
  const foreseen = (fixture: Fixture): number =>
    policies.filter((policy) => rowsOf(fixture, policy)[0]?.earliestRelease !== undefined).length;

  test("get their forecasts one at a time, and the same as at once", () => {
    const fixture = storeWith({ policies, turnMs: -1 });
    rings(fixture, () => policies.every((policy) => entryOf(fixture, policy).toCompare.length === 0));
    let deferred = 0;
    for (const policy of policies) {
      const { awaitingForecast } = entryOf(fixture, policy);
      awaitingForecast.add = (key) => {
        deferred += 1;
        return Set.prototype.add.call(awaitingForecast, key);
      };
    }
    fixture.setCluster(cluster({ deletionTimestamp }));
    rings(fixture, () => policies.every((policy) => rowsOf(fixture, policy).length === 1));
    assert.equal(deferred, 10, "none in the turn of the decision");
    rings(fixture, () => foreseen(fixture) === 10);
    const atOnceFixture = storeWith({ policies, clusters: [cluster({ deletionTimestamp })] });
    for (const policy of policies)
      assert.deepEqual(rowsOf(fixture, policy), rowsOf(atOnceFixture, policy), policy.metadata.name);
    assert.ok(policies.every((policy) => entryOf(fixture, policy).awaitingForecast.size === 0));
  });

  test("whose Cluster is gone are no longer forecast", () => {
    const fixture = storeWith({ policies, turnMs: -1 });
    fixture.setCluster(cluster({ deletionTimestamp }));
    rings(fixture, () => policies.every((policy) => rowsOf(fixture, policy).length === 1));
    fixture.setCluster(undefined, "team-a/prod-1");
    for (let i = 0; i < 100; i += 1) fixture.store.wake();
    for (const policy of policies) {
      assert.deepEqual(rowsOf(fixture, policy), []);
      assert.equal(entryOf(fixture, policy).awaitingForecast.size, 0);
    }
  });
});

test("a status waits for the forecasts of its rows", async () => {
  const policy = hookPolicy();
  let writes = 0;
  const fixture = storeWith({ policies: [policy], clusters: [cluster({ deletionTimestamp })] });
  const reconciler = reconcilerOf(fixture, {
    replacePolicyStatus: async ({ object }, status) => {
      writes += 1;
      return { ...object, status };
    },
    setFinalizers: async (object) => object,
  });
  const entry = entryOf(fixture, policy);
  entry.editedAt = -Infinity;
  entry.awaitingForecast.add("x");
  entry.awaitingForecastSince = performance.now();
  const { requeueAfterMs = 0 } = await reconciler.reconcile(keyOf(policy));
  assert.ok(requeueAfterMs > 0);
  assert.equal(writes, 0);
  entry.awaitingForecastSince = -Infinity;
  await reconciler.reconcile(keyOf(policy));
  assert.equal(writes, 1, "but not for ever");
});

describe("rows that a tenant writes", () => {
  const clusters = Array.from({ length: 20 }, (_, n) =>
    cluster({ name: `c${n}`, uid: `c${n}`, deletionTimestamp }),
  );
  const policy = hookPolicy({
    rules: [rule({ deadline: { after: "10h", onExpiry: "KeepBlocking" } })],
  });
  const rowOf = (n: number, since: string): DecisionRow => ({
    namespace: "team-a",
    cluster: `c${n}`,
    clusterUID: `c${n}`,
    hook: "BeforeClusterDelete",
    verdict: "Blocked",
    rule: "hold",
    reason: "x",
    message: "",
    firstAsked: since,
    since,
  });
  const settled = (turnMs: number): Fixture => {
    const fixture = storeWith({ policies: [policy], clusters, turnMs });
    for (let i = 0; i < 200; i += 1) fixture.store.wake();
    return fixture;
  };
  const write = (fixture: Fixture, decisions: DecisionRow[]): void =>
    fixture.setPolicy({ ...policy, status: { observedGeneration: 1, decisions } });

  test("are adopted one at a time", () => {
    const fixture = settled(-1);
    write(
      fixture,
      clusters.map((_, n) => rowOf(n, at("-2h").toISOString())),
    );
    assert.equal(entryOf(fixture, policy).toAdopt.length, 20);
    fixture.store.wake();
    assert.ok(entryOf(fixture, policy).toAdopt.length < 20);
    rings(fixture, () => entryOf(fixture, policy).toAdopt.length === 0);
  });

  test("count once for each operation", () => {
    const fixture = settled(-1);
    write(
      fixture,
      Array.from({ length: 50 }, (_, n) => rowOf(0, at(`-${n + 2}h`).toISOString())),
    );
    assert.equal(entryOf(fixture, policy).toAdopt.length, 1);
  });
});

describe("hooks that a Cluster passes", () => {
  const MARKS = ["AfterControlPlaneUpgrade", "BeforeWorkersUpgrade", "AfterClusterUpgrade"] as const;
  const marked = (marks: readonly string[], resourceVersion: string): ReturnType<typeof cluster> =>
    cluster({ resourceVersion, annotations: { [PENDING_HOOKS_ANNOTATION]: marks.join(",") } });
  const policy = hookPolicy({ rules: [{ name: "seen", hooks: [...MARKS] }] });
  const recent = (fixture: Fixture): string[] => entryOf(fixture, policy).recent.map(({ hook }) => hook);

  test("are decided when there is time, and recorded as they were when they were seen", () => {
    const fixture = storeWith({ policies: [policy], clusters: [marked(MARKS, "1")], turnMs: -1 });
    rings(fixture, () => entryOf(fixture, policy).toCompare.length === 0);
    const seen = fixture.clock.now;
    fixture.setCluster(marked([], "2"));
    assert.deepEqual(recent(fixture), []);
    // By then nothing is known of them any more.
    fixture.setCluster(undefined, "team-a/prod-1");
    fixture.setPolicy(hookPolicy({ mode: "Audit" }, { generation: 2 }));
    fixture.clock.now = at("+1m");
    rings(fixture, () => recent(fixture).length === 3);
    for (const result of entryOf(fixture, policy).recent)
      assert.deepEqual([result.verdict, new Date(result.time)], ["Observed", seen]);
  });

  test("are reported as released by the policies that held them, also later", () => {
    const holding = hookPolicy({
      rules: [rule({ hooks: ["BeforeClusterDelete"] })],
    });
    const fixture = storeWith({
      policies: [holding],
      clusters: [cluster({ deletionTimestamp })],
      turnMs: -1,
    });
    rings(fixture, () => rowsOf(fixture, holding).length === 1);
    const approved = { ...cluster({ deletionTimestamp }).metadata.annotations, [APPROVED]: "" };
    fixture.setCluster(cluster({ deletionTimestamp, resourceVersion: "2", annotations: approved }));
    rings(fixture, () => rowsOf(fixture, holding).length === 0);
    fixture.setCluster(undefined, "team-a/prod-1");
    rings(fixture, () => fixture.holds.some(({ reason }) => reason === "Released"));
    assert.deepEqual(
      fixture.holds.map(({ reason }) => reason),
      ["Held", "Released"],
    );
  });
});

test("many changes of a kind evaluate each operation once, however many policies look at it", () => {
  const object = { apiVersion: "v1", kind: "ConfigMap", name: "x" } as const;
  const policies = Array.from({ length: 20 }, (_, n) =>
    hookPolicy({ rules: [rule({ until: [{ name: "o", object }] })] }, { name: `p${n}`, uid: `p${n}` }),
  );
  let looks = 0;
  const objects: ObjectReader = {
    find: (kind, ns) => {
      looks += 1;
      return NO_OBJECTS.find(kind, ns);
    },
  };
  const fixture = storeWith({ policies, clusters: [cluster({ deletionTimestamp })], objects });
  fixture.store.wake();
  looks = 0;
  fixture.dirty.length = 0;
  for (let i = 0; i < 100; i += 1) fixture.store.objectsChanged(object);
  for (let i = 0; i < 100; i += 1) fixture.store.wake();
  assert.equal(new Set(fixture.dirty).size, 20, "whether it can be read is a part of every status");
  assert.equal(looks, 20);
});
