/** Gates that nothing makes hold, and a deadline that no wait outlasts. */

import assert from "node:assert/strict";
import test from "node:test";
import type { HookName } from "../../../../src/api/runtime-hooks.ts";
import type { GateSpec, RuleSpec } from "../../../../src/api/hook-policy.ts";
import { contradictions, untilMissing } from "../../../../src/policy/validation/contradictions.ts";
import { rule } from "../../builders.ts";

const wait = (duration: string): GateSpec => ({ name: "soak", wait: { duration } });
const version = (name: string, range: string): GateSpec => ({ name, version: { range } });
const label = (name: string, value: string, from?: "Namespace"): GateSpec => ({
  name,
  label: { key: "tier", value, ...(from !== undefined && { from }) },
});

const CASES: Readonly<
  Record<string, { readonly over: Partial<RuleSpec>; readonly warns: readonly RegExp[] }>
> = {
  "a deadline that releases before a wait has passed": {
    over: { until: [wait("2h")], deadline: { after: "90m", onExpiry: "Allow" } },
    warns: [
      /^deadline\.after deadline-before-wait: the deadline releases the operation before gate soak has waited 2h/,
    ],
  },
  "a deadline as long as a wait": {
    over: { until: [wait("60m")], deadline: { after: "1h", onExpiry: "KeepBlocking" } },
    warns: [/ deadline-before-wait: the deadline passes before gate soak has waited 60m/],
  },
  "a deadline that is longer": {
    over: { until: [wait("30m")], deadline: { after: "1h", onExpiry: "Allow" } },
    warns: [],
  },
  "a range of no version": {
    over: { until: [version("v", ">=1.36.0 <1.35.0")] },
    warns: [/^until\[0\]\.version\.range gate-never-met: the gate is never met: no version lies in/],
  },
  "two ranges without a common version": {
    over: { until: [version("old", "<1.34.0"), version("new", ">=1.35.0")] },
    warns: [/^until\[1\]\.version\.range gate-never-met: .* and in the range of gate old$/],
  },
  "two ranges that overlap": {
    over: { until: [version("a", ">=1.34.0"), version("b", "<1.36.0")] },
    warns: [],
  },
  "two ranges of which one is enough": {
    over: { until: [{ name: "any", anyOf: [version("old", "<1.34.0"), version("new", ">=1.35.0")] }] },
    warns: [],
  },
  "two values of one label": {
    over: { until: [label("a", "x"), label("b", "y")] },
    warns: [
      /^until\[1\]\.label\.value gate-never-met: .*gate a wants another value of the same label, tier$/,
    ],
  },
  "one value of a Cluster and another of its Namespace": {
    over: { until: [label("a", "x"), label("b", "y", "Namespace")] },
    warns: [],
  },
};

for (const [name, { over, warns }] of Object.entries(CASES)) {
  test(`contradictions: ${name}`, () => {
    const told = contradictions(rule(over), "spec.rules[0]").map(
      ({ path, id, message }) => `${path.replace("spec.rules[0].", "")} ${id}: ${message}`,
    );
    assert.equal(told.length, warns.length, told.join("\n"));
    for (const [index, pattern] of warns.entries()) assert.match(told[index] ?? "", pattern);
  });
}

test("a rule without until that has a text for what it holds holds nothing", () => {
  const { until: _, ...observing } = rule();
  const told = (over: Partial<RuleSpec>, ...others: RuleSpec[]): string[] =>
    untilMissing([{ ...observing, ...over }, ...others]).map(
      ({ path, id, message }) => `${path} ${id}: ${message}`,
    );
  assert.match(
    told({ message: "ask" }).join("\n"),
    /^spec\.rules\[0\]\.message until-missing: has no effect, because the rule has no until: it only observes, /,
  );
  assert.match(
    told({ retryAfterSeconds: 60 }).join("\n"),
    /^spec\.rules\[0\]\.retryAfterSeconds until-missing: /,
  );
  const alone =
    "spec.rules[0].hooks until-missing: the rule has no until: it only observes, and holds nothing. Add until, or make a policy in mode Audit of what only observes";
  assert.deepEqual(told({}), [alone]);
  assert.equal(untilMissing([observing], "Enforce").length, 1);
  assert.deepEqual(untilMissing([observing], "Audit"), []);
  assert.deepEqual(told({ message: "ask", hooks: ["AfterControlPlaneInitialized"] }), []);
  const both: HookName[] = ["BeforeClusterCreate", "AfterControlPlaneInitialized"];
  assert.deepEqual(told({ hooks: both }, rule({ name: "holds", until: [wait("2h")] })), []);
  assert.deepEqual(told({}, rule({ name: "holds", until: [wait("2h")] })), [
    "spec.rules[0].hooks until-missing: the rule has no until: it only observes, and holds nothing. Add until, or make a policy in mode Audit of what only observes",
  ]);
  const audited = untilMissing([observing, rule({ name: "holds", until: [wait("2h")] })], "Audit");
  assert.equal(audited.length, 1, "in Audit beside a rule that will hold");
});
