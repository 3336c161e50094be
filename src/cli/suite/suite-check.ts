/** Checks a HookPolicyTest against its schema. */

import type { FieldError } from "../../policy/validation/schema.ts";
import { schemaErrors } from "../../policy/validation/schema-errors.ts";
import type { HookPolicyTest } from "./spec.gen.ts";
import { isSuite } from "./suite-validators.ts";

/** Returns the object as a suite, or all errors in the order of the file. */
export function checkSuite(
  object: unknown,
): { readonly suite: HookPolicyTest } | { readonly errors: readonly FieldError[] } {
  if (isSuite(object)) return { suite: object };
  const whole = (isSuite.errors ?? []).filter(({ schemaPath }) => !/(?:anyOf|oneOf)\/\d/.test(schemaPath));
  return { errors: schemaErrors(whole).map(({ path, message }) => ({ path, message })) };
}
