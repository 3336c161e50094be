/** The rules that fit the schema, and their gates with the paths of these. */

import { isWithin } from "../../lib/field-path.ts";
import type { AnyOfGateSpec, RuleSpec } from "../../api/hook-policy.ts";
import type { FieldError } from "./schema.ts";

export interface SoundRule {
  readonly path: string;
  readonly rule: RuleSpec;
}

/** Whether nothing at the path, around it or below it is wrong. */
export function isSound(path: string, errors: readonly FieldError[]): boolean {
  return !errors.some((each) => isWithin(each.path, path) || isWithin(path, each.path));
}

/** `at`: the path of the list. */
export function soundRules(
  rules: readonly RuleSpec[],
  schemaErrors: readonly FieldError[],
  at = "spec.rules",
): readonly SoundRule[] {
  return rules
    .map((rule, index) => ({ path: `${at}[${index}]`, rule }))
    .filter(({ path }) => isSound(path, schemaErrors));
}

export interface GateField {
  readonly gate: AnyOfGateSpec;
  readonly path: string;
}

/** The gates of the rule at the path, each before its members. */
export function gatesOf({ until = [] }: Pick<RuleSpec, "until">, path: string): readonly GateField[] {
  return until.flatMap((gate, index) => {
    const at = `${path}.until[${index}]`;
    const members = (gate.anyOf ?? []).map((member, i) => ({ gate: member, path: `${at}.anyOf[${i}]` }));
    return [{ gate, path: at }, ...members];
  });
}
