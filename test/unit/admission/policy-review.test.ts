import assert from "node:assert/strict";
import { test } from "node:test";
import type { GateSpec, RuleSpec } from "../../../src/api/hook-policy.ts";
import { servedHooks } from "../../../src/api/hook-catalog.ts";
import { clusterHookPolicy, hookPolicy, rule } from "../builders.ts";
import { changed, webhook } from "./reviews.ts";

const BOUND: GateSpec = { name: "approved", annotation: { key: "a.example.com/b", valueFrom: "ClusterUID" } };
const BROKEN: GateSpec = { name: "broken", expression: "clustr.metadata.name == 'x'" };
const NOWHERE: GateSpec = {
  name: "window",
  window: { timeZone: "Europe/Berln", allow: [{ schedule: "0 22 * * FRI", duration: "8h" }] },
};

/** A rule of which nothing is to be said, unless a gate is added. */
function quiet(over: Partial<RuleSpec> = {}): RuleSpec {
  return rule({ until: [BOUND], ...over });
}

test("a policy of which nothing is to be said is admitted without a word", async () => {
  const { create, log } = webhook();
  assert.deepEqual(await create(hookPolicy({ rules: [quiet()] })), { uid: "review-1", allowed: true });
  assert.deepEqual(log.lines, []);
});

test("every error is refused with its path, in the shape of the API server's own refusals", async () => {
  const { create, log } = webhook();
  const { allowed, status, warnings } = await create(
    hookPolicy({ rules: [quiet({ until: [BOUND, BROKEN, NOWHERE] })] }),
  );
  assert.equal(allowed, false);
  assert.equal(warnings, undefined);
  assert.ok(status);
  assert.deepEqual([status.code, status.reason], [422, "Invalid"]);
  assert.match(
    status.message,
    /^HookPolicy\.hookpolicy\.dev "protect" is invalid: \[spec\.rules\[0\]\.until\[1\]\.expression: column 1: .*, spec\.rules\[0\]\.until\[2\]\.window\.timeZone: .*\]$/,
  );
  assert.deepEqual(
    status.details.causes.map(({ field, reason }) => [field, reason]),
    [
      ["spec.rules[0].until[1].expression", "FieldValueInvalid"],
      ["spec.rules[0].until[2].window.timeZone", "FieldValueInvalid"],
    ],
  );
  assert.deepEqual(log.lines, [
    {
      level: "debug",
      message: "Refused a policy",
      fields: { policy: "HookPolicy team-a/protect", reason: "Invalid" },
    },
  ]);
});

test("a refusal is of bounded length, however many errors there are", async () => {
  const until = Array.from({ length: 16 }, (_, index) => ({ name: `g${index}`, expression: "clustr" }));
  const rules = Array.from({ length: 12 }, (_, index) => quiet({ name: `r${index}`, until }));
  const { status } = await webhook().create(hookPolicy({ rules }));
  assert.ok(status);
  assert.equal(status.details.causes.length, 32);
  assert.match(status.message, /, and 16 more\]$/);
  assert.ok(status.message.length <= 8192);
});

test("an update that leaves the spec as it is is never refused", async () => {
  const { update, create } = webhook({ allowed: () => false });
  const broken = hookPolicy({ rules: [quiet({ until: [BROKEN] })] });
  const released = changed(broken, {}, { finalizers: [], labels: { a: "b" } });
  assert.deepEqual(await update(broken, released), { uid: "review-1", allowed: true });
  const going = changed(broken, {}, { deletionTimestamp: "2026-11-21T12:00:00Z" });
  assert.deepEqual(await update(broken, going), { uid: "review-1", allowed: true });
  assert.equal((await create(broken)).allowed, false);
});

test("a policy that is wrong already can be repaired step by step, and is not made worse", async () => {
  const { update } = webhook();
  const both = hookPolicy({
    rules: [quiet({ name: "a", until: [BROKEN] }), quiet({ name: "b", until: [NOWHERE] })],
  });
  const one = changed(both, { rules: [quiet({ name: "b", until: [NOWHERE] })] });
  const repaired = await update(both, one);
  assert.equal(repaired.allowed, true);
  assert.match(
    repaired.warnings?.join() ?? "",
    /^spec\.rules\[0\]\.until\[0\]\.window\.timeZone: not evaluable: /,
  );
  const { allowed, status } = await update(one, both);
  assert.equal(allowed, false);
  assert.deepEqual(
    status?.details.causes.map(({ field }) => field),
    ["spec.rules[0].until[0].expression"],
    "only of what is new",
  );
  const twice = changed(one, { rules: [...one.spec.rules, quiet({ name: "c", until: [NOWHERE] })] });
  assert.equal((await update(one, twice)).allowed, false, "the same mistake once more is a new one");
});

test("what this version does not know but the CRD has let pass is a warning", async () => {
  const { create } = webhook();
  const { allowed, warnings } = await create(
    changed(hookPolicy(), { rules: [{ ...quiet(), patience: "1h" }] }),
  );
  assert.equal(allowed, true);
  assert.match(warnings?.[0] ?? "", /^spec\.rules\[0\]\.patience: not evaluable: unknown field/);
});

test("what is legal but suspicious is a warning with its path", async () => {
  const { create } = webhook();
  const { allowed, warnings } = await create(
    hookPolicy({ rules: [rule(), quiet({ name: "b", hooks: ["BeforeWorkersUpgrade"] })] }),
  );
  assert.equal(allowed, true);
  assert.match(warnings?.[0] ?? "", /^spec\.rules\[0\]\.until\[0\]\.annotation: .* only has to be present/);
  assert.match(warnings?.[1] ?? "", /^spec\.rules\[1\]\.hooks\[0\]: BeforeWorkersUpgrade is asked once/);
});

test("a warning that the policy accepts is not told", async () => {
  const { create } = webhook();
  const policy = hookPolicy(
    { rules: [rule()] },
    { annotations: { "hookpolicy.dev/accept": "confirmed-delete/unbound-approval" } },
  );
  assert.equal((await create(policy)).warnings, undefined);
  assert.match((await create(hookPolicy({ rules: [rule()] }))).warnings?.[0] ?? "", / \[unbound-approval\]$/);
});

test("a hook that Cluster API does not call or wait for at its version is a warning", async () => {
  const { create } = webhook({ served: servedHooks(10) });
  const { allowed, warnings } = await create(
    hookPolicy({ rules: [quiet({ hooks: ["BeforeClusterDelete", "AfterClusterUpgrade"] })] }),
  );
  assert.equal(allowed, true);
  assert.match(
    warnings?.join() ?? "",
    /^spec\.rules\[0\]\.hooks\[1\]: Cluster API 1\.10 does not wait for AfterClusterUpgrade/,
  );
});

test("a selector that matches no Cluster is a warning, once that is known", async () => {
  const unmatched = { matchesCluster: async () => false };
  const selected = { clusterSelector: { matchLabels: { tier: "production" } } };
  const policy = hookPolicy({ rules: [quiet()], ...selected });
  assert.deepEqual((await webhook({ world: unmatched }).create(policy)).warnings, [
    "spec.clusterSelector: matches no Cluster in this namespace at present",
  ]);
  const byNamespace = clusterHookPolicy({
    rules: [quiet()],
    namespaceSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] },
  });
  assert.deepEqual((await webhook({ world: unmatched }).create(byNamespace)).warnings, [
    "spec.namespaceSelector: matches no Cluster in any namespace at present",
  ]);
  const notLoaded = webhook({ world: { ...unmatched, loaded: () => false } });
  assert.equal((await notLoaded.create(policy)).warnings, undefined);
  assert.equal((await webhook().create(policy)).warnings, undefined);
  const all = hookPolicy({ rules: [quiet()], clusterSelector: {} });
  assert.equal(
    (await webhook({ world: unmatched }).create(all)).warnings,
    undefined,
    "it is about Clusters to come",
  );
});

test("what is too large to be judged while hooks wait is refused, though not in the way of a finalizer", async () => {
  const { create, update } = webhook();
  const large = [
    changed(hookPolicy(), { rules: Array.from({ length: 20_001 }, () => null) }),
    changed(hookPolicy(), { rules: Object.fromEntries(Array.from({ length: 20_001 }, (_, i) => [i, 1])) }),
    changed(hookPolicy(), { rules: ["x".repeat(128 * 1024 + 1)] }),
    changed(hookPolicy(), { ["x".repeat(128 * 1024 + 1)]: [] }),
  ];
  for (const policy of large) {
    const { allowed, status } = await create(policy);
    assert.equal(allowed, false);
    assert.match(status?.message ?? "", /is invalid: spec: too large to be checked/);
    assert.equal((await update(policy, changed(policy, {}, { finalizers: [] }))).allowed, true);
    assert.equal((await update(policy, hookPolicy({ rules: [quiet()] }))).allowed, true);
  }
});

test("a spec that is deeper than any is too large, not an error", async () => {
  let deep: unknown = "x";
  for (let n = 0; n < 4000; n += 1) deep = [deep];
  const { allowed, status } = await webhook().create(
    hookPolicy({ rules: [rule({ message: deep as never })] }),
  );
  assert.equal(allowed, false);
  assert.match(status?.message ?? "", /is invalid: spec: too large to be checked/);
});

test("a status of any depth is not looked at", async () => {
  let deep: unknown = "x";
  for (let n = 0; n < 4000; n += 1) deep = [deep];
  assert.equal(
    (await webhook().create({ ...hookPolicy({ rules: [quiet()] }), status: deep as never })).allowed,
    true,
  );
});

test("nulls are fields that are not there, as for the API server", async () => {
  const gate = {
    name: "approved",
    annotation: { key: "a", value: null },
    anyOf: null,
    window: null,
  } as never;
  const nulls = { until: [gate], matchConditions: null, deadline: null, message: null } as never;
  const answer = await webhook().create(hookPolicy({ rules: [rule(nulls)], clusterSelector: null as never }));
  assert.equal(answer.allowed, true);
  assert.equal(
    (await webhook().create(hookPolicy({ rules: [rule({ until: null as never })] }))).allowed,
    true,
  );
  assert.equal((await webhook().update(hookPolicy({ rules: [rule(nulls)] }), hookPolicy())).allowed, true);
});
