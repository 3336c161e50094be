/** Which rules speak at admission, and that what they say is what decide() says. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookPolicySpec, RuleSpec } from "../../../src/api/hook-policy.ts";
import { admit, denying, warningOnly } from "../../../src/policy/admission.ts";
import { decide, holdWarnings } from "../../../src/policy/decide.ts";
import type { World } from "../../../src/policy/world.ts";
import {
  APPROVED,
  at,
  cluster,
  compiled,
  DELETE,
  hookPolicy,
  NOW,
  override,
  rule,
  world,
} from "../builders.ts";

const approved = world({ cluster: cluster({ annotations: { [APPROVED]: "" } }) });

function policies(
  over: Partial<RuleSpec>,
  spec: Partial<HookPolicySpec> = {},
): ReturnType<typeof compiled>[] {
  return [compiled(hookPolicy({ rules: [rule(over)], ...spec }))];
}

function refuses(over: Partial<RuleSpec>, spec: Partial<HookPolicySpec> = {}, on: World = world()): boolean {
  return decide(denying(policies(over, spec)), on, DELETE, NOW).holds;
}

function warns(over: Partial<RuleSpec>, spec: Partial<HookPolicySpec> = {}, on: World = world()): number {
  return holdWarnings(decide(warningOnly(policies(over, spec)), on, DELETE, NOW).trace).length;
}

describe("a rule with admission Deny", () => {
  test("refuses while its gates are not met", () => {
    assert.deepEqual([refuses({ admission: "Deny" }), warns({ admission: "Deny" })], [true, 0]);
  });
  test("refuses nothing once they hold", () => {
    assert.equal(refuses({ admission: "Deny" }, {}, approved), false);
  });
  test("warns in a policy in mode Audit", () => {
    const audit = { mode: "Audit" } as const;
    assert.deepEqual(
      [refuses({ admission: "Deny" }, audit), warns({ admission: "Deny" }, audit)],
      [false, 1],
    );
  });
  test("refuses nothing while a HookOverride covers it", () => {
    const overrides = [override({ expiresAt: at("+1h").toISOString() })];
    assert.equal(refuses({ admission: "Deny" }, {}, world({ overrides })), false);
  });
  test("says nothing about another hook", () => {
    assert.equal(refuses({ admission: "Deny", hooks: ["BeforeClusterCreate"] }), false);
  });
  test("does not count a wait", () => {
    const until = [...(rule().until ?? []), { name: "soak", wait: { duration: "1h" } }];
    assert.deepEqual(
      [world(), approved].map((on) => refuses({ admission: "Deny", until }, {}, on)),
      [true, false],
    );
  });
  test("refuses after the deadline, too", () => {
    const policy = compiled(
      hookPolicy({ rules: [rule({ admission: "Deny", deadline: { after: "1h", onExpiry: "Allow" } })] }),
    );
    const rules = new Map([["uid-protect/confirmed-delete", { blockedSince: at("-2h") }]]);
    const on = world({ state: { firstAsked: at("-2h"), rules } });
    assert.equal(decide([policy], on, DELETE, NOW).holds, false);
    assert.equal(decide(denying([policy]), on, DELETE, NOW).holds, true);
  });
});

test("a rule with admission Warn warns, and refuses nothing", () => {
  assert.deepEqual([refuses({ admission: "Warn" }), warns({ admission: "Warn" })], [false, 1]);
  assert.equal(warns({ admission: "Warn" }, {}, approved), 0);
});

test("a rule without admission says nothing", () => {
  for (const over of [{}, { admission: "None" }] as const)
    assert.deepEqual([refuses(over), warns(over)], [false, 0]);
});

describe("a request", () => {
  const verdict = (over: Partial<RuleSpec>, other: Partial<RuleSpec>, on: World = world()): string => {
    const both = [rule(over), rule({ ...other, name: "other" })];
    return admit([compiled(hookPolicy({ rules: both }))], on, DELETE, NOW).verdict;
  };
  const cases: Record<string, [Partial<RuleSpec>, Partial<RuleSpec>, World?]> = {
    "Denied by one rule that refuses": [{ admission: "Warn" }, { admission: "Deny" }],
    "Warned of by one rule that warns": [{ admission: "Warn" }, {}],
    "Passed where rules only speak at hooks": [{}, {}],
    "Passed where all gates are met": [{ admission: "Warn" }, { admission: "Deny" }, approved],
  };
  for (const [name, [over, other, on]] of Object.entries(cases)) {
    test(`is ${name}`, () => assert.equal(verdict(over, other, on), name.split(" ")[0]));
  }
});

describe("a rule that is not evaluable refuses", () => {
  const broken: Record<string, { over: Partial<RuleSpec>; spec?: Partial<HookPolicySpec> }> = {
    "with nothing but a wait": { over: { until: [{ name: "soak", wait: { duration: "1h" } }] } },
    "without gates": { over: { until: undefined as never } },
    "of a value of admission that is not known": { over: { admission: "Refuse" as "Deny" } },
    "with a mistake in it": { over: { until: [{ name: "e", expression: "(" }] } },
    "in a spec without rules": { over: {}, spec: { rules: "none" as never } },
  };
  for (const [name, { over, spec }] of Object.entries(broken)) {
    test(name, () => {
      const { until, ...rest } = { admission: "Deny" as const, ...over };
      const given = "until" in over && until === undefined ? rest : { ...rest, ...(until && { until }) };
      const { until: _, ...bare } = rule();
      const whole = "until" in over && until === undefined ? { ...bare, ...given } : rule(given);
      const policy = compiled(hookPolicy({ rules: [whole], ...spec }));
      const decision = decide(denying([policy]), approved, DELETE, NOW);
      assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
    });
  }
  test("but not when its policy ignores failures", () => {
    const until = [{ name: "e", expression: "cluster.metadata.labels['a'] == 'b'" }];
    assert.equal(refuses({ admission: "Deny", until }, { failurePolicy: "Ignore" }), false);
  });
});
