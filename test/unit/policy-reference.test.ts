/** docs/policy.md and docs/rollouts.md: every example is without mistakes, and every field is there. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { parse } from "yaml";
import type { CrdSchema } from "../../src/api/crd-schema.ts";
import { CRD_SCHEMAS } from "../../src/api/crd-schemas.ts";
import { compileOverride } from "../../src/policy/compile-override.ts";
import { checkRollout } from "../../src/policy/validation/rollout-semantics.ts";
import { validatePolicy } from "../../src/policy/validation/schema.ts";
import { compiled, hookPolicy, metadata } from "./builders.ts";

const read = (page: string): string => readFileSync(join(import.meta.dirname, "../../docs", page), "utf8");
const PAGE = read("policy.md");
const ROLLOUTS = read("rollouts.md");
const TASKS = read("tasks.md");
const blocksOf = (page: string): ReturnType<typeof parse>[] =>
  [...page.matchAll(/^( *)```yaml\n(.*?)^\1```$/gms)].map(([, indent = "", text = ""]) =>
    parse(text.replaceAll(new RegExp(`^${indent}`, "gm"), "")),
  );
const BLOCKS = blocksOf(PAGE);

test("every example compiles without an error", () => {
  const policies = BLOCKS.filter((block) => Array.isArray(block) || block.kind?.endsWith("HookPolicy"));
  assert.ok(policies.length > 8, "the examples were found");
  for (const block of policies) {
    const { uid, resourceVersion } = metadata();
    const object = Array.isArray(block)
      ? hookPolicy({ rules: block })
      : { ...block, metadata: { uid, resourceVersion, ...block.metadata } };
    const { errors, notEnforceable } = compiled(object);
    assert.deepEqual([...errors, ...notEnforceable], [], JSON.stringify(block));
  }
});

test("the example of an override is in force", () => {
  const [override] = BLOCKS.filter(({ kind }) => kind === "HookOverride");
  const meta = metadata({ ...override.metadata, creationTimestamp: "2026-11-21T12:00:00Z" });
  assert.equal(compileOverride({ ...override, metadata: meta }, 168 * 3_600_000).problem, undefined);
});

test("every example of a rollout is valid, and none is suspicious", () => {
  const rollouts = blocksOf(ROLLOUTS).filter(({ kind }) => kind === "HookRollout");
  assert.ok(rollouts.length > 1, "the examples were found");
  for (const rollout of rollouts) {
    const errors = validatePolicy("HookRollout", rollout);
    assert.deepEqual(errors, [], rollout.metadata?.name);
    assert.deepEqual(checkRollout(rollout.spec, errors), { errors: [], warnings: [] });
  }
});

/** The names of all fields below a schema. */
function fieldsOf({ properties = {}, items }: CrdSchema): string[] {
  const below = Object.entries(properties).flatMap(([name, field]) => [name, ...fieldsOf(field)]);
  return [...below, ...(items === undefined ? [] : fieldsOf(items))];
}

/** The gates of a stage are those of a rule. */
function withoutGates({ properties = {}, items, ...rest }: CrdSchema): CrdSchema {
  const fields = Object.entries(properties).map(([name, field]): [string, CrdSchema] => [
    name,
    name === "until" ? { type: "array" } : withoutGates(field),
  ]);
  return {
    ...rest,
    properties: Object.fromEntries(fields),
    ...(items !== undefined && { items: withoutGates(items) }),
  };
}

test("every field of a rollout is named", () => {
  const { spec, status } = CRD_SCHEMAS.HookRollout.properties ?? {};
  assert.ok(spec !== undefined && status?.properties !== undefined);
  const shown = Object.keys(status.properties).filter(
    (field) => !["observedGeneration", "target", "stage", "scope"].includes(field),
  );
  for (const field of new Set([...fieldsOf(withoutGates(spec)), ...shown])) {
    assert.match(ROLLOUTS, new RegExp(`\\b${field}\\b`), field);
  }
});

test("every field of the specs is named", () => {
  for (const kind of ["HookPolicy", "ClusterHookPolicy", "HookOverride"] as const) {
    const spec = CRD_SCHEMAS[kind].properties?.["spec"];
    assert.ok(spec !== undefined);
    for (const field of new Set(fieldsOf(spec))) {
      assert.match(PAGE + TASKS, new RegExp(`\\b${field}\\b`), `${kind}: ${field}`);
    }
  }
});
