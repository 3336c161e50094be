/** What authors learn about `admission` before they apply a rule. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookPolicySpec, RuleSpec } from "../../../../src/api/hook-policy.ts";
import { checkRules } from "../../../../src/policy/validation/semantics.ts";
import { validatePolicy } from "../../../../src/policy/validation/schema.ts";
import { APPROVED, hookPolicy, rule } from "../../builders.ts";

const uid: RuleSpec["until"] = [{ name: "approved", annotation: { key: APPROVED, valueFrom: "ClusterUID" } }];
const wait: RuleSpec["until"] = [{ name: "soak", wait: { duration: "1h" } }];
const deadline = { after: "72h", onExpiry: "Allow" } as const;

describe("a warning says that", () => {
  const cases: Record<string, { over: Partial<RuleSpec>; warns: readonly string[] }> = {
    "a deadline does not end a refusal": {
      over: { admission: "Deny", deadline },
      warns: ["spec.rules[0].deadline.onExpiry deadline-not-at-admission"],
    },
    "no new Cluster can carry its uid": {
      over: { admission: "Warn", hooks: ["BeforeClusterCreate"], until: uid },
      warns: ["spec.rules[0].until[0].annotation.valueFrom uid-before-creation"],
    },
    "nothing is wrong with a deadline beside a warning": { over: { admission: "Warn", deadline }, warns: [] },
    "nothing is wrong with a deadline that keeps blocking": {
      over: { admission: "Deny", deadline: { after: "72h", onExpiry: "KeepBlocking" } },
      warns: [],
    },
    "nothing is wrong with the uid of a Cluster that exists": {
      over: { admission: "Deny", until: uid },
      warns: [],
    },
    "nothing is wrong where admission is None": {
      over: { admission: "None", hooks: ["BeforeClusterCreate"], until: uid, deadline },
      warns: [],
    },
  };
  for (const [name, { over, warns }] of Object.entries(cases)) {
    test(name, () => {
      const found = checkRules([rule(over)], []).warnings.map(({ path, id }) => `${path} ${id}`);
      assert.deepEqual(
        found.filter((each) => /deadline-not-at-admission|uid-before-creation/.test(each)),
        warns,
      );
    });
  }
});

describe("the CRD refuses admission", () => {
  const refuses: Record<string, { over: Partial<RuleSpec>; says: RegExp }> = {
    "on a rule without a gate": {
      over: { admission: "Warn", until: undefined as never },
      says: /other than wait/,
    },
    "on a rule with nothing but wait": { over: { admission: "Deny", until: wait }, says: /other than wait/ },
    "on hooks that no request of a user leads to": {
      over: { admission: "Deny", hooks: ["AfterClusterUpgrade"] },
      says: /the rule has none of them/,
    },
    "of another value": { over: { admission: "Refuse" as "Deny" }, says: /Deny/ },
  };
  for (const [name, { over, says }] of Object.entries(refuses)) {
    test(name, () => {
      const [first, ...others] = errorsOf([rule(over)]);
      assert.match(first ?? "", says);
      assert.deepEqual(others, []);
    });
  }

  test("and admits it beside a wait, and None anywhere", () => {
    const waits = rule({ name: "waits", admission: "Deny", until: [...(uid ?? []), ...(wait ?? [])] });
    assert.deepEqual(errorsOf([waits, rule({ admission: "None", until: wait })]), []);
  });
});

function errorsOf(rules: HookPolicySpec["rules"]): string[] {
  const stored: typeof rules = JSON.parse(JSON.stringify(rules));
  return validatePolicy("HookPolicy", hookPolicy({ rules: stored })).map(
    ({ path, message }) => `${path}: ${message}`,
  );
}
