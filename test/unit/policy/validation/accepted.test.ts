/** Warnings that a policy's author accepts, by rule and warning. */

import assert from "node:assert/strict";
import test from "node:test";
import { acceptWarnings } from "../../../../src/policy/validation/accepted.ts";
import type { FieldError } from "../../../../src/policy/validation/schema.ts";

const RULES = [{ name: "a" }, { name: "b" }];
const approval: FieldError = {
  path: "spec.rules[0].until[0].annotation",
  id: "unbound-approval",
  message: "m",
};
const upgrade: FieldError = { path: "spec.rules[1].hooks[0]", id: "mid-upgrade", message: "n" };

const accept = (text: unknown, warnings = [approval, upgrade], rules: readonly unknown[] = RULES) => {
  const { left, unused } = acceptWarnings({ "hookpolicy.dev/accept": text }, rules, warnings);
  return { left, unused: unused.map(({ id, message }) => `${id}: ${message}`) };
};

test("an accepted warning is left out, and the others stay", () => {
  assert.deepEqual(accept("a/unbound-approval"), { left: [upgrade], unused: [] });
  assert.deepEqual(accept(" b/mid-upgrade ,a/unbound-approval"), { left: [], unused: [] });
});

test("a warning of another rule, or another warning of the rule, is not accepted with it", () => {
  const { left, unused } = accept("b/unbound-approval, a/mid-upgrade");
  assert.deepEqual(left, [approval, upgrade]);
  assert.equal(unused.length, 2);
});

test("what accepts nothing is a warning, and says what may be meant", () => {
  assert.deepEqual(accept("a/unbound-aproval").unused, [
    'unused-accept: "a/unbound-aproval" accepts no warning of this policy: remove it, or write RULE/WARNING, separated by commas; did you mean "a/unbound-approval"?',
  ]);
  assert.deepEqual(accept("a/unbound-approval", []).unused.length, 1);
  for (const text of ["", "mid-upgrade", "a/b/c", "a/", "a/unbound-approval,"])
    assert.match(accept(text).unused.at(-1) ?? "", /write RULE\/WARNING, separated by commas/, text);
});

test("what only time causes can be accepted before it does: a window that has passed, an override that has expired", () => {
  for (const text of ["a/deny-has-passed", "a/window-never-opens", "override-expired"])
    assert.deepEqual(accept(text, []).unused, [], text);
  const expired: FieldError = { path: "spec.expiresAt", id: "override-expired", message: "m" };
  assert.deepEqual(accept("override-expired", [expired], []), { left: [], unused: [] });
});

test("nothing is accepted without the annotation, or by one that is no text", () => {
  const warnings = [approval, upgrade];
  for (const annotations of [undefined, null, "a/unbound-approval", [], {}, { accept: "a/unbound-approval" }])
    assert.deepEqual(acceptWarnings(annotations, RULES, warnings), { left: warnings, unused: [] });
  assert.deepEqual(accept({ a: 1 }), { left: warnings, unused: [] });
});

test("a warning without an id, or about no rule with a name, cannot be accepted", () => {
  const { id: _, ...nameless } = approval;
  assert.deepEqual(accept("a/unbound-approval", [nameless]).left, [nameless]);
  assert.deepEqual(accept("a/unbound-approval", [approval], [{}, null]).left, [approval]);
  assert.deepEqual(accept("/x", [{ path: "spec", id: "x", message: "" }]).left.length, 1);
});

test("a warning of a rollout is accepted by stage and warning, or by the warning alone", () => {
  const stages = [{ name: "canary" }];
  const inStage: FieldError = { path: "spec.stages[0].maxConcurrency", id: "nothing-begins", message: "m" };
  const whole: FieldError = { path: "spec.maxConcurrency", id: "nothing-begins", message: "n" };
  const acceptIn = (text: string) => {
    const annotations = { "hookpolicy.dev/accept": text };
    const { left, unused } = acceptWarnings(annotations, stages, [inStage, whole], "stages");
    return { left, unused: unused.map(({ message }) => message) };
  };
  assert.deepEqual(acceptIn("nothing-begins"), { left: [inStage], unused: [] });
  assert.deepEqual(acceptIn("canary/nothing-begins"), { left: [whole], unused: [] });
  assert.deepEqual(acceptIn("nothing-begin").unused, [
    '"nothing-begin" accepts no warning of this rollout: remove it, or write STAGE/WARNING or WARNING, separated by commas; did you mean "nothing-begins"?',
  ]);
  assert.match(acceptIn("a/b/c").unused[0] ?? "", /write STAGE\/WARNING or WARNING/);
});

test("a warning that needs another object is not called unused where that is missing", () => {
  assert.deepEqual(accept("a/kept-slot, b/kept-slot", []).unused, []);
  assert.equal(accept("a/kept-slots", []).unused.length, 1);
});
