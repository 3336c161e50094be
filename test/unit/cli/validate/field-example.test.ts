/** A wrong type in a known field: what to write there, in a form that fits. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { parse } from "yaml";
import type { CrdSchema } from "../../../../src/api/crd-schema.ts";
import { CRD_SCHEMAS } from "../../../../src/api/crd-schemas.ts";
import { toType } from "../../../../src/cli/validate/suggestion.ts";
import { checkSuite } from "../../../../src/cli/suite/suite-check.ts";
import { SUITE_SCHEMA } from "../../../../src/cli/suite/suite-schema.ts";
import { fits } from "../../../../src/policy/validation/schema.ts";
import { wrongType } from "../../../../src/policy/validation/field-message.ts";

const RULE = "spec.rules[0]";
const GATE = `${RULE}.until[0]`;
const APPROVED = "annotation: { key: example.com/approved, valueFrom: ClusterUID }";
const CASES: readonly (readonly [path: string, schema: CrdSchema["type"], value: unknown, text: string])[] = [
  ["spec.clusterRef", "object", "team-a/prod-1", "write a map, such as { namespace: team-a, name: prod-1 }"],
  [
    `${GATE}.window`,
    "object",
    "0 22 * * FRI",
    'write a map, such as { allow: [{ schedule: "0 22 * * FRI", duration: "8h" }] }',
  ],
  [
    `${GATE}.object`,
    "object",
    "Backup",
    "write a map, such as { apiVersion: velero.io/v1, kind: Backup, nameExpression: cluster.metadata.name }",
  ],
  [
    `${RULE}.matchConditions[0]`,
    "object",
    "cluster.spec.paused",
    "write a map, such as { name: which, expression: cluster.spec.paused }",
  ],
  [`${RULE}.deadline`, "object", "3h", 'write a map, such as { after: "3h", onExpiry: KeepBlocking }'],
  [GATE, "object", "ok", `write a map, such as { name: ok, ${APPROVED} }`],
  [`${RULE}.until[0].anyOf[1]`, "object", null, `write a map, such as { name: approved, ${APPROVED} }`],
  [
    "spec.clusterSelector",
    "object",
    "tier=production",
    "write a map, such as { matchLabels: { tier: production } }",
  ],
  [`${RULE}.message`, "string", ["ask"], "write one text: ask"],
  [`${GATE}.expression`, "string", { a: "b" }, `write one text, such as "cluster.metadata.name == 'prod-1'"`],
];

for (const [path, type, value, text] of CASES) {
  test(`${path}: ${JSON.stringify(value)} gives ${text}`, () => {
    assert.equal(toType({ type }, value, path), text);
  });
}

test("a suite says of a number of hours that its unit is missing, and nothing of quotes", () => {
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
      message: "found the number 3, expected a string; write its unit: 3s, 3m or 3h",
    },
  ]);
});

interface Field {
  readonly path: string;
  readonly schema: CrdSchema;
}

function fieldsBelow(schema: CrdSchema | undefined, path: string): readonly Field[] {
  if (schema === undefined) return [];
  return [
    { path, schema },
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
      fieldsBelow(each, `${path}.${name}`),
    ),
    ...fieldsBelow(schema.items, `${path}[0]`),
  ];
}

const VALUES = ["soon", ["soon"], ["a", "b"], { some: "thing" }, [{ some: "thing" }], 3, true, null];

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has no other keywords that are read here
const SUITE = SUITE_SCHEMA as unknown as CrdSchema;
const ROOTS = Object.entries({ ...CRD_SCHEMAS, HookPolicyTest: SUITE });

for (const [kind, root] of ROOTS) {
  describe(`of each field of a ${kind} that has a value of another type,`, () => {
    const fields = fieldsBelow(root.properties?.["spec"], "spec");

    test("it is said what to write", () => {
      const silent = fields.flatMap((field) =>
        VALUES.filter((value) => isWrong(field, value))
          .filter(
            (value) => toType(field.schema, value, field.path) === undefined && !isForQuotes(field, value),
          )
          .map((value) => `${field.path}: ${JSON.stringify(value)}`),
      );
      assert.deepEqual(silent, []);
    });

    test("what it says has the right type", () => {
      const wrong = fields.flatMap(({ path, schema }) =>
        VALUES.flatMap((value) => {
          const text = toType(schema, value, path) ?? "";
          const [, example] = /^write (?:a|one) (?:map|list|text), such as (.*)$/.exec(text) ?? [];
          return example === undefined || isLoose(schema) || fits(schema, parse(example))
            ? []
            : [`${path}: ${text}`];
        }),
      );
      assert.deepEqual([...new Set(wrong)], []);
    });
  });
}

/** Other wrong values have the form of the field: their words are told by the message. */
function isWrong({ schema: { type } }: Field, value: unknown): boolean {
  const is = Array.isArray(value)
    ? "array"
    : value === null
      ? "null"
      : typeof value === "number"
        ? "integer"
        : typeof value;
  return typeof type === "string" && type !== is;
}

/** It takes any object, or a number that need not be whole. */
function isLoose(schema: CrdSchema): boolean {
  const { items = schema } = schema;
  return items.properties === undefined || JSON.stringify(items).includes('"number"');
}

function isForQuotes({ schema }: Field, value: unknown): boolean {
  return schema.type === "string" && wrongType(value, "string").includes("write it in quotes");
}
