/** Policies can have hundreds of expressions, and look at thousands of objects: all of a namespace share one budget. */

import assert from "node:assert/strict";
import test from "node:test";
import type { GateSpec, RuleSpec } from "../../../src/api/hook-policy.ts";
import { MAX_STEPS, Meter, StepsExceeded } from "../../../src/policy/cel/meter.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { forecast } from "../../../src/operations/forecast.ts";
import { objectKindKey, type WatchedObject } from "../../../src/policy/watched-objects.ts";
import {
  clusterHookPolicy,
  compiled,
  hookPolicy,
  metadata,
  NOW,
  objectsOf,
  rule,
  world,
} from "../builders.ts";

const TOGETHER =
  /^the HookPolicies of namespace team-a together need more than 50000 steps for this Cluster: /;
const CALL = { hook: "BeforeClusterDelete" } as const;

/** True, after some 15,000 of the 50,000 steps of a decision. */
const COSTLY = ["a", "b", "c"].reduceRight(
  (inner, name) => `[1, 2, 3, 4, 5, 6, 7, 8].all(${name}, ${inner})`,
  "cluster.metadata.name != ''",
);

function costlyGates(count: number): GateSpec[] {
  return Array.from({ length: count }, (_, i) => ({ name: `g${i}`, expression: COSTLY }));
}

function costlyRules(rules: number, gates: number): RuleSpec[] {
  const until = costlyGates(gates);
  return Array.from({ length: rules }, (_, i) => rule({ name: `r${i}`, until }));
}

function judged(rules: readonly RuleSpec[]): Decision {
  const peaceful = clusterHookPolicy({ rules: [rule()] });
  return decide([peaceful, hookPolicy({ rules: [...rules] })].map(compiled), world(), CALL, NOW);
}

test("few costly expressions are evaluated", () => {
  const [, costly] = judged(costlyRules(1, 4)).trace;
  assert.equal(costly?.verdict, "Allowed");
});

test("many costly expressions are not evaluable together, and ClusterHookPolicies do not feel it", () => {
  const { trace, holds } = judged(costlyRules(6, 16));
  const [peaceful, costly] = trace;
  assert.deepEqual([peaceful?.verdict, costly?.verdict, holds], ["Blocked", "NotEvaluable", true]);
  assert.match(costly?.rules.at(-1)?.message ?? "", TOGETHER);
  assert.deepEqual(costly?.rules.at(-1)?.gates.at(-1)?.met, undefined);
  const after = decide([compiled(hookPolicy({ rules: costlyRules(1, 4) }))], world(), CALL, NOW);
  assert.equal(after.verdict, "Allowed", "the next decision has a budget of its own");
});

test("the same decision is made again with the same words", () => {
  assert.deepEqual(judged(costlyRules(3, 5)), judged(costlyRules(3, 5)));
});

test("thousands of objects are looked at within the budget", () => {
  const backups = Array.from({ length: 1500 }, (_, i): WatchedObject => {
    const meta = metadata({ name: `b${i}`, uid: `b${i}` });
    return { metadata: meta, raw: { metadata: meta, status: { phase: "Completed" } } };
  });
  const object = {
    apiVersion: "velero.io/v1",
    kind: "Backup",
    selector: {},
    expression: "has(object.status) && object.status.phase == 'Completed'",
  };
  const policy = compiled(hookPolicy({ rules: [rule({ until: [{ name: "backup", object }] })] }));
  const objects = objectsOf({ [objectKindKey(object)]: backups });
  assert.equal(decide([policy], world({ objects }), CALL, NOW).verdict, "Allowed");
});

test("a forecast has a budget, too, and foretells nothing beyond it", () => {
  const day = (n: number, hour: string): string => `2026-12-${String(n).padStart(2, "0")}T${hour}:00Z`;
  const others = Array.from({ length: 9 }, (_, i) => ({
    from: day(i + 1, "02:00"),
    to: day(i + 1, "03:00"),
  }));
  const meeting = { from: day(10, "01:00"), to: day(10, "02:00") };
  const windows: GateSpec[] = [
    { name: "daily", window: { timeZone: "UTC", allow: [{ schedule: "0 1 * * *", duration: "30m" }] } },
    { name: "other", window: { allow: [...others, meeting] } },
  ];
  const foretold = (costly: number): Date | undefined => {
    const until = [...windows, ...costlyGates(costly)];
    return forecast([compiled(hookPolicy({ rules: [rule({ until })] }))], world(), CALL, NOW);
  };
  assert.deepEqual(foretold(0), new Date(meeting.from));
  assert.equal(foretold(5), undefined);
});

test("a budget within another one has no more than what is left of it", () => {
  const meter = new Meter();
  const spend = (steps: number): void => {
    meter.start();
    meter.charge(steps);
  };
  meter.within(meter.budget(100), () => {
    meter.within(meter.budget(80), () => spend(80));
    assert.throws(() => meter.within(meter.budget(80), () => spend(21)), StepsExceeded);
    assert.throws(() => spend(1), StepsExceeded);
  });
  meter.within(meter.budget(100), () => spend(100));
  spend(MAX_STEPS);
  assert.throws(() => spend(MAX_STEPS + 1), StepsExceeded);
});
