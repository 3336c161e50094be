/** What to type instead of a value that does not fit. */

import assert from "node:assert/strict";
import test from "node:test";
import { fieldPlace, suggestionFor } from "../../../../src/cli/validate/suggestion.ts";

const RULE = "spec.rules[0]";
const CASES: readonly (readonly [path: string, value: unknown, suggestion: string | undefined])[] = [
  [`${RULE}.deadline.after`, "3d", "write 72h"],
  [`${RULE}.deadline.warnBefore`, "2h", undefined],
  [`${RULE}.deadline.after`, "2 weeks", "write 336h"],
  [`${RULE}.deadline.after`, "soon", undefined],
  [`${RULE}.tasks[0].timeout`, 15, "write its unit: 15s, 15m or 15h"],
  [`${RULE}.tasks[0].timeout`, "15", "write its unit: 15s, 15m or 15h"],
  [`${RULE}.tasks[0].create.spec.timeout`, 15, undefined],
  [`${RULE}.hooks`, "BeforeDelete", "write a list: [BeforeClusterDelete]"],
  [`${RULE}.hooks`, "Lunch", "write a list: [Lunch]"],
  [`${RULE}.until`, "a", undefined],
  [`${RULE}.\u00A0message`, "ask", "it has a no-break space (U+00A0): write a space"],
  [`${RULE}.name`, "a\u00A0b", "it has a no-break space (U+00A0): write a space"],
  [`${RULE}.name`, "“a”", `it has curly quotes: write ' or "`],
  [`${RULE}.name`, "A", undefined],
  ["spec.nowhere.at.all", "x", undefined],
  [`${RULE}.name`, { "[object Object]": null }, "render it first, as in helm template … | hookpolicy … -"],
];

const OF_ROLLOUTS: typeof CASES = [
  ["spec.progressDeadline", "1d", "write 24h"],
  ["spec.stages[0].minSuccessTime", 24, "write its unit: 24s, 24m or 24h"],
];

/** An object with the value at the path. */
function objectWith(path: string, value: unknown): unknown {
  const steps = path.replaceAll("[0]", ".0").split(".");
  return steps.reduceRight<unknown>((below, step) => (step === "0" ? [below] : { [step]: below }), value);
}

for (const [kind, cases] of [
  ["HookPolicy", CASES],
  ["HookRollout", OF_ROLLOUTS],
] as const) {
  for (const [path, value, suggestion] of cases) {
    test(`${kind} ${path}: ${JSON.stringify(value)} gives ${suggestion ?? "no suggestion"}`, () => {
      assert.equal(suggestionFor(kind, objectWith(path, value), path), suggestion);
    });
  }
}

test("a field that is elsewhere is told its place", () => {
  assert.equal(fieldPlace("HookPolicy", "clusterSelector"), "it belongs in spec");
  assert.equal(fieldPlace("HookPolicy", "retryAfterSeconds"), "it belongs in spec.rules[]");
  assert.equal(fieldPlace("HookPolicy", "onExpiry"), "it belongs in spec.rules[].deadline");
  assert.equal(
    fieldPlace("HookPolicy", "schedule"),
    "it belongs in spec.rules[].until[].window.allow[], or in spec.rules[].until[].window.deny[]",
  );
  assert.equal(fieldPlace("HookPolicy", "name"), undefined);
  assert.equal(fieldPlace("HookPolicy", "nowhere"), undefined);
  assert.match(
    fieldPlace("HookPolicy", "namespace") ?? "",
    /about its own namespace: remove the field, or make it/,
  );
  assert.match(fieldPlace("HookPolicy", "namespaceSelector") ?? "", /about its own namespace/);
});
