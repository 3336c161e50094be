/**
 * One tenant's policies and data cost only that tenant: what they spend of a decision is theirs, what runs out holds,
 * and nothing that they add releases a Cluster.
 */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { array, assert as check, boolean, nat, property, tuple } from "fast-check";
import type { GateSpec, HookPolicySpec } from "../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { compactCluster } from "../../src/memory/stored-views.ts";
import { MAX_STEPS } from "../../src/policy/cel/meter.ts";
import { decide, objectQueries } from "../../src/policy/decide.ts";
import type { Decision } from "../../src/policy/decision.ts";
import { objectKindKey, type ObjectReader, type WatchedObject } from "../../src/policy/watched-objects.ts";
import type { World } from "../../src/policy/world.ts";
import {
  at,
  cluster,
  clusterHookPolicy,
  compiled,
  DELETE,
  hookPolicy,
  metadata,
  NOW,
  objectsOf,
  override,
  rule,
  world,
} from "../unit/builders.ts";

/** True, for some 15,000 steps. */
const COSTLY = ["a", "b", "c"].reduceRight(
  (inner, name) => `[1, 2, 3, 4, 5, 6, 7, 8].all(${name}, ${inner})`,
  "cluster.metadata.name != ''",
);
/** As many annotations as an object can have: what a policy says of them takes too long. */
const FLOODED = world({
  cluster: cluster({
    annotations: Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`example.com/a${i}`, "b"])),
  }),
});
const LOOKS_AT_ANNOTATIONS =
  "cluster.metadata.annotations.all(k, k != 'x' && cluster.metadata.annotations[k] != 'y')";

const gates = (count: number, expression = COSTLY): GateSpec[] =>
  Array.from({ length: count }, (_, i) => ({ name: `g${i}`, expression }));

const tenants = (name: string, until: GateSpec[], spec: Partial<HookPolicySpec> = {}): PolicyObject =>
  hookPolicy({ rules: [rule({ until })], ...spec }, { name, uid: `uid-${name}` });

const platforms = (name: string, until: GateSpec[], spec: Partial<HookPolicySpec> = {}): PolicyObject =>
  clusterHookPolicy({ rules: [rule({ until })], ...spec }, { name, uid: `uid-${name}` });

function judged(policies: readonly PolicyObject[], here: World = world()): Decision {
  return decide(policies.map(compiled), here, DELETE, NOW);
}

const said = ({ trace }: Decision): unknown[] =>
  trace.map(({ policy: { name }, verdict, rules }) => [name, verdict, rules[0]?.reason]);

describe("the budget of a decision", () => {
  test("is one for all HookPolicies of a namespace, in the order of their names", () => {
    const many = ["a", "b", "c"].map((name) => tenants(name, gates(2)));
    assert.deepEqual(said(judged(many)), [
      ["a", "Allowed", "GatesHold"],
      ["b", "Allowed", "GatesHold"],
      ["c", "NotEvaluable", "BudgetExhausted"],
    ]);
    for (const one of many) assert.equal(judged([one]).holds, false);
  });

  test("is another one for each ClusterHookPolicy", () => {
    const policies = [platforms("p1", gates(3)), platforms("p2", gates(3)), tenants("t", gates(9))];
    assert.deepEqual(said(judged(policies)), [
      ["p1", "Allowed", "GatesHold"],
      ["p2", "Allowed", "GatesHold"],
      ["t", "NotEvaluable", "BudgetExhausted"],
    ]);
    const others = [platforms("p", gates(9)), tenants("t", gates(3))];
    assert.deepEqual(said(judged(others)).at(-1), ["t", "Allowed", "GatesHold"]);
  });

  test("says what is too much, for whom, and what to do", () => {
    const advice = "simplify expressions, let object gates look at fewer objects, or split the namespace";
    const { message, retryAfterSeconds } = judged([tenants("t", gates(9))]);
    assert.equal(
      message,
      `HookPolicy team-a/t, rule confirmed-delete is not evaluable: the HookPolicies of namespace team-a together need more than ${MAX_STEPS} steps for this Cluster: ${advice}`,
    );
    assert.equal(retryAfterSeconds, 10);
    assert.match(judged([platforms("p", gates(9))]).message, /: the policy needs more than \d+ steps for/);
  });

  test("evaluates nothing more once it is used up", () => {
    let looks = 0;
    const objects: ObjectReader = {
      find: () => {
        looks += 1;
        return { ok: true, namespaced: true, objects: [] };
      },
    };
    const looking = { apiVersion: "v1", kind: "ConfigMap", selector: {}, absent: true } as const;
    const policies = [tenants("a", gates(9)), tenants("b", [{ name: "looks", object: looking }])];
    assert.equal(judged(policies, world({ objects })).trace[1]?.verdict, "NotEvaluable");
    assert.equal(looks, 0);
  });
});

describe("a budget that is used up holds, whatever failurePolicy says", () => {
  const IGNORE = { failurePolicy: "Ignore" } as const;
  const anyOf = [
    { name: "cheap", expression: "true || cluster.metadata.name == ''" },
    { name: "dear", expression: LOOKS_AT_ANNOTATIONS },
  ];
  const cases: Readonly<Record<string, GateSpec[]>> = {
    "by an expression over 9,000 annotations": gates(1, LOOKS_AT_ANNOTATIONS),
    "by a gate beside one that fails in another way": [
      { name: "fails", expression: "cluster.metadata.labels['none'] == ''" },
      ...gates(1, LOOKS_AT_ANNOTATIONS),
    ],
    "by one of several": [{ name: "any", anyOf }],
    "by the name of an object": [
      {
        name: "object",
        object: {
          apiVersion: "v1",
          kind: "ConfigMap",
          nameExpression: `${LOOKS_AT_ANNOTATIONS} ? 'a' : 'b'`,
        },
      },
    ],
  };
  for (const [name, until] of Object.entries(cases)) {
    for (const policy of [tenants("t", until, IGNORE), platforms("p", until, IGNORE)]) {
      test(`${name}, of a ${policy.kind}`, () => {
        const { holds, verdict, trace } = judged([policy], FLOODED);
        assert.deepEqual(
          [holds, verdict, trace[0]?.rules[0]?.reason],
          [true, "NotEvaluable", "BudgetExhausted"],
        );
      });
    }
  }

  test("by a match condition", () => {
    const matchConditions = [{ name: "dear", expression: LOOKS_AT_ANNOTATIONS }];
    const policy = hookPolicy({ ...IGNORE, rules: [rule({ matchConditions })] });
    assert.deepEqual(said(judged([policy], FLOODED)), [["protect", "NotEvaluable", "BudgetExhausted"]]);
    assert.equal(judged([policy], FLOODED).holds, true);
  });

  test("and no deadline ends it, but a HookOverride does", () => {
    const deadline = { after: "1m", onExpiry: "Allow" } as const;
    const state = {
      firstAsked: at("-1h"),
      rules: new Map([["uid-t/confirmed-delete", { blockedSince: at("-1h") }]]),
    };
    const policy = hookPolicy(
      { ...IGNORE, rules: [rule({ until: gates(1, LOOKS_AT_ANNOTATIONS), deadline })] },
      { name: "t", uid: "uid-t" },
    );
    assert.equal(judged([policy], { ...FLOODED, state }).holds, true);
    assert.equal(judged([policy], { ...FLOODED, state, overrides: [override()] }).holds, false);
  });

  test("while a policy that is not evaluable in another way is ignored as it says", () => {
    const fails = [{ name: "fails", expression: "cluster.metadata.labels['none'] == ''" }];
    assert.equal(judged([tenants("t", fails, IGNORE)]).holds, false);
  });
});

test("a policy that is added releases nothing, whatever it costs and wherever it stands", () => {
  const costs = array(tuple(nat(7), boolean()), { minLength: 1, maxLength: 5 });
  const policyOf = ([count, ignores]: [number, boolean], index: number): PolicyObject =>
    tenants(`p${index}`, gates(count + 1), { failurePolicy: ignores ? "Ignore" : "Fail" });
  check(
    property(costs, nat(4), (list, left) => {
      const all = list.map(policyOf);
      const fewer = judged(all.toSpliced(left % all.length, 1));
      assert.ok(!fewer.holds || judged(all).holds);
    }),
    { numRuns: 30 },
  );
});

describe("everything costs", () => {
  const backups = Array.from({ length: 2000 }, (_, i): WatchedObject => {
    const meta = metadata({ name: `b${i}`, uid: `b${i}` });
    return { metadata: meta, raw: { metadata: meta, status: { phase: "Completed" } } };
  });
  const kind = { apiVersion: "velero.io/v1", kind: "Backup" };
  const objects = objectsOf({ [objectKindKey(kind)]: backups });
  const lookers = (count: number, more: object): GateSpec[] =>
    Array.from({ length: count }, (_, i) => ({ name: `g${i}`, object: { ...kind, ...more } }));

  const dear: Readonly<Record<string, GateSpec[]>> = {
    "16 gates over 2,000 objects": lookers(16, { selector: { matchLabels: { a: "b", c: "d" } } }),
    "two expressions over 2,000 objects": lookers(2, {
      selector: {},
      expression: "object.metadata.name != ''",
    }),
  };
  for (const [name, until] of Object.entries(dear)) {
    const rules = Array.from({ length: 16 }, (_, i) => rule({ name: `r${i}`, until }));
    test(`${name}, in 16 rules`, () => {
      const { trace } = judged([hookPolicy({ rules })], world({ objects }));
      assert.equal(trace[0]?.rules.at(-1)?.reason, "BudgetExhausted");
    });
  }

  test("a gate that looks at 2,000 objects is evaluated", () => {
    const until = lookers(1, {
      selector: {},
      expression: "has(object.status) && object.status.phase == 'Completed'",
    });
    assert.equal(judged([tenants("t", until)], world({ objects })).verdict, "Allowed");
  });

  test("cheap rules, thousands of them", () => {
    const until: GateSpec[] = Array.from({ length: 16 }, (_, i) => ({
      name: `g${i}`,
      annotation: { key: "a" },
    }));
    const rules = Array.from({ length: 16 }, (_, i) => rule({ name: `r${i}`, until }));
    const many = Array.from({ length: 30 }, (_, i) => hookPolicy({ rules }, { name: `p${i}`, uid: `p${i}` }));
    assert.equal(judged(many).trace.at(-1)?.rules[0]?.reason, "BudgetExhausted");
  });

  test("the names of objects, which are not read without", () => {
    const object = { ...kind, nameExpression: `${LOOKS_AT_ANNOTATIONS} ? 'a' : 'b'` };
    const policy = compiled(tenants("t", [{ name: "g", object }]));
    assert.equal(objectQueries([policy], FLOODED, DELETE, NOW), undefined);
    assert.equal(objectQueries([policy], world(), DELETE, NOW)?.length, 1);
  });
});

describe("packed variables", () => {
  /** Counts how often they are unpacked. */
  function packed(letters: number): { readonly at: World; readonly unpacked: () => number } {
    const variables = JSON.stringify({ tier: "gold", text: "x".repeat(letters) });
    const { topology } = compactCluster(
      cluster({}, { topology: { className: "lab", version: "v1", variables } }),
    );
    assert.ok(topology);
    let count = 0;
    const counting = Object.defineProperties(
      {},
      {
        ...Object.getOwnPropertyDescriptors(topology),
        variables: { get: () => (count += 1) && topology.variables, enumerable: true },
      },
    ) as typeof topology;
    return { at: world({ cluster: cluster({}, { topology: counting }) }), unpacked: () => count };
  }

  const READS = "cluster.topology.variables.tier == 'gold'";

  test("are not unpacked for who reads the version", () => {
    const { at: here, unpacked } = packed(10_000);
    const { holds } = judged([tenants("t", gates(16, "cluster.topology.version == 'v1'"))], here);
    assert.deepEqual([holds, unpacked()], [false, 0]);
  });

  test("are unpacked once for a decision, and paid for once by each budget", () => {
    const { at: here, unpacked } = packed(200_000);
    const policies = [
      platforms("p", gates(16, READS)),
      ...["a", "b"].map((name) => tenants(name, gates(16, READS))),
    ];
    assert.equal(judged(policies, here).holds, false);
    assert.equal(unpacked(), 1);
    judged(policies, here);
    assert.equal(unpacked(), 2, "what they hold stays packed between decisions");
  });

  test("are paid for by every budget alike, whoever has read them before", () => {
    const { at: here } = packed(550_000);
    const dear = tenants("t", [...gates(1, READS), ...gates(1).map((gate) => ({ ...gate, name: "dear" }))]);
    assert.equal(judged([dear], here).holds, true);
    assert.equal(judged([platforms("p", gates(1, READS)), dear], here).trace[1]?.holds, true);
  });

  test("that are too large are not unpacked at all", () => {
    const { at: here, unpacked } = packed(1_200_000);
    assert.equal(
      judged([tenants("t", gates(16, READS))], here).trace[0]?.rules[0]?.reason,
      "BudgetExhausted",
    );
    assert.equal(unpacked(), 0);
  });
});
