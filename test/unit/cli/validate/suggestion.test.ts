/** What to type instead of a value that does not fit. */

import assert from "node:assert/strict";
import test from "node:test";
import { placeOf, suggestionFor } from "../../../../src/cli/validate/suggestion.ts";

const RULE = "spec.rules[0]";
const ALLOW = `${RULE}.until[0].window.allow`;
const CASES: readonly (readonly [path: string, value: unknown, suggestion: string | undefined])[] = [
  [`${RULE}.retryAfterSeconds`, "30", "write 30, without quotes"],
  [`${RULE}.retryAfterSeconds`, "5m", "write 300: the number of seconds"],
  [`${RULE}.retryAfterSeconds`, "soon", "write a number, such as 30"],
  [`${RULE}.deadline.after`, "3d", "write 72h"],
  [`${RULE}.deadline.after`, "1.5h", "write 1h30m"],
  [`${RULE}.deadline.after`, "1.999h", "write 2h"],
  [`${RULE}.deadline.warnBefore`, "2h", undefined],
  [`${RULE}.deadline.after`, "2 weeks", "write 336h"],
  [`${RULE}.deadline.after`, "1h 30min", "write 1h30m"],
  [`${RULE}.deadline.after`, 60, "write its unit: 60s, 60m or 60h"],
  [`${RULE}.deadline.after`, "soon", undefined],
  [`${RULE}.tasks[0].timeout`, 15, "write its unit: 15s, 15m or 15h"],
  [`${RULE}.tasks[0].timeout`, "15", "write its unit: 15s, 15m or 15h"],
  [`${RULE}.deadline.warnBefore`, 60, "write its unit: 60s, 60m or 60h"],
  [`${RULE}.hooks`, "BeforeClusterDelete", "write a list: [BeforeClusterDelete]"],
  [`${RULE}.hooks`, "BeforeDelete", "write a list: [BeforeClusterDelete]"],
  [`${RULE}.hooks`, "Lunch", "write a list: [Lunch]"],
  [`${RULE}.\u00A0message`, "ask", "it has a no-break space (U+00A0): write a space"],
  [`${RULE}.until`, { name: "a" }, 'write a list: begin each item with "- "'],
  [`${RULE}.until[0].annotation`, "a.b/c", "write a map: { key: a.b/c }"],
  [`${RULE}.until[0].wait`, "30m", 'write a map: { duration: "30m" }'],
  [`${RULE}.until[0].annotation`, [{ key: "a" }], 'write a map: leave out "- "'],
  [`${RULE}.until[0].object.absent`, "true", "write true, without quotes"],
  ["spec.clusterSelector.matchLabels", "tier=production", "write a map: { tier: production }"],
  ["spec.clusterSelector.matchLabels", ["tier=yes", "a/b:c"], 'write a map: { tier: "yes", a/b: c }'],
  [`${RULE}.name`, "a\u00A0b", "it has a no-break space (U+00A0): write a space"],
  [`${RULE}.name`, "“a”", `it has curly quotes: write ' or "`],
  [`${RULE}.name`, "A", undefined],
  ["spec.nowhere.at.all", "x", undefined],
  [`${RULE}.name`, { "[object Object]": null }, "render it first, as in helm template … | hookpolicy … -"],
  ["spec.clusterSelector.tier", "production", "write matchLabels: { tier: production }"],
  ["spec.clusterSelector.tier", "yes", 'write matchLabels: { tier: "yes" }'],
  ["spec.clusterSelector.tier", ["production"], undefined],
  ["spec.clusterSelector.labels", { tier: "production" }, "write matchLabels instead of labels"],
  [
    `${RULE}.until[0].annotation.valueFrom`,
    { fieldRef: "metadata.uid" },
    "write one word: ClusterName, ClusterUID, TargetVersion",
  ],
  [`${ALLOW}[0]`, { schedule: "0 1 * * *" }, "add duration: how long it lasts, such as duration: 8h"],
  [`${ALLOW}[0]`, { duration: "8h" }, 'add schedule: when it begins, such as schedule: "0 22 * * FRI"'],
  [`${ALLOW}[0]`, { from: "2026-11-26" }, "add to: its end, such as to: 2026-11-28"],
  [`${ALLOW}[0]`, { to: "2026-11-28" }, "add from: its begin, such as from: 2026-11-26"],
  [`${ALLOW}[0]`, { from: "2026-12-20T18:00" }, "add to: its end, such as to: 2026-12-22"],
  [`${ALLOW}[0]`, { from: "Christmas" }, "add to: its end, such as to: 2026-11-28"],
  [`${ALLOW}[0]`, { schedule: "0 1 * * *", duration: "1h", to: "2026-11-28" }, "remove to"],
  [`${ALLOW}[0]`, { from: "2026-11-26", to: "2026-11-28", duration: "1h" }, "remove duration"],
  [
    `${ALLOW}[0]`,
    { from: "2026-11-26", to: "2026-11-28", schedule: "0 1 * * *", duration: "1h" },
    'write two entries: begin the second one with "- "',
  ],
  [`${ALLOW}[0]`, "0 1 * * *", 'write a map: { schedule: "0 1 * * *", duration: 8h }'],
  [`${ALLOW}[0]`, {}, undefined],
  [`${ALLOW}[0].from`, "26.11.2026", "write 2026-11-26"],
  [`${ALLOW}[0].from`, "6.1.2026 18:00", "write 2026-01-06T18:00"],
  [`${ALLOW}[0].from`, "2026/11/26", "write 2026-11-26"],
  [`${ALLOW}[0].to`, "2026-11-26 18:00", "write 2026-11-26T18:00"],
  [`${ALLOW}[0].to`, "2026-11-31", "there is no such day"],
  [`${ALLOW}[0].to`, "2026-11-31T18:00:00Z", "there is no such day"],
  [`${ALLOW}[0].to`, "tomorrow", undefined],
  [`${ALLOW}[0].to`, "2026-11-26T18:00+01:00", "write 2026-11-26T18:00:00+01:00"],
  [`${ALLOW}[0].to`, "2026-11-26 18:00Z", "write 2026-11-26T18:00:00Z"],
  [`${ALLOW}[0].to`, "2026-11-26T24:00", "hours end with 23, and minutes with 59"],
];

const OF_ROLLOUTS: typeof CASES = [
  ["spec.progressDeadline", "1d", "write 24h"],
  ["spec.stages[0].minSuccessTime", 24, "write its unit: 24s, 24m or 24h"],
  ["spec.stages[0].clusterSelector.wave", "canary", "write matchLabels: { wave: canary }"],
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
  assert.equal(placeOf("HookPolicy", "clusterSelector"), "it belongs in spec");
  assert.equal(placeOf("HookPolicy", "retryAfterSeconds"), "it belongs in spec.rules[]");
  assert.equal(placeOf("HookPolicy", "onExpiry"), "it belongs in spec.rules[].deadline");
  const window = "spec.rules[].until[].window";
  for (const at of ["spec.rules[0].until[2].window", "spec.rules[0].until[2].anyOf[1].window"])
    assert.equal(
      placeOf("HookPolicy", "schedule", `${at}.schedule`),
      `it belongs in ${window}.allow[], or in ${window}.deny[]`,
    );
  assert.equal(placeOf("HookPolicy", "schedule"), undefined);
  assert.match(
    placeOf("HookRollout", "wait", "spec.stages[0].until[0].wait") ?? "",
    /minSuccessTime for that$/,
  );
  assert.equal(placeOf("HookPolicy", "name"), undefined);
  assert.equal(placeOf("HookPolicy", "nowhere"), undefined);
  assert.match(
    placeOf("HookPolicy", "namespace") ?? "",
    /about its own namespace: remove the field, or make it/,
  );
  assert.match(placeOf("HookPolicy", "namespaceSelector") ?? "", /about its own namespace/);
});
