/**
 * What an evaluation works is what it is charged for, and what it keeps does not grow with what a tenant writes. All
 * of it is counted: no clock is asked.
 */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, WindowGateSpec } from "../../src/api/hook-policy.ts";
import { withTransitions } from "../../src/status/conditions.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { MAX_STEPS } from "../../src/policy/cel/meter.ts";
import { compileExpression } from "../../src/policy/cel/expression.ts";
import { decide } from "../../src/policy/decide.ts";
import type { Decision } from "../../src/policy/decision.ts";
import { describeErrors } from "../../src/policy/message.ts";
import { objectKindKey, type WatchedObject } from "../../src/policy/watched-objects.ts";
import { windowsOf } from "../../src/policy/policy.ts";
import { remember } from "../../src/operations/timers.ts";
import { compileWindow } from "../../src/policy/window/window.ts";
import type { World } from "../../src/policy/world.ts";
import {
  at,
  cluster,
  compiled,
  DELETE,
  hookPolicy,
  manyAnnotations,
  metadata,
  NOW,
  objectsOf,
  range,
  rule,
  world,
} from "../unit/builders.ts";

/** 16 rules of 16 gates. */
function full(gate: (index: number) => object, name = "p"): PolicyObject {
  const rules = range(16).map((r) =>
    rule({
      name: `r${r}`,
      until: range(16).map((g) => ({ name: `g${g}`, ...gate(r * 16 + g) })),
    }),
  );
  return hookPolicy({ rules }, { name, uid: name });
}

function judged(policies: readonly PolicyObject[], here: World = world()): Decision {
  return decide(policies.map(compiled), here, DELETE, NOW);
}

const lastReason = ({ trace }: Decision): string | undefined => trace.at(-1)?.rules.at(-1)?.reason;

/** Counts how many keys are listed, and how many values are read. */
function counting(object: Record<string, string>): {
  readonly seen: typeof object;
  readonly work: () => number;
} {
  let work = 0;
  const seen = new Proxy(object, {
    ownKeys: (target) => {
      const keys = Reflect.ownKeys(target);
      work += keys.length;
      return keys;
    },
    get: (target, key, receiver) => {
      work += 1;
      // oxlint-disable-next-line typescript/no-unsafe-return -- whatever is there
      return Reflect.get(target, key, receiver);
    },
  });
  return { seen, work: () => work };
}

describe("A1: the values of annotations and labels", () => {
  const big = cluster({ annotations: { big: "a".repeat(250_000) }, labels: { big: "a".repeat(250_000) } });
  for (const field of ["annotation", "label"]) {
    test(`a large ${field} is not copied into the trace`, () => {
      const { trace } = judged(
        [full(() => ({ [field]: { key: "big", value: "no" } }))],
        world({ cluster: big }),
      );
      assert.ok(JSON.stringify(trace).length < 400_000);
      const seen = trace[0]?.rules[0]?.gates[0]?.observed;
      assert.equal(seen, `present: "${"a".repeat(64)}…"`);
    });
  }

  test("nor into that of several gates, one of which is enough", () => {
    const members = range(8).map((i) => ({ name: `m${i}`, annotation: { key: "big", value: "no" } }));
    const { trace } = judged([full(() => ({ anyOf: members }))], world({ cluster: big }));
    assert.ok(JSON.stringify(trace).length < 4_000_000);
  });

  test("a short one is shown as a whole", () => {
    const { trace } = judged(
      [full(() => ({ annotation: { key: "a", value: "no" } }))],
      world({ cluster: cluster({ annotations: { a: 'say "yes"' } }) }),
    );
    assert.equal(trace[0]?.rules[0]?.gates[0]?.observed, 'present: "say \\"yes\\""');
  });
});

describe("B1: listing the keys of a map", () => {
  for (const expression of [
    "size(cluster.metadata.annotations) > 0",
    "cluster.metadata.annotations != {}",
    "cluster.metadata.annotations.all(k, true)",
    "!(1 in cluster.metadata.annotations)",
  ]) {
    test(`is charged for: ${expression}`, () => {
      const { seen, work } = counting(manyAnnotations(20_000));
      const policies = ["a", "b", "c"].map((name) => full(() => ({ expression }), name));
      const decision = judged(policies, world({ cluster: cluster({ annotations: seen }) }));
      assert.equal(lastReason(decision), "BudgetExhausted");
      assert.ok(work() <= 3 * MAX_STEPS, `${work()} keys and values`);
    });
  }

  test("of a few annotations leaves a policy evaluable", () => {
    const annotations = manyAnnotations(20);
    const decision = judged(
      [full(() => ({ expression: "size(cluster.metadata.annotations) == 20" }))],
      world({ cluster: cluster({ annotations }) }),
    );
    assert.equal(decision.verdict, "Allowed");
  });
});

describe("an expression that fails thousands of times", () => {
  test("collects no stack of an Error, and leaves other Errors theirs", () => {
    const limits = new Set<number>();
    const annotations = new Proxy(manyAnnotations(100), {
      ownKeys: (target) => {
        limits.add(Error.stackTraceLimit);
        return Reflect.ownKeys(target);
      },
    });
    const expression = "cluster.metadata.annotations.all(a, cluster.metadata.annotations['no ' + a] == '')";
    const here = world({ cluster: cluster({ annotations }) });
    const policy = hookPolicy({ rules: [rule({ until: [{ name: "g", expression }] })] });
    assert.equal(judged([policy], here).verdict, "NotEvaluable");
    assert.deepEqual([...limits], [0]);
    assert.match(new Error("other").stack ?? "", /evaluation-cost\.test/);
  });

  test("uses up the steps sooner", () => {
    const here = world({ cluster: cluster({ annotations: manyAnnotations(2500) }) });
    const reason = (call: string): string | undefined => {
      const expression = `cluster.metadata.annotations.exists(a, ${call} == 400)`;
      return judged([hookPolicy({ rules: [rule({ until: [{ name: "g", expression }] })] })], here).trace[0]
        ?.rules[0]?.reason;
    };
    assert.equal(reason("size(a)"), "ExpressionFalse");
    assert.equal(reason("int(a)"), "BudgetExhausted");
  });
});

test("B2: an evaluation reuses the view of an object's metadata", () => {
  const { seen, work } = counting(manyAnnotations(10_000));
  const meta = { ...metadata({ name: "x", uid: "x" }), annotations: seen };
  const object: WatchedObject = { metadata: meta, raw: { metadata: meta, status: {} } };
  const kind = { apiVersion: "v1", kind: "ConfigMap" };
  const gate = {
    object: { ...kind, selector: {}, expression: "has(object.status) && object.metadata.name != 'y'" },
  };
  const objects = objectsOf({ [objectKindKey(kind)]: [object] });
  assert.equal(judged([full(() => gate)], world({ objects })).verdict, "Allowed");
  assert.ok(work() < 100, `${work()} keys and values`);
});

const NEVER: WindowGateSpec = {
  timeZone: "Europe/Berlin",
  allow: [{ schedule: "* * * * *", duration: "30s" }],
  deny: [{ schedule: "* * * * *", duration: "30s" }],
};
/** Each a window of its own. */
const never = (index: number): WindowGateSpec => ({
  ...NEVER,
  deny: [
    { schedule: "* * * * *", duration: `${30 + (index % 30)}s` },
    { schedule: `${Math.floor(index / 30)} * * * *`, duration: "1m" },
  ],
});

describe("B3, A2: windows", () => {
  test("that never open use up the steps of a decision, and hold", () => {
    const decision = judged(
      ["a", "b"].map((name, n) => full((i) => ({ window: never((n * 256 + i) % 80) }), name)),
    );
    assert.equal(lastReason(decision), "BudgetExhausted");
    assert.equal(decision.holds, true);
  });

  test("of one spec are one, and paid for once", () => {
    const policy = compiled(full(() => ({ window: NEVER })));
    assert.equal(new Set(windowsOf(policy).map(({ window }) => window)).size, 1);
    assert.equal(decide([policy], world(), DELETE, NOW).verdict, "Blocked");
  });

  test("cost the same, whatever was asked before", () => {
    const window = compileWindow(NEVER);
    const asks = window.asks(NOW);
    assert.ok(asks > 100);
    for (const hours of [1, 2, 3]) window.at(new Date(NOW.getTime() + hours * 3_600_000));
    window.nextOpen(NOW);
    assert.equal(window.asks(NOW), asks);
  });

  test("of one policy ask little together, however many they are", () => {
    const one = windowsOf(compiled(full(() => ({ window: never(0) }))));
    const many = windowsOf(compiled(full((i) => ({ window: never(i % 80) }))));
    const asks = (windows: typeof one): number =>
      [...new Set(windows.map(({ window }) => window))].reduce((sum, window) => sum + window.asks(NOW), 0);
    assert.ok(asks(one) > 1000, `${asks(one)} asks of one`);
    assert.ok(asks(many) < 40_000, `${asks(many)} asks of all`);
  });

  test("with too many entries make no rule evaluable", () => {
    const spread = (index: number): WindowGateSpec => ({
      timeZone: "UTC",
      allow: [
        { schedule: `${index % 60} ${Math.floor(index / 60)} * * *`, duration: "1m" },
        { schedule: "0 0 1 1 *", duration: "1m" },
      ],
    });
    const policy = compiled(full((i) => ({ window: spread(i) })));
    assert.deepEqual(policy.errors, [
      {
        path: "spec.rules",
        message: "the different windows have more than 256 entries together: split the policy",
      },
    ]);
    assert.equal(decide([policy], world(), DELETE, NOW).holds, true);
    assert.deepEqual(compiled(full((i) => ({ window: spread(i % 128) }))).errors, []);
  });
});

test("C7, C8: an expression holds its patterns, windows and calendars", () => {
  const source =
    "'x'.matches('^a[0-9]+$') || now.inWindow('0 1 * * *', '1h', 'UTC') || now.getHours('Asia/Tokyo') > 30";
  const { expression } = compileExpression(source, "gate");
  assert.equal(expression?.prepared.length, 3);
});

describe("C14: compiling", () => {
  test("weighs the patterns of an expression together", () => {
    const expression = range(4)
      .map((i) => `''.matches('a{400}${i}')`)
      .join(" || ");
    const { errors } = compiled(hookPolicy({ rules: [rule({ until: [{ name: "g", expression }] })] }));
    assert.equal(errors.length, 1);
    assert.match(errors[0]?.message ?? "", /the patterns of the expression together repeat too much$/);
  });

  test("weighs the patterns of a policy together", () => {
    const policy = compiled(full((i) => ({ expression: `'x'.matches('a{600}${i}')` })));
    assert.match(policy.errors[0]?.message ?? "", /the patterns of all expressions together/);
  });

  test("takes no spec of more values than can be checked at once: it holds, and says why", () => {
    const members = range(8).map((i) => ({ name: `m${i}`, label: { key: "a" } }));
    const policy = compiled(full(() => ({ anyOf: members })));
    assert.deepEqual(policy.errors, [
      { path: "spec", message: "too large to be checked: make several of it" },
    ]);
    assert.equal(decide([policy], world(), DELETE, NOW).holds, true);
    assert.equal(
      decide([compiled(full(() => ({ label: { key: "a" } })))], world(), DELETE, NOW).verdict,
      "Blocked",
    );
  });

  test("of a spec that is too large keeps that it only audits, and that it denies", () => {
    const junk = range(5000);
    const of = (spec: object): ReturnType<typeof compiled> =>
      compiled(hookPolicy({ ...spec, junk } as never));
    assert.equal(decide([of({ mode: "Audit" })], world(), DELETE, NOW).holds, false);
    assert.equal(decide([of({ failurePolicy: "Ignore" })], world(), DELETE, NOW).holds, true);
    assert.equal(
      of({ rules: [rule({ admission: "Warn" }), rule({ admission: "Deny" })] }).rules[0]?.admission,
      "Deny",
    );
  });

  test("finds a few of the mistakes of a rule", () => {
    const { errors } = compiled(full(() => ({ expression: "clustr" })));
    assert.equal(errors.length, 16 * 4);
  });

  test("finds a few of the mistakes of an expression", () => {
    const expression = range(30)
      .map((i) => `now.getHours('Xurope/B${i}') > 1`)
      .join(" || ")
      .slice(0, 1000)
      .replace(/ \|\|[^|]*$/, "");
    assert.ok(compileExpression(expression, "gate").problems.length <= 8);
  });
});

describe("C15: tens of thousands of mistakes", () => {
  const errors = range(32_768).map((i) => ({ path: `spec.rules[${i % 16}].until[${i}]`, message: "wrong" }));

  test("are shown by a few of them", () => {
    const text = describeErrors(errors);
    assert.ok(text.length < 4000, `${text.length} letters`);
    assert.match(text, /; and 32736 more$/);
  });

  test("are a few of each rule to a policy", () => {
    const window = { timeZone: "UTC", allow: range(16).map(() => ({ schedule: "bad", duration: "1m" })) };
    const policy = compiled(full(() => ({ window })));
    assert.ok(policy.errors.length <= 16 * 32, `${policy.errors.length} errors`);
    assert.ok(policy.rules.every(({ problem }) => problem !== undefined));
  });

  test("fit into a condition, as before", () => {
    const message = "ä".repeat(3000);
    const [condition] = withTransitions(
      [{ type: "Accepted", status: "False", reason: "InvalidSpec", message }],
      undefined,
      1,
      NOW,
    );
    assert.equal(condition?.message, `${"ä".repeat(1023)}…`);
  });
});

describe("C10: policies whose turn comes after the steps are used up", () => {
  const costly = ["a", "b", "c"].reduceRight(
    (inner, name) => `[1, 2, 3, 4, 5, 6, 7, 8, 9].all(${name}, ${inner})`,
    "cluster.metadata.name != ''",
  );
  const until = range(9).map((i): GateSpec => ({ name: `g${i}`, expression: costly }));
  const first = hookPolicy({ rules: [rule({ until })] }, { name: "a", uid: "a" });
  const later = full(() => ({ annotation: { key: "x" } }), "b");

  test("have one finding each, and hold", () => {
    const { trace, retryAfterSeconds } = judged([first, later]);
    assert.deepEqual(
      trace[1]?.rules.map(({ rule: name, reason, holds }) => [name, reason, holds]),
      [["r0", "BudgetExhausted", true]],
    );
    assert.equal(retryAfterSeconds, 10);
  });

  test("hold under failurePolicy Ignore, too, and by the shortest retry", () => {
    const rules = [30, 7, 20].map((retryAfterSeconds, i) => rule({ name: `r${i}`, retryAfterSeconds }));
    const ignoring = hookPolicy({ failurePolicy: "Ignore", rules }, { name: "b", uid: "b" });
    const { trace } = judged([first, ignoring]);
    assert.equal(trace[1]?.holds, true);
    assert.equal(trace[1].rules[0]?.retryAfterSeconds, 7);
  });

  test("keep their deadlines and break off their waits", () => {
    const state = {
      firstAsked: at("-1h"),
      rules: new Map([
        ["b/r0", { blockedSince: at("-1h") }],
        ["b/r1", { blockedSince: at("-1h"), gatesMetSince: at("-1h") }],
      ]),
    };
    const policies = [first, later].map(compiled);
    const { trace } = decide(policies, world({ state }), DELETE, NOW);
    const { rules } = remember(state, policies, trace);
    assert.deepEqual(
      [rules.get("b/r0"), rules.get("b/r1")],
      [{ blockedSince: at("-1h") }, { blockedSince: at("-1h") }],
    );
  });
});
