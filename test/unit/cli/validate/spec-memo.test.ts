/** A spec that was seen before gives the same findings; what is around it is checked for each object. */

import assert from "node:assert/strict";
import test from "node:test";
import { SpecMemo } from "../../../../src/cli/validate/spec-memo.ts";
import type { FieldError } from "../../../../src/policy/validation/schema.ts";

const policy = (
  metadata: object,
  retryAfterSeconds: unknown,
  kind = "HookPolicy",
): Record<string, unknown> => ({
  apiVersion: "hookpolicy.dev/v1alpha1",
  kind,
  metadata,
  spec: { rules: [{ name: "a", hooks: ["BeforeClusterDelete"], retryAfterSeconds }] },
});

function memo(): (
  object: Record<string, unknown>,
  kind?: "HookPolicy" | "ClusterHookPolicy",
) => readonly string[] {
  const specs = new SpecMemo();
  return (object, kind = "HookPolicy") =>
    specs
      .check(kind, object, (errors: readonly FieldError[]) => ({ errors, warnings: [] }))
      .errors.map(({ path }) => path);
}

const WAIT = "spec.rules[0].retryAfterSeconds";

test("the same spec is checked once, and each object's metadata on its own", () => {
  let checks = 0;
  const specs = new SpecMemo();
  const check = (object: Record<string, unknown>): readonly string[] =>
    specs
      .check("HookPolicy", object, (errors) => {
        checks += 1;
        return { errors, warnings: [] };
      })
      .errors.map(({ path }) => path);
  assert.deepEqual(check(policy({ name: "a" }, 1)), [WAIT]);
  assert.deepEqual(check(policy({ name: "b" }, 1)), [WAIT]);
  assert.deepEqual(check(policy({ name: "B" }, 1)), ["metadata.name", WAIT]);
  assert.deepEqual(check({ ...policy({}, 1), apiVersion: "hookpolicy.dev/v2" }), [
    "apiVersion",
    "metadata.name",
    WAIT,
  ]);
  assert.deepEqual(check({ ...policy({ name: "a" }, 1), speck: 1 }), ["speck", WAIT]);
  assert.equal(checks, 1);
});

test("specs that differ are told apart: by a value, by no number, by the kind", () => {
  const check = memo();
  assert.deepEqual(check(policy({ name: "a" }, 10)), []);
  assert.deepEqual(check(policy({ name: "a" }, 1)), [WAIT]);
  assert.deepEqual(check(policy({ name: "a" }, null)), []);
  assert.deepEqual(check(policy({ name: "a" }, NaN)), [WAIT]);
  assert.deepEqual(check(policy({ name: "a" }, 10, "ClusterHookPolicy"), "ClusterHookPolicy"), [
    "spec.namespaceSelector",
  ]);
});

test("a missing spec is an error", () => {
  const { spec: _, ...object } = policy({ name: "a" }, 10);
  assert.deepEqual(memo()(object), ["spec"]);
});
