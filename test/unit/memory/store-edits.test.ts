/** Clocks that an edit, a break or a gap stops, and work that waits for its turn. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, HookPolicySpec, RuleSpec } from "../../../src/api/hook-policy.ts";
import type { ObjectMeta } from "../../../src/api/meta.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { APPROVED, at, cluster, hookPolicy, NOW, rule } from "../builders.ts";
import { type Fixture, passTo, rowsOf, statusOf, storeWith } from "./fixtures.ts";

const DELETED_AT = "2026-11-21T12:00:00Z";
const deleting = (meta: Partial<ObjectMeta> = {}): ReturnType<typeof cluster> =>
  cluster({ deletionTimestamp: DELETED_AT, labels: { a: "1", b: "1" }, ...meta });
const label = (key: string): GateSpec => ({ name: "ready", label: { key } });
const soak: GateSpec = { name: "soak", wait: { duration: "30m" } };
const nightly: GateSpec = {
  name: "nightly",
  window: {
    timeZone: "UTC",
    allow: [
      { schedule: "0 12 * * *", duration: "20m" },
      { schedule: "0 13 * * *", duration: "2h" },
    ],
  },
};

function policyOf(until: GateSpec[], spec: Partial<HookPolicySpec> = {}, generation = 1): PolicyObject {
  return hookPolicy({ rules: [rule({ until })], ...spec }, { generation });
}

const reasons = (fixture: Fixture, policy: PolicyObject): string[] =>
  rowsOf(fixture, policy).map(({ reason }) => reason);

describe("the edit of a policy", () => {
  test("lets a wait begin again where the rule waits for something else", () => {
    const fixture = storeWith({ policies: [policyOf([label("a"), soak])], clusters: [deleting()] });
    passTo(fixture, at("+20m"));
    const edited = policyOf([label("b"), soak], {}, 2);
    fixture.setPolicy(edited);
    passTo(fixture, at("+30m"));
    assert.deepEqual(reasons(fixture, edited), ["WaitPending"]);
    passTo(fixture, at("+50m"));
    assert.deepEqual(reasons(fixture, edited), ["GatesHold"]);
  });

  test("does not stop a wait of which only the message around it changes", () => {
    const fixture = storeWith({ policies: [policyOf([label("a"), soak])], clusters: [deleting()] });
    passTo(fixture, at("+20m"));
    const edited = hookPolicy(
      { rules: [rule({ until: [label("a"), soak], message: "soon" })] },
      { generation: 2 },
    );
    fixture.setPolicy(edited);
    passTo(fixture, at("+30m"));
    assert.deepEqual(reasons(fixture, edited), ["GatesHold"]);
  });

  test("from Audit to Enforce does not count what was not held towards a deadline", () => {
    const until: GateSpec[] = [{ name: "approved", annotation: { key: APPROVED } }];
    const rules = [rule({ until, deadline: { after: "1h", onExpiry: "Allow" } })];
    const fixture = storeWith({ policies: [hookPolicy({ mode: "Audit", rules })], clusters: [deleting()] });
    passTo(fixture, at("+70m"));
    const enforced = hookPolicy({ rules }, { generation: 2 });
    fixture.setPolicy(enforced);
    assert.deepEqual(reasons(fixture, enforced), ["WaitingForAnnotation"]);
    passTo(fixture, at("+130m"));
    assert.deepEqual(reasons(fixture, enforced), ["DeadlineExpired"]);
  });

  test("while nobody was there lets the waits of older rows begin again", () => {
    const policy = policyOf([label("a"), soak]);
    const { decisions = [] } = statusOf(storeWith({ policies: [policy], clusters: [deleting()] }), policy);
    const again = storeWith({ clusters: [deleting()] });
    again.clock.now = at("+29m");
    const edited = { ...policyOf([label("b"), soak], {}, 2), status: { observedGeneration: 1, decisions } };
    again.setPolicy(edited);
    passTo(again, at("+30m"));
    assert.deepEqual(reasons(again, edited), ["WaitPending"]);
  });
});

test("a wait begins again where a paused deletion that a restart found shows a break", () => {
  const policy = policyOf([label("a"), soak]);
  const { decisions = [] } = statusOf(storeWith({ policies: [policy], clusters: [deleting()] }), policy);
  const paused = (labels: Record<string, string>): ReturnType<typeof cluster> =>
    cluster({ deletionTimestamp: DELETED_AT, labels }, { paused: true });
  const again = storeWith({ clusters: [paused({ a: "1" })] });
  again.setPolicy({ ...policy, status: { observedGeneration: 1, decisions } });
  again.clock.now = at("+10m");
  again.setCluster(paused({}));
  assert.deepEqual(reasons(again, policy), ["WaitingForLabel"]);
  again.setCluster(paused({ a: "1" }));
  again.clock.now = at("+20m");
  again.setCluster(deleting());
  passTo(again, at("+30m"));
  assert.deepEqual(reasons(again, policy), ["WaitPending"]);
});

test("a wait whose window has closed while nobody was there begins again", () => {
  const policy = policyOf([nightly, { name: "soak", wait: { duration: "70m" } }]);
  const { decisions = [] } = statusOf(storeWith({ policies: [policy], clusters: [deleting()] }), policy);
  const again = storeWith({ clusters: [deleting()] });
  again.clock.now = at("+65m");
  again.setPolicy({ ...policy, status: { observedGeneration: 1, decisions } });
  passTo(again, at("+70m"));
  assert.deepEqual(reasons(again, policy), ["WaitPending"]);
});

test("a row tells of the rule whose verdict it shows", () => {
  const broken = rule({
    name: "broken",
    until: [{ name: "x", expression: "cluster.metadata.labels['none'] == ''" }],
  });
  const policy = hookPolicy({ rules: [broken, rule()] });
  const fixture = storeWith({ policies: [policy], clusters: [deleting()] });
  assert.deepEqual(
    rowsOf(fixture, policy).map((row) => [row.verdict, row.rule, row.reason]),
    [["Blocked", "confirmed-delete", "WaitingForAnnotation"]],
  );
});

test("what does not fit into a turn of the event loop is evaluated in later ones", () => {
  const policy = hookPolicy();
  const clusters = Array.from({ length: 120 }, (_, n) => deleting({ name: `c${n}`, uid: `uid-${n}` }));
  const fixture = storeWith({ policies: [policy], clusters, turnMs: -1 });
  assert.deepEqual(rowsOf(fixture, policy), []);
  fixture.clock.now = NOW;
  for (let turns = 0; rowsOf(fixture, policy).length < clusters.length && turns < 1000; turns += 1) {
    const before = rowsOf(fixture, policy).length;
    fixture.store.wake();
    assert.ok(rowsOf(fixture, policy).length - before <= 1);
  }
  assert.equal(rowsOf(fixture, policy).length, clusters.length);
});

describe("after an edit that does not fit into a turn of the event loop", () => {
  const edited = (policy: PolicyObject, over: Partial<RuleSpec>): PolicyObject => ({
    ...hookPolicy({ rules: [rule(over)] }),
    metadata: { ...policy.metadata, generation: 2, resourceVersion: "200" },
  });
  const clusters = Array.from({ length: 60 }, (_, n) => deleting({ name: `c${n}`, uid: `uid-${n}` }));

  test("the policy is asked about its Clusters turn by turn, about each one once", () => {
    const policy = hookPolicy();
    const fixture = storeWith({ policies: [policy], clusters, turnMs: -1 });
    const told = (): number =>
      rowsOf(fixture, policy).filter(({ message }) => /elsewhere/.test(message)).length;
    while (rowsOf(fixture, policy).length < clusters.length) fixture.store.wake();
    fixture.latencies.length = 0;
    fixture.setPolicy(edited(policy, { message: "ask elsewhere" }));
    assert.equal(told(), 0);
    for (let turns = 0; told() < clusters.length && turns < 1000; turns += 1) fixture.store.wake();
    assert.equal(told(), clusters.length);
    assert.equal(fixture.latencies.length, clusters.length);
  });

  test("clocks of the old spec are not stored under the new generation", () => {
    const policy = policyOf([soak]);
    const fixture = storeWith({ policies: [policy], clusters, turnMs: -1 });
    while (rowsOf(fixture, policy).length < clusters.length) fixture.store.wake();
    assert.equal(
      statusOf(fixture, policy).decisions?.filter(({ timers }) => timers !== undefined).length,
      50,
    );
    const other = edited(policy, { until: [{ name: "approved", annotation: { key: APPROVED } }, soak] });
    fixture.setPolicy(other);
    const status = statusOf(fixture, other);
    assert.equal(status.observedGeneration, 2);
    assert.deepEqual(
      status.decisions?.filter(({ timers }) => timers?.some((timer) => timer.gatesMetSince)),
      [],
    );
  });
});
