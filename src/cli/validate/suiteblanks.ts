/** Finds expressions that read what a Cluster has while its deletion waits, and that of a suite has not. */

import type { RuleSpec } from "../../api/hookpolicy.ts";
import { isHas, pathKey } from "../../policy/cel/guards.ts";
import { type Expr, findNode, parseExpression } from "../../policy/cel/syntax.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { atPosition, expressionsOf } from "../../policy/validation/semantics.ts";

/** For rules without errors. */
export function suiteWarnings(rules: readonly RuleSpec[]): readonly FieldError[] {
  return rules.flatMap((rule, index) =>
    rule.hooks.includes("BeforeClusterDelete")
      ? expressionsOf(rule, `spec.rules[${index}]`).flatMap(expressionWarnings)
      : [],
  );
}

function expressionWarnings({
  source,
  path,
}: {
  readonly source: string;
  readonly path: string;
}): FieldError[] {
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  const { root, position } = parsed.syntax;
  return BLANKS.flatMap(({ field, isRead }) => {
    const read = findNode(root, isRead);
    if (read === undefined) return [];
    const { line, column } = position(read.id) ?? {};
    const message = `a Cluster has ${field} while its deletion waits, but that of a suite has none until a step patches it, so \`hookpolicy test\` can say the opposite of what the operator does`;
    return [{ path, id: "blank-in-suites", message: `${atPosition(line, column)}${message}` }];
  });
}

/**
 * The list is empty in a suite, the time is missing. Without has() a missing field leaves the expression without a result,
 * so that a suite fails; with it, the suite passes on a result that is never that of the operator.
 */
const BLANKS = [
  { field: "a deletionTimestamp", isRead: (expr: Expr) => isHas(expr) && reads(expr, "deletionTimestamp") },
  { field: "finalizers", isRead: (expr: Expr) => !isHas(expr) && reads(expr, "finalizers") },
];

function reads(expr: Expr, field: string): boolean {
  return pathKey(expr) === JSON.stringify([{ variable: "cluster" }, "metadata", field]);
}
