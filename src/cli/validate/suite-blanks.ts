/** Finds expressions that read the finalizers of a Cluster in deletion, because a Cluster of a suite has none. */

import type { RuleSpec } from "../../api/hook-policy.ts";
import { isHas, pathKey } from "../../policy/cel/guards.ts";
import { atPosition, type Expr, findNode, parseExpression } from "../../policy/cel/syntax.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import type { ExpressionField } from "../../policy/cel/expression.ts";
import { expressionsOf } from "../../policy/validation/semantics.ts";

/** For rules without errors. */
export function suiteWarnings(rules: readonly RuleSpec[]): readonly FieldError[] {
  return rules.flatMap((rule, index) =>
    rule.hooks.includes("BeforeClusterDelete")
      ? expressionsOf(rule, `spec.rules[${index}]`).flatMap(expressionWarnings)
      : [],
  );
}

function expressionWarnings({ source, path }: ExpressionField): FieldError[] {
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  const { root, position } = parsed;
  const read = findNode(root, readsFinalizers);
  if (read === undefined) return [];
  const { line, column } = position(read.id) ?? {};
  return [{ path, id: "blank-in-suites", message: `${atPosition(line, column)}${MESSAGE}` }];
}

const MESSAGE =
  "a Cluster has finalizers while its deletion waits, but that of a suite has none until a step patches it, so `hookpolicy test` can say the opposite of what the operator does";

const FINALIZERS = 'cluster["metadata"]["finalizers"]';

/** has() does not count, because a real Cluster always has the list. */
function readsFinalizers(expr: Expr): boolean {
  return !isHas(expr) && pathKey(expr) === FINALIZERS;
}
