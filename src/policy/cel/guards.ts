/** Finds the fields and keys whose presence an expression has checked before it reads them. */

import { callOf, type Expr, identifier, stringLiteral } from "./syntax.ts";

/** Keys of paths that certainly exist; see pathKey(). */
export type Facts = ReadonlySet<string>;

type Segment = string | { readonly variable: string };

/** The same key for a.b and a["b"]; `undefined` for anything but a chain of fields and keys. */
export function pathKey(expr: Expr | undefined): string | undefined {
  const segments = pathSegments(expr);
  return segments && JSON.stringify(segments);
}

function pathSegments(expr: Expr | undefined): readonly Segment[] | undefined {
  const variable = identifier(expr);
  if (variable !== undefined) return [{ variable }];
  if (expr?.exprKind.case === "selectExpr") {
    return extend(expr.exprKind.value.operand, expr.exprKind.value.field);
  }
  const [operand, key] = callOf(expr, "_[_]")?.args ?? [];
  return operand === undefined ? undefined : extend(operand, keySegment(key));
}

function extend(operand: Expr | undefined, segment: Segment | undefined): readonly Segment[] | undefined {
  const before = pathSegments(operand);
  return before === undefined || segment === undefined ? undefined : [...before, segment];
}

function keySegment(key: Expr | undefined): Segment | undefined {
  const variable = identifier(key);
  return variable === undefined ? stringLiteral(key) : { variable };
}

export function keyFact(container: Expr | undefined, key: Expr | undefined): string | undefined {
  const segments = extend(container, keySegment(key));
  return segments && JSON.stringify(segments);
}

/** In a loop over the keys of a map, each of them exists. */
export function iterationFact(container: Expr | undefined, variable: string): string | undefined {
  const segments = extend(container, { variable });
  return segments && JSON.stringify(segments);
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
