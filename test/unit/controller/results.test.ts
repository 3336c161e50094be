/** Requests that were refused at admission: the first for a Cluster and a rule is news, and no other. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Cluster } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtimehooks.ts";
import type { PolicyObject } from "../../../src/controller/policyset.ts";
import { APPROVED, at, cluster, clusterHookPolicy, DELETE, hookPolicy, rule, UPGRADE } from "../builders.ts";
import { type Fixture, statusOf, storeWith } from "./fixtures.ts";

const denies = rule({ admission: "Deny", hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"] });
const policy = hookPolicy({ rules: [denies] });

/** As the webhook does for a review of the API server. */
function attempt({ store, clock }: Fixture, call: HookCall = DELETE, requested: Cluster = cluster()): void {
  const decision = store.answers.refusal({ call, cluster: requested, admission: true }, clock.now);
  assert.ok(decision?.holds);
  store.requestRefused({ call, cluster: requested }, decision);
}

const recent = (fixture: Fixture, of: PolicyObject = policy): unknown[] =>
  (statusOf(fixture, of).recent ?? []).map(({ verdict, hook, rule: by, gate, reason, targetVersion }) => [
    verdict,
    hook,
    by,
    gate,
    reason,
    targetVersion,
  ]);

describe("a refused request", () => {
  const row = [
    "Refused",
    "BeforeClusterDelete",
    "confirmed-delete",
    "approved",
    "WaitingForAnnotation",
    undefined,
  ];

  test("is in the status of the policy, and told of, once for the Cluster and the rule", () => {
    const fixture = storeWith({ policies: [policy], clusters: [cluster()] });
    fixture.dirty.length = 0;
    attempt(fixture);
    assert.deepEqual(recent(fixture), [row]);
    assert.deepEqual(fixture.dirty, ["HookPolicy/team-a/protect"]);
    fixture.clock.now = at("+1h");
    attempt(fixture);
    attempt(fixture);
    assert.deepEqual(recent(fixture), [row]);
    assert.deepEqual(
      fixture.transitions.map(({ type }) => type),
      ["Refused"],
    );
    assert.equal(fixture.dirty.length, 1);
  });

  test("is recorded again for another rule, another target and another Cluster", () => {
    const second = rule({ ...denies, name: "second", until: [{ name: "too", label: { key: "ok" } }] });
    const both = hookPolicy({ rules: [denies, second] });
    const other = cluster({ name: "prod-2", uid: "uid-prod-2" });
    const fixture = storeWith({ policies: [both], clusters: [cluster(), other] });
    attempt(fixture);
    const approved = cluster({ annotations: { [APPROVED]: "yes" } });
    attempt(fixture, DELETE, approved);
    attempt(fixture, { ...UPGRADE, toKubernetesVersion: "v1.36.0" });
    attempt(fixture, { ...UPGRADE, toKubernetesVersion: "v1.36.0" });
    attempt(fixture, DELETE, other);
    assert.equal(fixture.transitions.length, 4);
    assert.equal(recent(fixture, both).length, 4);
  });

  test("is no news to another replica, nor after a restart", () => {
    const first = storeWith({ policies: [policy], clusters: [cluster()] });
    attempt(first);
    const status = statusOf(first, policy);
    const later = storeWith({ policies: [{ ...policy, status }], clusters: [cluster()] });
    later.clock.now = at("+1h");
    attempt(later);
    assert.deepEqual(later.transitions, []);
    assert.deepEqual(statusOf(later, { ...policy, status }).recent, status.recent);
  });

  test("is told of by each policy that refuses it, and not by the others", () => {
    const fleet = clusterHookPolicy({ rules: [denies] });
    const only = hookPolicy({ rules: [rule()] }, { name: "only-hook", uid: "uid-only-hook" });
    const fixture = storeWith({ policies: [policy, fleet, only], clusters: [cluster()] });
    attempt(fixture);
    assert.equal(fixture.transitions.length, 2);
    assert.deepEqual(recent(fixture, only), []);
  });

  test("about a Cluster that is not in memory is not recorded: it is new, or invented", () => {
    const fixture = storeWith({ policies: [policy], clusters: [cluster()] });
    fixture.dirty.length = 0;
    attempt(fixture, DELETE, cluster({ name: "new", uid: "uid-new" }));
    attempt(fixture, DELETE, cluster({ uid: "another life" }));
    assert.deepEqual([fixture.dirty, fixture.transitions, recent(fixture)], [[], [], []]);
  });

  test("with ever other targets is recorded so many times, and does not keep out what proceeds", () => {
    const fixture = storeWith({ policies: [policy], clusters: [cluster()] });
    for (let patch = 0; patch < 100; patch += 1)
      attempt(fixture, { ...UPGRADE, toKubernetesVersion: `v1.36.${patch}` });
    assert.equal(fixture.transitions.length, 32);
    assert.equal(recent(fixture).length, 10);
  });
});
