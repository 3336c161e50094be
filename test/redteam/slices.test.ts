/** What a tenant's policies make the operator do is done a piece at a time, and others' in between. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec } from "../../src/api/hookpolicy.ts";
import { atOnce } from "../../src/api/steps.ts";
import type { PolicyObject } from "../../src/controller/policyset.ts";
import { compileInSteps } from "../../src/policy/compile.ts";
import type { ObjectReader } from "../../src/policy/objects.ts";
import {
  ALL_HOOKS,
  at,
  cluster,
  clusterHookPolicy,
  DELETE,
  hookPolicy,
  namespace,
  NO_OBJECTS,
  rule,
} from "../unit/builders.ts";
import { entryOf, type Fixture, keyOf, rowsOf, storeWith } from "../unit/controller/fixtures.ts";

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
  test("is compiled in at least as many steps, each of them one expression", () => {
    const steps = compileInSteps("HookPolicy", large("p"), ALL_HOOKS);
    let count = 0;
    while (steps.next().done !== true) count += 1;
    assert.ok(count >= 3 * 256, `${count} steps`);
    const compiled = atOnce(compileInSteps("HookPolicy", large("p"), ALL_HOOKS));
    assert.deepEqual(
      compiled.rules.map(({ gates: { length } }) => length),
      Array(16).fill(16),
    );
  });

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

  test("of another namespace is not compiled before a small one of this", () => {
    const fixture = storeWith({ compileMs: -1 });
    for (let n = 0; n < 10; n += 1) fixture.setPolicy(large(`p${n}`, "aaa-flood"));
    const small = hookPolicy();
    fixture.setPolicy(small);
    const count = rings(fixture, () => fixture.store.policies.get(keyOf(small)) !== undefined);
    assert.ok(count < 50, `${count} turns`);
    assert.equal([...fixture.store.policies.entries()].length, 1);
  });

  test("is awaited before everything counts as loaded", () => {
    const fixture = storeWith({ compileMs: -1, load: false });
    fixture.setPolicy(large("p"));
    fixture.store.load();
    assert.equal(fixture.store.loaded, false);
    rings(fixture, () => fixture.store.loaded);
    assert.ok(fixture.store.policies.get(keyOf(large("p"))));
  });
});

describe("2,000 Clusters", () => {
  const clusters = Array.from({ length: 2000 }, (_, n) => cluster({ name: `c${n}`, uid: `c${n}` }));

  test("are compared with the selectors of a policy a hundred at a time", () => {
    const fixture = storeWith({ clusters, turnMs: -1 });
    const policy = hookPolicy();
    fixture.setPolicy(policy);
    assert.equal(entryOf(fixture, policy).matched.size, 100);
    rings(fixture, () => entryOf(fixture, policy).matched.size === 2000);
  });

  test("of a Namespace that changes are looked at one at a time", () => {
    const policy = clusterHookPolicy({ namespaceSelector: { matchLabels: { held: "yes" } } });
    const fixture = storeWith({ clusters, policies: [policy], turnMs: -1 });
    rings(fixture, () => entryOf(fixture, policy).unmatched.length === 0);
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

test("a policy is evaluated anew with those that share its steps, as a call would evaluate it", () => {
  const costly = ["a", "b", "c"].reduceRight(
    (inner, name) => `[1, 2, 3, 4, 5, 6, 7, 8, 9].all(${name}, ${inner})`,
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
  const { trace } = fixture.store.ask({ call: DELETE, cluster: held }, fixture.clock.now);
  assert.equal(trace[1]?.rules[0]?.reason, "BudgetExhausted");
  fixture.setPolicy(hookPolicy({ rules: [rule()] }, { name: "a", uid: "a", generation: 2 }));
  assert.deepEqual(
    verdicts(),
    ["WaitingForAnnotation", undefined],
    "an edit of one gives the other its steps back",
  );
});
