/** docs/expressions.md: its examples compile without a warning, and nothing is left out. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { MAX_STEPS } from "../../../../src/policy/cel/meter.ts";
import { MAX_SOURCE_BYTES } from "../../../../src/policy/cel/syntax.ts";
import { SIGNATURES, type Type, VARIABLES } from "../../../../src/policy/cel/cel-types.ts";
import { compileExpression, type ExpressionUse } from "../../../../src/policy/cel/expression.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../../../docs/expressions.md"), "utf8");

function examples(use: string): string[] {
  const blocks = PAGE.matchAll(new RegExp(`^\`\`\`cel ${use}\n(.*?)^\`\`\``, "gms"));
  return blocks.flatMap(([, text = ""]) => text.trimEnd().split("\n")).toArray();
}

const USES: readonly ExpressionUse[] = ["gate", "objectName", "object"];

for (const use of USES) {
  test(`the examples for ${use} compile, and none is suspicious`, () => {
    assert.ok(examples(use).length > 0);
    for (const source of examples(use)) {
      const { problems, warnings } = compileExpression(source, use);
      assert.deepEqual({ source, problems, warnings }, { source, problems: [], warnings: [] });
    }
  });
}

test("what the page says is refused is refused", () => {
  assert.ok(examples("refused").length > 5);
  for (const source of examples("refused")) {
    assert.equal(compileExpression(source, "gate").problems.length > 0, true, source);
  }
});

test("every example is in a block that is tested", () => {
  const blocks = [...PAGE.matchAll(/^```(.+)$/gm)].map(([, language]) => language);
  assert.deepEqual(new Set(blocks), new Set([...USES, "refused"].map((use) => `cel ${use}`)));
});

test("every function, variable and field is named", () => {
  const named = [...SIGNATURES.keys()].filter((name) => /^\w/.test(name) && !name.startsWith("_"));
  const fields = Object.entries(VARIABLES).flatMap(([name, type]) => [name, ...fieldsOf(type)]);
  const missing = [...named, ...fields].filter((word) => !new RegExp(`\\b${word}\\b`).test(PAGE));
  assert.deepEqual(missing, []);
});

function fieldsOf(type: Type): string[] {
  if (type.kind === "list") return fieldsOf(type.element);
  if (type.kind !== "object") return [];
  return Object.entries(type.fields).flatMap(([name, field]) => [name, ...fieldsOf(field)]);
}

test("the limits are those of the code", () => {
  assert.ok(PAGE.includes(`At most ${MAX_SOURCE_BYTES} bytes`));
  assert.ok(PAGE.includes(`${MAX_STEPS} steps`));
});
