/** A policy can have hundreds of expressions, and look at thousands of objects: all of them share one budget. */

import assert from "node:assert/strict";
import test from "node:test";
import type { GateSpec, RuleSpec } from "../../../src/api/hookpolicy.ts";
import { Meter, StepsExceeded } from "../../../src/policy/cel/meter.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { forecast } from "../../../src/policy/forecast.ts";
import { objectKindKey, type WatchedObject } from "../../../src/policy/objects.ts";
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

const TOGETHER = /the expressions of the policy together need too many steps/;
const CALL = { hook: "BeforeClusterDelete" } as const;

/** True, after some 40,000 of the 50,000 steps that one expression has. */
const COSTLY = ["a", "b", "c", "d"].reduceRight(
  (inner, name) => `[1, 2, 3, 4, 5, 6, 7].all(${name}, ${inner})`,
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

test("many costly expressions are not evaluable together, and other policies do not feel it", () => {
  const { trace, holds } = judged(costlyRules(6, 16));
  const [peaceful, costly] = trace;
  assert.deepEqual([peaceful?.verdict, costly?.verdict, holds], ["Blocked", "NotEvaluable", true]);
  assert.match(costly?.rules.at(-1)?.message ?? "", TOGETHER);
  assert.deepEqual(costly?.rules.at(-1)?.gates.at(-1)?.holds, undefined);
  const after = decide([compiled(hookPolicy({ rules: costlyRules(1, 4) }))], world(), CALL, NOW);
  assert.equal(after.verdict, "Allowed", "the next decision has a budget of its own");
});

test("the same decision is made again with the same words", () => {
  assert.deepEqual(judged(costlyRules(3, 5)), judged(costlyRules(3, 5)));
});

test("thousands of objects are looked at within the budget", () => {
  const backups = Array.from({ length: 5000 }, (_, i): WatchedObject => {
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
  const evaluate = (steps: number): void => {
    meter.start();
    meter.charge(steps);
  };
  meter.within(100, () => {
    meter.within(80, () => evaluate(80));
    assert.throws(() => meter.within(80, () => evaluate(30)), StepsExceeded);
    assert.throws(() => evaluate(1), StepsExceeded);
  });
  meter.within(100, () => evaluate(100));
  evaluate(1000);
});
