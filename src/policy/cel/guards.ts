/** Finds the fields and keys whose presence an expression has checked before it reads them. */

import { callOf, type Expr, identifier, stringLiteral } from "./syntax.ts";

/** Keys of paths that certainly exist; see pathKey(). */
export type Facts = ReadonlySet<string>;

/** a["b"] for a.b and a["b"]; `undefined` for anything but a chain of fields and keys. */
export function pathKey(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case === "selectExpr") {
    return keyBelow(expr.exprKind.value.operand, JSON.stringify(expr.exprKind.value.field));
  }
  const [container, key] = callOf(expr, "_[_]")?.args ?? [];
  return identifier(expr) ?? keyFact(container, key);
}

function keyFact(container: Expr | undefined, key: Expr | undefined): string | undefined {
  const literal = stringLiteral(key);
  return keyBelow(container, literal === undefined ? identifier(key) : JSON.stringify(literal));
}

/** `part`: a text in quotes, or the name of a variable. */
export function keyBelow(container: Expr | undefined, part: string | undefined): string | undefined {
  const parent = part === undefined ? undefined : pathKey(container);
  return parent && `${parent}[${part}]`;
}

/** The path as users write it. */
export function pathText(expr: Expr | undefined): string {
  const variable = identifier(expr);
  if (variable !== undefined) return variable;
  if (expr?.exprKind.case === "selectExpr") {
    return `${pathText(expr.exprKind.value.operand)}.${expr.exprKind.value.field}`;
  }
  const [operand, key] = callOf(expr, "_[_]")?.args ?? [];
  if (operand === undefined) return "(…)";
  const literal = stringLiteral(key);
  return `${pathText(operand)}[${literal === undefined ? (identifier(key) ?? "…") : JSON.stringify(literal)}]`;
}

/**
 * The facts that follow if the condition is `value`. In doubt there are none, which only causes an unnecessary warning.
 */
export function factsWhen(condition: Expr | undefined, value: boolean): readonly string[] {
  if (isHas(condition)) return value ? known(pathKey(condition)) : [];
  if (condition?.exprKind.case !== "callExpr") return [];
  const { function: name, args } = condition.exprKind.value;
  const [a, b] = args;
  if (name === "!_") return factsWhen(a, !value);
  if (name === "@in") return value ? known(keyFact(b, a)) : [];
  const bothAre = name === "_&&_" ? value : name === "_||_" && !value;
  return bothAre ? [...factsWhen(a, value), ...factsWhen(b, value)] : [];
}

export function isHas(expr: Expr | undefined): boolean {
  return expr?.exprKind.case === "selectExpr" && expr.exprKind.value.testOnly;
}

function known(key: string | undefined): string[] {
  return key === undefined ? [] : [key];
}
