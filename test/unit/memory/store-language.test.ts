/** What memory and the status say of rules of every kind. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, HookPolicyStatus, RecentResult, RuleSpec } from "../../../src/api/hook-policy.ts";
import { REASON } from "../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { FoundObjects, ObjectReader, WatchedObject } from "../../../src/policy/watched-objects.ts";
import {
  APPROVED,
  at,
  cluster,
  DELETE,
  gated,
  hookPolicy,
  NOW,
  rule,
  letGo,
  period,
  scheduled,
} from "../builders.ts";
import { entryOf, keyOf, passTo, rowsOf, statusOf, storeWith } from "./fixtures.ts";

const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });
const GO = { apiVersion: "v1", kind: "ConfigMap" };
const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const named: GateSpec = { name: "go", object: { ...GO, name: "go" } };
const configMap: WatchedObject = {
  metadata: { name: "go", namespace: "team-a", uid: "uid-go", resourceVersion: "1" },
};

const restrictive = (status: HookPolicyStatus): unknown => {
  const found = status.conditions?.find(({ type }) => type === "Restrictive");
  return found && [found.status, found.reason];
};

describe("Restrictive", () => {
  const window = (from: string, to: string): GateSpec => ({
    name: "w",
    window: { allow: [period(from, to)] },
  });
  const deny = { name: "w", window: { deny: [period("-1h", "+9d")] } };
  const daily = scheduled("w", "0 22 * * *", "1h");
  const wait: GateSpec = { name: "s", wait: { duration: "1h" } };
  const [yes, no] = [
    ["True", REASON.ActionRequired],
    ["False", REASON.OpensByTime],
  ];
  test("promises no release by windows that never meet", () => {
    const until = [window("+1h", "+2h"), { ...window("+3h", "+4h"), name: "v" }];
    const policy = hookPolicy({ rules: [rule({ until })] });
    const { conditions = [] } = statusOf(storeWith({ policies: [policy] }), policy);
    const { message = "" } = conditions.find(({ type }) => type === "Restrictive") ?? {};
    assert.match(message, /^Time alone can release .* if that is known$/);
  });

  const cases: Record<string, { over: Partial<RuleSpec>; want: unknown }> = {
    "is true while somebody has to approve": { over: { until: [approval] }, want: yes },
    "is true after the last window": { over: { until: [window("-2h", "-1h")] }, want: yes },
    "is false while a window is still to come": { over: { until: [window("+1h", "+2h")] }, want: no },
    "is false in the last window": { over: { until: [window("-1h", "+1h")] }, want: no },
    "is false during a freeze that ends": { over: { until: [deny] }, want: no },
    "is false for a window that comes again and again": { over: { until: [daily] }, want: no },
    "is false for a wait": { over: { until: [wait] }, want: no },
    "is true for a window that opens and an approval": { over: { until: [daily, approval] }, want: yes },
    "is false where either will do": {
      over: { until: [{ name: "any", anyOf: [approval, daily] }] },
      want: no,
    },
    "is false where a deadline lets go": {
      over: { until: [approval], deadline: { after: "1h", onExpiry: "Allow" } },
      want: no,
    },
    "is true where a deadline only tells": {
      over: { until: [approval], deadline: { after: "1h", onExpiry: "KeepBlocking" } },
      want: yes,
    },
    "is false for an expression with the clock": {
      over: { until: [{ name: "e", expression: "now > timestamp('2027-01-01T00:00:00Z')" }] },
      want: no,
    },
    "is true for an object": { over: { until: [named] }, want: yes },
  };
  for (const [name, { over, want }] of Object.entries(cases)) {
    test(name, () => {
      const policy = hookPolicy({ rules: [rule(over)] });
      assert.deepEqual(restrictive(statusOf(storeWith({ policies: [policy] }), policy)), want);
    });
  }

  test("names the rules that need somebody, and turns by itself after the last window", () => {
    const policy = gated([window("+1h", "+2h")]);
    const fixture = storeWith({ policies: [policy] });
    assert.deepEqual(restrictive(statusOf(fixture, policy)), no);
    fixture.dirty.length = 0;
    passTo(fixture, at("+2h"));
    assert.deepEqual(fixture.dirty, [keyOf(policy)]);
    const status = statusOf(fixture, policy);
    assert.deepEqual(restrictive(status), yes);
    assert.match(status.conditions?.[1]?.message ?? "", /: confirmed-delete$/);
    assert.equal(status.nextTransitionTime, undefined);
  });

  test("is not said of a spec that cannot be evaluated", () => {
    const policy = gated([{ name: "e", expression: "(" }]);
    assert.equal(restrictive(statusOf(storeWith({ policies: [policy] }), policy)), undefined);
  });
});

describe("objects that change", () => {
  const watched = (): { objects: ObjectReader; found: { now: FoundObjects } } => {
    const found: { now: FoundObjects } = { now: { ok: true, namespaced: true, objects: [] } };
    return { objects: { find: () => found.now }, found };
  };

  test("move the rows of the policies that look at them, without a call, and cost the others nothing", () => {
    const policy = gated([named]);
    const other = hookPolicy({}, { name: "other", uid: "other" });
    const { objects, found } = watched();
    const fixture = storeWith({ policies: [policy, other], clusters: [deleting], objects });
    assert.equal(rowsOf(fixture, policy)[0]?.reason, "WaitingForObject");
    found.now = { ok: true, namespaced: true, objects: [configMap] };
    fixture.dirty.length = 0;
    for (let n = 0; n < 100; n += 1) fixture.store.objectsChanged(GO);
    fixture.store.objectsChanged({ apiVersion: "v1", kind: "Node" });
    passTo(fixture, at("+1s"));
    assert.deepEqual([rowsOf(fixture, policy).length, rowsOf(fixture, other).length], [0, 1]);
    assert.deepEqual([...new Set(fixture.dirty)], [keyOf(policy)]);
  });

  test("that cannot be read any more hold, and the row says why", () => {
    const policy = gated([named]);
    const { objects, found } = watched();
    found.now = { ok: true, namespaced: true, objects: [configMap] };
    const fixture = storeWith({ policies: [policy], clusters: [deleting], objects });
    assert.deepEqual(rowsOf(fixture, policy), []);
    found.now = { ok: false, reason: "ObjectsForbidden", message: "grant list on configmaps" };
    fixture.store.objectsChanged(GO);
    passTo(fixture, at("+1s"));
    assert.deepEqual(
      rowsOf(fixture, policy).map(({ verdict, reason, holds, earliestRelease }) => [
        verdict,
        reason,
        holds,
        earliestRelease,
      ]),
      [["NotEvaluable", "ObjectsForbidden", true, undefined]],
    );
  });

  test("are those of the kinds that gates name", () => {
    const fixture = storeWith({ policies: [gated([named, approval])] });
    assert.deepEqual(fixture.store.demands(), [{ kind: GO, whole: false }]);
    fixture.deletePolicy(gated([]));
    assert.deepEqual(fixture.store.demands(), []);
  });
});

describe("a rule whose match condition is false", () => {
  const skipped = (until: GateSpec[] = [approval]): PolicyObject =>
    gated(until, { matchConditions: [{ name: "c", expression: "'tier' in cluster.metadata.labels" }] });

  test("has no row, and no result when the operation goes on", () => {
    const fixture = storeWith({ policies: [skipped()], clusters: [deleting] });
    const request = { call: DELETE, cluster: deleting };
    const decision = fixture.store.decider.ask(request, NOW);
    assert.equal(decision.holds, false);
    fixture.setCluster(letGo(deleting));
    assert.deepEqual([rowsOf(fixture, skipped()), entryOf(fixture, skipped()).recent], [[], []]);
  });

  test("has one as soon as it is true", () => {
    const fixture = storeWith({ policies: [skipped()], clusters: [deleting] });
    fixture.setCluster(cluster({ ...deleting.metadata, labels: { tier: "x" }, resourceVersion: "101" }));
    assert.equal(rowsOf(fixture, skipped()).length, 1);
  });
});

describe("an expression on the status of the Cluster", () => {
  const policy = gated([
    { name: "e", expression: "has(cluster.status.phase) && cluster.status.phase == 'Provisioned'" },
  ]);
  const phase = (text: string, resourceVersion: string): ReturnType<typeof cluster> =>
    cluster(
      { ...deleting.metadata, resourceVersion },
      { status: { phase: text, conditions: [], initialization: {} } },
    );

  test("moves the row when the status does", () => {
    const fixture = storeWith({ policies: [policy], clusters: [phase("Provisioning", "101")] });
    assert.equal(rowsOf(fixture, policy).length, 1);
    fixture.setCluster(phase("Provisioned", "102"));
    assert.deepEqual(rowsOf(fixture, policy), []);
  });
});

describe("Audit and Enforce policies of one Cluster", () => {
  const audit = hookPolicy(
    { mode: "Audit", rules: [rule({ retryAfterSeconds: 5 })] },
    { name: "audit", uid: "audit" },
  );

  test("do not mix: counts, rows, results and the answer", () => {
    const enforce = hookPolicy({ rules: [rule({ retryAfterSeconds: 60 })] });
    const fixture = storeWith({ policies: [audit, enforce], clusters: [deleting] });
    const decision = fixture.store.decider.ask({ call: DELETE, cluster: deleting }, NOW);
    assert.deepEqual([decision.verdict, decision.retryAfterSeconds], ["Blocked", 60]);
    assert.doesNotMatch(decision.message, /audit/);
    const [would, blocked] = [statusOf(fixture, audit), statusOf(fixture, enforce)];
    assert.deepEqual([would.blocked, would.wouldBlock, would.decisions?.[0]?.verdict], [0, 1, "WouldBlock"]);
    assert.deepEqual(
      [blocked.blocked, blocked.wouldBlock, blocked.decisions?.[0]?.verdict],
      [1, 0, "Blocked"],
    );
  });

  test("and what went on although it would be blocked is a result of the Audit policy", () => {
    const fixture = storeWith({ policies: [audit], clusters: [deleting] });
    fixture.setCluster(letGo(deleting));
    const [result, ...others] = entryOf(fixture, audit).recent;
    assert.deepEqual(
      [result?.verdict, result?.reason, result?.rule, result?.gate, others],
      ["WouldBlock", "WaitingForAnnotation", "confirmed-delete", "approved", []],
    );
    assert.match(result?.message ?? "", /^gate approved waits for annotation hooks\.example\.com/);
    assert.deepEqual(
      fixture.events.map(({ reason, note }) => [reason, note.endsWith(result?.message ?? "-")]),
      [["WouldBlock", true]],
    );
  });

  test("so is what went on because a rule was not evaluable and is ignored", () => {
    const until = [{ name: "e", expression: "cluster.spec.none == 1" }];
    const ignoring = hookPolicy({ failurePolicy: "Ignore", rules: [rule({ until })] });
    const fixture = storeWith({ policies: [ignoring], clusters: [deleting] });
    fixture.setCluster(letGo(deleting));
    const [result] = entryOf(fixture, ignoring).recent;
    assert.deepEqual([result?.verdict, result?.rule], ["NotEvaluable", "confirmed-delete"]);
    assert.notEqual(result?.message ?? "", "");
  });

  test("what went on because its gates were met names no rule: all of them agreed", () => {
    const annotations = { [APPROVED]: "" };
    const approved = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z", annotations });
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [approved] });
    fixture.setCluster(letGo(approved));
    const [result] = entryOf(fixture, hookPolicy()).recent;
    assert.deepEqual([result?.verdict, result?.rule, result?.message], ["Allowed", undefined, undefined]);
  });

  test("say when an Audit policy would let go", () => {
    const soak = hookPolicy({
      mode: "Audit",
      rules: [rule({ until: [{ name: "s", wait: { duration: "2h" } }] })],
    });
    const fixture = storeWith({ policies: [soak], clusters: [deleting] });
    assert.equal(rowsOf(fixture, soak)[0]?.earliestRelease, "2026-11-21T14:00:00Z");
    passTo(fixture, at("+2h"));
    assert.deepEqual(rowsOf(fixture, soak), []);
  });
});

test("what is remembered of policies that are gone does not pile up", () => {
  const deadline = { after: "100m", onExpiry: "KeepBlocking" } as const;
  const policy = (n: number): PolicyObject =>
    hookPolicy({ rules: [rule({ deadline })] }, { uid: `uid-${n}` });
  const fixture = storeWith({ policies: [policy(0)], clusters: [deleting] });
  for (let n = 1; n < 20; n += 1) {
    if (n % 2 === 0) fixture.deletePolicy(policy(n - 1));
    fixture.setPolicy(policy(n));
  }
  passTo(fixture, at("+50m"));
  assert.equal(fixture.events.length, 1);
  const { basis } = fixture.store.decider.ask({ call: DELETE, cluster: deleting }, at("+50m"));
  assert.equal(basis?.world.state?.rules.size, 1);
});

test("what others have recorded is no result of this replica, and is forgotten with the Cluster", () => {
  const fixture = storeWith({ policies: [hookPolicy()], clusters: [cluster()] });
  const result = (clusterUID: string): RecentResult => ({
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID,
    hook: "BeforeClusterDelete",
    verdict: "Allowed",
    time: "",
  });
  const status = { recent: [result("uid-prod-1"), result("of an earlier one")] };
  fixture.setPolicy({ ...hookPolicy(), status });
  const entry = entryOf(fixture, hookPolicy());
  assert.deepEqual(
    [entry.recorded.keys().length, entry.recorded.add(result("uid-prod-1")), entry.recent],
    [1, false, []],
  );
  fixture.setCluster(undefined, "team-a/prod-1");
  fixture.setPolicy({ ...hookPolicy(), status });
  assert.equal(entry.recorded.keys().length, 0);
  for (let n = 0; n < 10_100; n += 1) entry.recorded.add(result(`u${n}`));
  assert.ok(entry.recorded.keys().length <= 10_000);
  entry.recorded.add(result("lives on"));
  for (let n = 0; n < 10_100; n += 1) {
    entry.recorded.add(result(`passing ${n}`));
    entry.recorded.forget(`passing ${n}`);
  }
  assert.equal(entry.recorded.add(result("lives on")), false);
});
