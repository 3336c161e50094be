/** docs/policy.md: every example is a policy without mistakes, and every field is there. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { parse } from "yaml";
import type { CrdSchema } from "../../src/api/crdschema.ts";
import { CRD_SCHEMAS } from "../../src/api/schemas.gen.ts";
import { compileOverride } from "../../src/policy/override.ts";
import { compiled, hookPolicy, metadata } from "./builders.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/policy.md"), "utf8");
const BLOCKS = [...PAGE.matchAll(/^( *)```yaml\n(.*?)^\1```$/gms)].map(([, indent = "", text = ""]) =>
  parse(text.replaceAll(new RegExp(`^${indent}`, "gm"), "")),
);

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

/** The names of all fields below a schema. */
function fieldsOf({ properties = {}, items }: CrdSchema): string[] {
  const below = Object.entries(properties).flatMap(([name, field]) => [name, ...fieldsOf(field)]);
  return [...below, ...(items === undefined ? [] : fieldsOf(items))];
}

test("every field of the specs is named", () => {
  for (const kind of ["HookPolicy", "ClusterHookPolicy", "HookOverride"] as const) {
    const spec = CRD_SCHEMAS[kind].properties?.["spec"];
    assert.ok(spec !== undefined);
    for (const field of new Set(fieldsOf(spec))) {
      assert.match(PAGE, new RegExp(`\\b${field}\\b`), `${kind}: ${field}`);
    }
  }
});
