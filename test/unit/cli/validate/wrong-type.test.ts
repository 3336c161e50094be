/** A wrong type in a known field: what to write there. */

import assert from "node:assert/strict";
import test from "node:test";
import { checkSuite } from "../../../../src/cli/suite/suite-check.ts";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";
import { type Kind, validatePolicy } from "../../../../src/policy/validation/schema.ts";

test("a suite says of a number of hours that it needs a unit, and nothing of quotes alone", () => {
  const suite = {
    apiVersion: "cli.hookpolicy.dev/v1alpha1",
    kind: "HookPolicyTest",
    metadata: { name: "s" },
    spec: { at: "2026-11-25T12:00:00Z", policies: ["p.yaml"], clusters: ["c.yaml"], steps: [{ advance: 3 }] },
  };
  const checked = checkSuite(suite);
  assert.deepEqual("errors" in checked && checked.errors, [
    {
      path: "spec.steps[0].advance",
      message: 'found the number 3, expected a duration such as "90s", "1h30m" or "168h"',
    },
  ]);
});

const RULE = "spec.rules[0]";
const DURATION = 'expected hours, minutes and seconds in quotes, such as "168h" for 7 days, "1h30m" or "90s"';
const LIST = 'expected a list: begin each item with "- "';
const OF_POLICIES: readonly (readonly [path: string, value: unknown, says: string])[] = [
  [`${RULE}.retryAfterSeconds`, "30", 'found "30", expected an integer: write it without quotes'],
  [`${RULE}.retryAfterSeconds`, ["30"], "found a list, expected an integer"],
  [`${RULE}.deadline.after`, 60, `found the number 60, ${DURATION}`],
  [`${RULE}.deadline.after`, "3d", '"3d" is not a duration: write hours, minutes and seconds, such as'],
  [`${RULE}.hooks`, "BeforeClusterDelete", `found "BeforeClusterDelete", ${LIST}`],
  [`${RULE}.until`, { name: "a" }, `found an object, ${LIST}`],
  [`${RULE}.until[0].annotation`, "a.b/c", "expected an object with the fields key, from, value, valueFrom"],
  [`${RULE}.until[0].object.absent`, "true", 'found "true", expected true: write it without quotes'],
  ["spec.clusterSelector.matchLabels", "tier=production", "expected an object"],
  [`${RULE}.message`, ["ask"], "found a list, expected a string"],
  [`${RULE}.message`, 3, "found the number 3, expected a string: write it in quotes"],
  [`${RULE}.until[0].annotation.valueFrom`, {}, "expected one of ClusterName, ClusterUID, TargetVersion"],
  [`${RULE}.until[0].annotation.valueFrom`, 3, "expected one of ClusterName, ClusterUID, TargetVersion"],
];
const OF_ROLLOUTS: typeof OF_POLICIES = [
  ["spec.progressDeadline", 24, DURATION],
  ["spec.maxConcurrency", true, "expected a whole number without quotes, or a percentage"],
];

/** An object with the value at the path. */
function objectWith(kind: Kind, path: string, value: unknown): object {
  const steps = path.replaceAll("[0]", ".0").split(".");
  const below = steps.reduceRight<unknown>((at, step) => (step === "0" ? [at] : { [step]: at }), value);
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind,
    metadata: { name: "a", namespace: "b" },
    ...Object(below),
  };
}

for (const [kind, cases] of [
  ["HookPolicy", OF_POLICIES],
  ["HookRollout", OF_ROLLOUTS],
] as const) {
  for (const [path, value, says] of cases) {
    test(`${kind} ${path}: ${JSON.stringify(value)} ${says}`, () => {
      const own = validatePolicy(kind, objectWith(kind, path, value)).filter((each) => each.path === path);
      assert.equal(own.length, 1, JSON.stringify(own));
      assert.ok(own[0]?.message.includes(says), own[0]?.message);
    });
  }
}

test("a number that is too large for its format is not told of forms", () => {
  const path = `${RULE}.until[0].object.minCount`;
  const messages = validatePolicy("HookPolicy", objectWith("HookPolicy", path, 3_000_000_000))
    .filter((each) => each.path === path)
    .map(({ message }) => message);
  assert.deepEqual(messages.toSorted(), [
    "found the number 3000000000, expected at most 1000",
    'must match format "int32"',
  ]);
});

const SUGGESTED: readonly (readonly [rule: object, message: RegExp, suggestion: string])[] = [
  [
    { hooks: "BeforeDelete" },
    /^found "BeforeDelete", expected a list$/,
    "write a list: [BeforeClusterDelete]",
  ],
  [{ until: {} }, /^found an object, expected a list$/, 'begin each item with "- "'],
  [{ retryAfterSeconds: "30" }, /^found "30", expected an integer$/, "write it without quotes"],
  [{ deadline: { after: "3d" } }, /^"3d" is not a duration: /, "write 72h"],
  [{ deadline: { after: 15 } }, /^found the number 15, expected hours/, "write its unit: 15s, 15m or 15h"],
];

for (const [rule, message, suggestion] of SUGGESTED) {
  test(`validate suggests for ${JSON.stringify(rule)}: ${suggestion}`, async (t) => {
    const policy = objectWith("HookPolicy", RULE, {
      name: "r",
      hooks: ["BeforeClusterDelete"],
      until: [],
      ...rule,
    });
    const cwd = await folder(t, { "p.yaml": JSON.stringify(policy) });
    const { stdout } = await hookpolicy(["validate", "p.yaml", "-o", "json"], { cwd });
    const { findings } = JSON.parse(stdout) as {
      findings: readonly { readonly message: string; readonly suggestion?: string }[];
    };
    const found = findings.find((each) => message.test(each.message));
    assert.equal(found?.suggestion, suggestion, stdout);
  });
}
