/** Validates a HookPolicyTest; release/validators.ts compiles this module. */

import { compiler, sharing } from "../../policy/validation/ajv.ts";
import type { HookPolicyTest } from "./spec.gen.ts";
import { SUITE_SCHEMA } from "./suite-schema.ts";

export const ajv = compiler({ allErrors: true, verbose: true, strictRequired: false, allowUnionTypes: true });

export const isSuite = ajv.compile<HookPolicyTest>({ $id: "isSuite", ...sharing(ajv)(SUITE_SCHEMA) });
