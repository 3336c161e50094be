/** Warnings that a policy's author accepts, in the annotation `hookpolicy.dev/accept: rule/warning[, ...]`. */

import { found, nearest } from "./fieldmessage.ts";
import { type FieldError, isWithin } from "./schema.ts";

const ACCEPT = "hookpolicy.dev/accept";

const PATH = `metadata.annotations[${ACCEPT}]`;

export interface Acceptance {
  /** Those that the annotation does not accept. */
  readonly left: readonly FieldError[];
  /** A warning for each part of the annotation that accepts none. */
  readonly unused: readonly FieldError[];
}

/** `warnings`: of these rules, with their ids. The annotation and the rules may be invalid. */
export function acceptWarnings(
  annotations: unknown,
  rules: readonly unknown[],
  warnings: readonly FieldError[],
): Acceptance {
  const accepted = partsOf(annotations);
  const names = warnings.map((warning) => nameOf(warning, rules));
  const unused = [...new Set(accepted)].filter((part) => !names.includes(part));
  return {
    left: warnings.filter((_, index) => !accepted.includes(names[index] ?? "")),
    unused: unused.map((part) => ({ path: PATH, id: "unused-accept", message: describe(part, names) })),
  };
}

function partsOf(annotations: unknown): readonly string[] {
  const text: unknown = fieldOf(annotations, ACCEPT);
  return typeof text === "string" ? text.split(",").map((part) => part.trim()) : [];
}

/** "confirmed-delete/unbound-approval"; "": it cannot be accepted. */
function nameOf({ path, id }: FieldError, rules: readonly unknown[]): string {
  const rule = rules.find((_, index) => isWithin(path, `spec.rules[${index}]`));
  const name = fieldOf(rule, "name");
  return id === undefined || typeof name !== "string" ? "" : `${name}/${id}`;
}

function describe(part: string, names: readonly string[]): string {
  if (!/^[^/]+\/[^/]+$/.test(part)) return `found ${found(part)}, expected RULE/WARNING, separated by commas`;
  const meant = nearest(
    part,
    names.filter((name) => name !== ""),
  );
  const hint = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
  return `${found(part)} accepts no warning of this policy: remove it${hint}`;
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, field)
    ? Reflect.get(value, field)
    : undefined;
}
