/** A wrong type in a known field: what to write there. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { CrdSchema } from "../../../../src/api/crd-schema.ts";
import { CRD_SCHEMAS } from "../../../../src/api/crd-schemas.ts";
import { toType } from "../../../../src/cli/validate/suggestion.ts";
import { checkSuite } from "../../../../src/cli/suite/suite-check.ts";
import { SUITE_SCHEMA } from "../../../../src/cli/suite/suite-schema.ts";
import { wrongType } from "../../../../src/policy/validation/field-message.ts";

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
  });
}

/** Other wrong values have the form of the field: their words are told by the message. */
function isWrong({ schema: { type } }: Field, value: unknown): boolean {
  const is = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  // What is expected of a number that need not be whole is told by the message.
  if (String(type) === "number") return false;
  return typeof type === "string" && (type === "integer" ? "number" : type) !== is;
}

function isForQuotes({ schema }: Field, value: unknown): boolean {
  return schema.type === "string" && wrongType(value, "string").includes("write it in quotes");
}
