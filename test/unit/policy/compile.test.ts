/** Any policy compiles, valid or not, and holds rather than releases, rule by rule. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { GateSpec, HookPolicySpec, RuleSpec } from "../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { servedHooks } from "../../../src/api/hook-catalog.ts";
import { compilePolicy } from "../../../src/policy/compile.ts";
import { decide } from "../../../src/policy/decide.ts";
import { CAUSE, isGated, windowsOf } from "../../../src/policy/policy.ts";
import { kindOf } from "../../corpus/corpus.ts";
import { mutatedObject, validPolicy } from "../../corpus/arbitraries.ts";
import {
  ALL_HOOKS,
  APPROVED,
  cluster,
  clusterHookPolicy,
  compiled,
  DELETE,
  gated,
  hookPolicy,
  NOW,
  range,
  rule,
  UPGRADE,
  world,
  period,
} from "../builders.ts";
import { runs } from "../../generated.ts";

const approved = world({ cluster: cluster({ annotations: { [APPROVED]: "" } }) });

describe("a rule that cannot be evaluated", () => {
  const problems: Record<string, Partial<RuleSpec>> = {
    "a match condition that is no CEL": { matchConditions: [{ name: "c", expression: "(" }] },
    "an expression that is no CEL": { until: [{ name: "e", expression: "(" }] },
    "a schedule that is none": {
      until: [{ name: "w", window: { timeZone: "UTC", allow: [{ schedule: "x", duration: "1h" }] } }],
    },
    "a range that is none": {
      hooks: ["BeforeClusterUpgrade"],
      until: [{ name: "v", version: { range: "banana" } }],
    },
    "a field that this version does not know": { unless: "canary" } as object,
    "a kind of gate that this version does not know": { until: [{ name: "s", sundial: {} } as GateSpec] },
    "a gate of two kinds": { until: [{ name: "s", label: { key: "a" }, annotation: { key: APPROVED } }] },
    "a deadline that this version does not know": {
      deadline: { after: "1h", onExpiry: "Shrug" as "Allow" },
    },
    "a wait that is no duration": { until: [{ name: "s", wait: { duration: "soon" } }] },
  };
  for (const [name, over] of Object.entries(problems)) {
    test(`for ${name} holds its hooks, says where, and leaves other rules alone`, () => {
      const broken = rule({ name: "broken", hooks: ["BeforeClusterUpgrade"], ...over });
      const policy = compiled(hookPolicy({ rules: [broken, rule()] }));
      assert.ok(policy.errors.every(({ path }) => path.startsWith("spec.rules[0]")));
      const decision = decide([policy], approved, UPGRADE, NOW);
      assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
      assert.match(decision.message, /rule broken is not evaluable: spec\.rules\[0\]/);
      assert.equal(decide([policy], approved, DELETE, NOW).holds, false);
      assert.equal(decide([policy], world(), DELETE, NOW).verdict, "Blocked");
    });
  }
});

test("a field that this version does not know holds whatever else is wrong with the rule, and how often", () => {
  const wrong = (i: number): GateSpec => ({ name: `G${i}`, wait: { duration: "soon" } });
  const spec = { until: range(16).map(wrong), when: "canary" } as object;
  const policy = compiled(hookPolicy({ failurePolicy: "Ignore", rules: [rule(spec)] }));
  const decision = decide([policy], approved, DELETE, NOW);
  assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
});

describe("an invalid spec", () => {
  const bad = { exceptOn: "Friday" } as Partial<HookPolicySpec>;
  test("stays an Audit policy's, which holds nothing", () => {
    assert.equal(
      decide([compiled(hookPolicy({ ...bad, mode: "Audit" }))], approved, DELETE, NOW).holds,
      false,
    );
  });
  test("is enforced when its mode is none", () => {
    const policy = compiled(hookPolicy({ mode: "Audit " as "Audit" }));
    assert.deepEqual([policy.mode, decide([policy], approved, DELETE, NOW).holds], ["Enforce", true]);
  });
  test("fails closed when its failurePolicy is none", () => {
    const policy = compiled(hookPolicy({ failurePolicy: "Ignored" as "Ignore" }));
    assert.deepEqual([policy.failurePolicy, decide([policy], approved, DELETE, NOW).holds], ["Fail", true]);
  });
});

describe("a rule", () => {
  test("that only observes speaks on every hook that is served, and one that holds on those that can be held", () => {
    const { until: _, ...observe } = rule({ hooks: ["AfterClusterUpgrade", "BeforeClusterDelete"] });
    const gate = { ...observe, name: "gate", until: [{ name: "a", annotation: { key: "a", value: "b" } }] };
    const policy = compilePolicy("HookPolicy", hookPolicy({ rules: [observe, gate] }), servedHooks(11));
    assert.deepEqual(
      policy.rules.map(({ hooks }) => [...hooks]),
      [["AfterClusterUpgrade", "BeforeClusterDelete"], ["BeforeClusterDelete"]],
    );
    assert.deepEqual(policy.rules.map(isGated), [false, true]);
    assert.deepEqual(
      policy.notEnforceable.map(({ path }) => path),
      ["spec.rules[1].hooks[0]"],
    );
  });

  test("keeps its waits apart from its other gates", () => {
    const until: GateSpec[] = [
      { name: "soak", wait: { duration: "1h30m" } },
      { name: "approved", annotation: { key: "a" } },
    ];
    const [only] = compiled(gated(until, { deadline: { after: "90s", onExpiry: "KeepBlocking" } })).rules;
    assert.deepEqual(only?.waits, [{ name: "soak", duration: "1h30m", durationMs: 5_400_000 }]);
    assert.deepEqual(
      only.gates.map(({ name }) => name),
      ["approved"],
    );
    assert.deepEqual(only.deadline, { afterMs: 90_000, onExpiry: "KeepBlocking" });
  });

  test("without a retry of its own has one of ten seconds", () => {
    assert.equal(compiled(hookPolicy()).rules[0]?.retryAfterSeconds, 10);
  });
});

describe("whether a policy may read the Cluster's status, as CEL can,", () => {
  const expression = "cluster.metadata.name == 'a'";
  const object = { apiVersion: "v1", kind: "ConfigMap" };
  const cases: Record<string, Partial<RuleSpec>> = {
    "a match condition": { matchConditions: [{ name: "c", expression }] },
    "an expression": { until: [{ name: "e", expression }] },
    "a name that is computed": {
      until: [{ name: "o", object: { ...object, nameExpression: "cluster.metadata.name" } }],
    },
    "a condition on objects": { until: [{ name: "o", object: { ...object, name: "a", expression } }] },
    "one of several gates": {
      until: [
        {
          name: "any",
          anyOf: [
            { name: "a", annotation: { key: "a" } },
            { name: "e", expression },
          ],
        },
      ],
    },
  };
  for (const [name, over] of Object.entries(cases)) {
    test(`is seen from ${name}, beside a rule that is broken, too`, () => {
      assert.equal(compiled(hookPolicy({ rules: [rule(over)] })).readsStatus, true);
      const broken = rule({ name: "broken", hooks: ["Nonsense" as "BeforeClusterDelete"] });
      assert.equal(compiled(hookPolicy({ rules: [broken, rule(over)] })).readsStatus, true);
    });
  }
  test("is not so without any", () => assert.equal(compiled(hookPolicy()).readsStatus, false));
});

test("the windows of a policy are those of its gates, also inside of anyOf", () => {
  const window = { allow: [period("+1h", "+2h")] };
  const rules = [
    rule({ name: "one", until: [{ name: "a", window }] }),
    rule({
      name: "two",
      until: [
        {
          name: "any",
          anyOf: [
            { name: "b", window },
            { name: "c", window },
          ],
        },
      ],
    }),
  ];
  assert.deepEqual(
    windowsOf(compiled(hookPolicy({ rules }))).map(({ rule: of, gate }) => [of, gate]),
    [
      ["one", "a"],
      ["two", "b"],
      ["two", "c"],
    ],
  );
});

const stored = (object: unknown): PolicyObject => ({
  ...(object as PolicyObject),
  metadata: hookPolicy().metadata,
});

test("every policy that the API server takes can be compiled and decided, and so can what becomes of it", () => {
  fc.assert(
    fc.property(fc.oneof(validPolicy, mutatedObject), fc.constantFrom(DELETE, UPGRADE), (object, call) => {
      const kind = kindOf(object);
      fc.pre(kind !== "HookOverride" && kind !== "HookRollout");
      const policy = compilePolicy(kind, stored(object), servedHooks(14));
      const { holds, retryAfterSeconds, message, trace } = decide([policy], world(), call, NOW);
      assert.equal(holds, message !== "");
      assert.ok(holds ? retryAfterSeconds >= 1 && retryAfterSeconds <= 300 : retryAfterSeconds === 0);
      const broken = policy.rules.some(({ hooks, problem }) => problem !== undefined && hooks.has(call.hook));
      const closed = policy.mode === "Enforce" && policy.failurePolicy === "Fail";
      if (broken && closed && trace[0]?.matched === true) assert.equal(holds, true);
    }),
    runs(400),
  );
});

test("a bug in the compiler makes a policy hold, and does not stop the others", () => {
  const spec = Object.defineProperty({}, "rules", { enumerable: true, get: () => assert.fail("a bug") });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as no object from an API server is
  const object = { ...clusterHookPolicy(), spec } as PolicyObject;
  const policy = compilePolicy("ClusterHookPolicy", object, ALL_HOOKS);
  const { rules, mode, selectsNamespace, errors } = policy;
  assert.match(String(policy[CAUSE]), /a bug/);
  assert.equal(mode, "Enforce");
  assert.equal(selectsNamespace?.({}), true);
  assert.deepEqual(rules[0]?.hooks, ALL_HOOKS.blocking);
  assert.match(rules[0]?.problem ?? "", /InternalError/);
  assert.equal(errors.length, 1);
});
