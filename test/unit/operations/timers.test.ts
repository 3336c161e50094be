/** What is remembered of an operation, and what is adopted from rows that others have written. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { GateSpec } from "../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { adoptTimers, editOf, forgetPolicy, remember } from "../../../src/operations/timers.ts";
import { type OperationState, type RuleTimers, timerKey, type World } from "../../../src/policy/world.ts";
import {
  APPROVED,
  at,
  cluster,
  clusterHookPolicy,
  gated,
  hookPolicy,
  NOW,
  Operation,
  rule,
} from "../builders.ts";
import { runs } from "../../generated.ts";

const KEY = timerKey("uid-protect", "confirmed-delete");
const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const soak: GateSpec = { name: "soak", wait: { duration: "10m" } };
const deadline = { after: "1h", onExpiry: "Allow" } as const;

const asked = (timers?: RuleTimers): OperationState => ({
  firstAsked: NOW,
  rules: new Map(timers === undefined ? [] : [[KEY, timers]]),
});

describe("what is remembered", () => {
  test("is the first block for a deadline, and since when gates are met for a wait", () => {
    const operation = new Operation([gated([approval, soak], { deadline })]);
    operation.at(NOW);
    assert.deepEqual(operation.state?.rules, new Map([[KEY, { blockedSince: NOW }]]));
    const waits = new Operation([gated([soak])]);
    waits.at(NOW);
    assert.deepEqual(waits.state?.rules, new Map([[KEY, { gatesMetSince: NOW }]]));
  });

  test("is nothing of rules without a deadline or a wait, which need none", () => {
    const operation = new Operation([gated([approval])]);
    operation.at(NOW);
    assert.deepEqual(operation.state?.rules, new Map());
  });

  test("is forgotten when its rule is gone, and kept of policies that were not asked", () => {
    const operation = new Operation([gated([soak])]);
    operation.at(NOW);
    const other = new Operation([hookPolicy({ rules: [rule()] }, { name: "other", uid: "other" })]);
    other.state = { firstAsked: NOW, rules: new Map([...operation.state!.rules, ["other/gone", {}]]) };
    other.at(NOW);
    assert.deepEqual([...other.state.rules.keys()], [KEY]);
  });

  describe("of a deadline and a wait ends, so that nothing is released at once, when", () => {
    const spec = { ...gated([approval, soak], { deadline }).spec, namespaceSelector: {} };
    const policy = clusterHookPolicy(spec, { uid: "uid-protect" });
    const [known] = spec.rules;
    const broken = (change: object): PolicyObject =>
      clusterHookPolicy({ ...spec, ...change }, { uid: "uid-protect" });
    const cases: Readonly<Record<string, readonly [PolicyObject, Partial<World>]>> = {
      "an expression in its rule does not compile": [
        broken({ rules: [{ ...known, until: [{ name: "approved", expression: "cluster." }] }] }),
        {},
      ],
      "the rules are no list": [broken({ rules: "none" }), {}],
      "the policy is too large": [{ ...policy, tooLarge: true }, {}],
      "the Cluster is too large": [policy, { cluster: { ...cluster(), tooLarge: true } }],
      "the Namespace is not known": [policy, { namespace: undefined }],
    };
    for (const [title, [meanwhile, over]] of Object.entries(cases))
      test(title, () => {
        const operation = new Operation([policy]);
        operation.state = asked({ blockedSince: at("-2h"), gatesMetSince: at("-5m") });
        const without = new Operation([meanwhile]);
        without.state = operation.state;
        assert.equal(without.at(at("-1m"), over).holds, true);
        operation.state = without.state;
        assert.equal(operation.at(NOW).holds, true);
        assert.deepEqual(operation.state.rules, new Map([[KEY, { blockedSince: NOW }]]));
        assert.equal(operation.at(at("+59m")).holds, true);
        assert.equal(operation.at(at("+1h")).holds, false);
      });
  });

  test("is not that of a policy whose uid only begins alike", () => {
    const rules = new Map([["uid-protect-2/confirmed-delete", {}]]);
    const { policies } = new Operation([gated([approval])]);
    assert.deepEqual(remember({ firstAsked: NOW, rules }, policies, []).rules, rules);
  });
});

describe("what a row tells", () => {
  const row = { rule: "confirmed-delete" };
  const adopt = (own: RuleTimers | undefined, stored: object): RuleTimers | undefined =>
    adoptTimers(asked(own), "uid-protect", [{ ...row, ...stored }], NOW).rules.get(KEY);

  test("counts where nothing is known: after a restart", () => {
    const stored = { blockedSince: at("-1h").toISOString(), gatesMetSince: at("-5m").toISOString() };
    assert.deepEqual(adopt(undefined, stored), { blockedSince: at("-1h"), gatesMetSince: at("-5m") });
  });

  test("counts where it is later than what is known, and not where it is earlier", () => {
    const own = { blockedSince: at("-30m"), gatesMetSince: at("-30m") };
    const stored = { blockedSince: at("-10m").toISOString(), gatesMetSince: at("-1h").toISOString() };
    assert.deepEqual(adopt(own, stored), { blockedSince: at("-10m"), gatesMetSince: at("-30m") });
  });

  test("does not bring back a timer that broke off", () => {
    assert.deepEqual(adopt({}, { gatesMetSince: at("-1h").toISOString() }), {});
  });

  test("is not believed when it lies in the future or is no instant", () => {
    for (const text of [at("+2m").toISOString(), "yesterday", ""]) {
      assert.deepEqual(adopt(undefined, { blockedSince: text, gatesMetSince: text }), {});
    }
    assert.deepEqual(adopt(undefined, { gatesMetSince: at("+30s").toISOString() }), {
      gatesMetSince: at("+30s"),
    });
  });

  const instant = fc.option(
    fc.integer({ min: -7200, max: 60 }).map((s) => new Date(NOW.getTime() + s * 1000)),
    {
      nil: undefined,
    },
  );
  const timers = fc
    .record({ blockedSince: instant, gatesMetSince: instant })
    .map(({ blockedSince, gatesMetSince }): RuleTimers => ({
      ...(blockedSince && { blockedSince }),
      ...(gatesMetSince && { gatesMetSince }),
    }));
  const stored = (own: RuleTimers): object =>
    Object.fromEntries(Object.entries(own).map(([name, time]: [string, Date]) => [name, time.toISOString()]));

  test("never makes anything begin earlier than what is known, and two that hear of each other agree", () => {
    fc.assert(
      fc.property(timers, timers, (mine, theirs) => {
        const learnt = adopt(mine, stored(theirs)) ?? {};
        for (const name of ["blockedSince", "gatesMetSince"] as const) {
          assert.equal(learnt[name] === undefined, mine[name] === undefined);
          assert.ok(learnt[name] === undefined || learnt[name] >= (mine[name] ?? NOW));
          if (mine[name] && theirs[name])
            assert.deepEqual(adopt(theirs, stored(learnt))?.[name], learnt[name]);
        }
      }),
      runs(100),
    );
  });
});

describe("what is remembered of a policy that is gone", () => {
  test("is forgotten, and that of others is kept", () => {
    const before = asked({ blockedSince: NOW });
    assert.equal(forgetPolicy(before, "uid-protect").rules.size, 0);
    assert.equal(forgetPolicy(before, "uid-prot"), before, "the very same: thousands are looked at");
  });

  test("is kept by an evaluation without it", () => {
    const before = asked({ blockedSince: NOW });
    assert.deepEqual(remember(before, [], []).rules, before.rules);
  });
});

test("the order of keys in a gate is no edit: the API server sorts them, a file does not", () => {
  const { annotation, name } = { annotation: { key: APPROVED, value: "yes" }, name: "approved" };
  const spec = (until: GateSpec[]) => ({ rules: [rule({ until })] });
  const stored = spec([{ annotation, name }]);
  const { hasSameGates } = editOf(stored, spec([{ name, annotation: { value: "yes", key: APPROVED } }]));
  assert.ok(hasSameGates("confirmed-delete"));
  assert.ok(
    !editOf(stored, spec([{ name, annotation: { key: APPROVED } }])).hasSameGates("confirmed-delete"),
  );
});
