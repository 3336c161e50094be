/** Checks a HookPolicyTest against its schema, and words the errors. */

import type { ErrorObject } from "ajv";
import type { CrdSchema } from "../../api/crd-schema.ts";
import { found } from "../../lib/quoted-value.ts";
import { describeSchemaError } from "../../policy/validation/field-message.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { withoutQuotes } from "../fleet/text-fields.ts";
import { schemaAt, toType } from "../validate/suggestion.ts";
import { pathOf, stepsOf } from "../validate/value-at.ts";
import type { HookPolicyTest } from "./spec.gen.ts";
import { SUITE_SCHEMA } from "./suite-schema.ts";
import { isSuite } from "./suite-validators.ts";

/** Returns the object as a suite, or all errors in the order of the file. */
export function checkSuite(
  object: unknown,
): { readonly suite: HookPolicyTest } | { readonly errors: readonly FieldError[] } {
  if (isSuite(object)) return { suite: object };
  const errors = (isSuite.errors ?? []).filter(
    ({ keyword, schemaPath }) => keyword !== "if" && !/(?:anyOf|oneOf)\/\d/.test(schemaPath),
  );
  const wrongType = new Set(errors.filter(({ keyword }) => keyword === "type").map(pathOf));
  return {
    errors: errors
      .filter((error) => error.keyword === "type" || !wrongType.has(pathOf(error)))
      .map(fieldError),
  };
}

function fieldError(error: ErrorObject): FieldError {
  const [path, message] = [pathOf(error).slice(1), describe(error)];
  const { keyword, data, params } = error;
  const wrongValue = keyword === "format" || (keyword === "type" && !Array.isArray(params["type"]));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has no other keywords that toType() reads
  const schema = schemaAt(SUITE_SCHEMA as unknown as CrdSchema, stepsOf(path));
  const hint = wrongValue && schema !== undefined ? toType(schema, data, path) : undefined;
  return { path, message: hint === undefined ? message : `${withoutQuotes(message)}; ${hint}` };
}

function describe(error: ErrorObject): string {
  const { keyword, data, parentSchema } = error;
  const isWorded = keyword === "format" || keyword === "anyOf" || keyword === "oneOf";
  return isWorded
    ? `found ${found(data)}, expected ${parentSchema?.["x-expected"]}`
    : describeSchemaError(error);
}
