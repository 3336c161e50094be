/** When time alone lets an operation go on: what forecast() says is what decide() does, second by second. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { GateSpec, RuleSpec } from "../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { forecast } from "../../../src/operations/forecast.ts";
import type { World } from "../../../src/policy/world.ts";
import {
  APPROVED,
  at,
  cluster,
  compiled,
  DELETE,
  gated,
  hookPolicy,
  NOW,
  Operation,
  override,
  rule,
  world,
  scheduled,
  period,
} from "../builders.ts";
import { runs } from "../../generated.ts";

const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const wait = (duration: string): GateSpec => ({ name: `wait-${duration}`, wait: { duration } });
const window = (name: string, from: string, to: string): GateSpec => ({
  name,
  window: { allow: [period(from, to)] },
});
const daily = scheduled("daily", "0 22 * * *", "1h");
const hourly = scheduled("hourly", "0 * * * *", "10m");
const clocked = (expression: string): GateSpec => ({ name: "clocked", expression });
const allowAfter = (after: string): Partial<RuleSpec> => ({ deadline: { after, onExpiry: "Allow" } });

const foreseen = (policies: PolicyObject[], over: Partial<World> = {}, from = NOW): Date | undefined =>
  forecast(policies.map(compiled), world(over), DELETE, from);

describe("time alone releases", () => {
  const cases: Record<string, { policies: PolicyObject[]; over?: Partial<World>; want: Date | undefined }> = {
    "at once what nothing holds": { policies: [], want: NOW },
    "nothing that somebody has to approve": { policies: [gated([approval])], want: undefined },
    "a closed window when it opens": { policies: [gated([daily])], want: at("+10h") },
    "two windows when both are open": {
      policies: [gated([window("a", "+1h", "+3h"), window("b", "+2h", "+4h")])],
      want: at("+2h"),
    },
    "never two windows that do not meet": {
      policies: [gated([window("a", "+1h", "+2h"), window("b", "+2h", "+3h")])],
      want: undefined,
    },
    "nothing once the last window has passed": {
      policies: [gated([window("a", "-2h", "-1h")])],
      want: undefined,
    },
    "a wait when it has passed": { policies: [gated([wait("90m")])], want: at("+90m") },
    "a wait that begins with a window, if the window is long enough": {
      policies: [gated([window("a", "+1h", "+2h"), wait("30m")])],
      want: at("+90m"),
    },
    "no wait that outlasts its window": {
      policies: [gated([window("a", "+1h", "+2h"), wait("61m")])],
      want: undefined,
    },
    "what a deadline releases, whoever would have to approve": {
      policies: [gated([approval], allowAfter("3h"))],
      want: at("+3h"),
    },
    "nothing by a deadline that keeps blocking": {
      policies: [gated([approval], { deadline: { after: "3h", onExpiry: "KeepBlocking" } })],
      want: undefined,
    },
    "nothing by a deadline where a gate cannot be evaluated": {
      policies: [gated([{ name: "n", label: { key: "a", from: "Namespace" } }], allowAfter("3h"))],
      over: { namespace: undefined },
      want: undefined,
    },
    "all rules and policies when the last one does": {
      policies: [
        hookPolicy({
          rules: [rule({ until: [window("a", "+1h", "+9h")] }), rule({ name: "b", until: [wait("2h")] })],
        }),
        hookPolicy(
          { rules: [rule({ until: [window("c", "+3h", "+9h")] })] },
          { name: "other", uid: "other" },
        ),
      ],
      want: at("+3h"),
    },
    "a deadline that begins when another rule's window closes": {
      policies: [
        hookPolicy({
          rules: [
            rule({ until: [window("a", "-1h", "+1h")], ...allowAfter("1h") }),
            rule({ name: "b", until: [window("b", "+90m", "+9h")] }),
          ],
        }),
      ],
      want: at("+2h"),
    },
    "nothing that only an expression with the clock knows": {
      policies: [gated([clocked("now > timestamp('2026-11-21T13:00:00Z')")])],
      want: undefined,
    },
    "a window beside an expression with the clock that is true by then": {
      policies: [gated([clocked("now < timestamp('2026-11-22T00:00:00Z')"), daily])],
      want: at("+10h"),
    },
    "nothing that is not evaluable": {
      policies: [gated([{ name: "e", expression: "cluster.metadata.labels['a'] == 'b'" }])],
      want: undefined,
    },
    "what Audit policies would hold at once: they hold nothing": {
      policies: [
        { ...gated([approval]), spec: { ...gated([approval]).spec, mode: "Audit" } } as PolicyObject,
      ],
      want: NOW,
    },
    "at once what is overridden": {
      policies: [gated([approval])],
      over: { overrides: [override()] },
      want: NOW,
    },
    "after any number of edges that cannot help": {
      policies: [gated([approval, hourly], allowAfter("720h"))],
      want: at("+30d"),
    },
  };
  for (const [name, { policies, over, want }] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(foreseen(policies, over), want));
  }

  test("from what is remembered of the operation", () => {
    const policies = [gated([approval, wait("1h")], allowAfter("5h"))];
    const operation = new Operation(policies);
    operation.at(NOW);
    assert.deepEqual(foreseen(policies, { state: operation.state! }, at("+1h")), at("+5h"));
    const approved = { cluster: cluster({ annotations: { [APPROVED]: "" } }) };
    operation.at(at("+1h"), approved);
    assert.deepEqual(foreseen(policies, { state: operation.state!, ...approved }, at("+90m")), at("+2h"));
  });
});

test("windows that never meet are given up in the end", () => {
  const odd = scheduled("odd", "0 1-23/2 * * *", "1h");
  const even = scheduled("even", "0 0-22/2 * * *", "1h");
  assert.equal(foreseen([gated([odd, even, wait("1h")])]), undefined);
});

/** In steps of a quarter of an hour. */
const QUARTER = 900_000;
const HORIZON = 40;
const quarters = (n: number): Date => new Date(NOW.getTime() + n * QUARTER);
const anyPeriod = fc
  .tuple(fc.integer({ min: -4, max: 30 }), fc.integer({ min: 1, max: 12 }))
  .map(([start, length]) => ({
    from: quarters(start).toISOString(),
    to: quarters(start + length).toISOString(),
  }));
const periods = fc.array(anyPeriod, { minLength: 1, maxLength: 3 });
const minutes = fc.integer({ min: 1, max: 12 }).map((n) => `${n * 15}m`);
const anyGate: fc.Arbitrary<Omit<GateSpec, "name">> = fc.oneof(
  { weight: 4, arbitrary: periods.map((allow) => ({ window: { allow } })) },
  { weight: 1, arbitrary: periods.map((deny) => ({ window: { deny } })) },
  { weight: 2, arbitrary: minutes.map((duration) => ({ wait: { duration } })) },
  { weight: 1, arbitrary: fc.constant({ annotation: { key: APPROVED } }) },
  {
    weight: 1,
    arbitrary: fc.tuple(periods, periods).map(([a, b]) => ({
      anyOf: [
        { name: "a", window: { allow: a } },
        { name: "b", window: { deny: b } },
      ],
    })),
  },
);
const anyRule = fc
  .record(
    {
      until: fc.array(anyGate, { minLength: 1, maxLength: 3 }),
      deadline: fc.record({ after: minutes, onExpiry: fc.constantFrom("Allow", "KeepBlocking") }),
    },
    { requiredKeys: ["until"] },
  )
  .map(({ until, deadline }) => ({
    until: until.map((gate, n) => ({ name: `g${n}`, ...gate })),
    ...(deadline && { deadline }),
  }));
const anyPolicies = fc
  .array(fc.array(anyRule, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 })
  .map((policies) =>
    policies.map((rules, p) =>
      hookPolicy(
        { rules: rules.map((each, n) => rule({ name: `r${n}`, ...each })) },
        { name: `p${p}`, uid: `p${p}` },
      ),
    ),
  );

test("what is foreseen is what happens when the operation is watched", () => {
  fc.assert(
    fc.property(anyPolicies, fc.integer({ min: 0, max: 8 }), (policies, start) => {
      const operation = new Operation(policies);
      for (let n = 0; n < start; n += 1) operation.at(quarters(n));
      const state = operation.state === undefined ? {} : { state: operation.state };
      const foretold = foreseen(policies, state, quarters(start));
      const steps = Array.from({ length: HORIZON + 20 }, (_, n) => quarters(start + n));
      const released = steps.find((now) => !operation.at(now).holds);
      assert.deepEqual(foretold, released);
    }),
    runs(300),
  );
});
