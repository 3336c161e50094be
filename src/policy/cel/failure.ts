/**
 * Explains why an evaluation has no result, in words that are the same for the same cause: the library's messages
 * contain observed values, which must not reach an answer.
 */

import type { CelError } from "@bufbuild/cel";
import { displayName } from "./calls.ts";
import { pathText } from "./guards.ts";
import { callOf, children, type Expr, stringLiteral } from "./syntax.ts";
import { FOR_USERS } from "./view.ts";

export function describeFailure(error: CelError, root: Expr): string {
  const { message, exprId } = error;
  if (message.startsWith(FOR_USERS)) return message.slice(FOR_USERS.length);
  const expr = exprId === undefined ? undefined : find(root, (each) => each.id === exprId);
  const looked = /^field not found: (?<key>.*)$|^index .* out of bounds/s.exec(message);
  if (looked !== null) return missing(root, exprId, looked.groups?.["key"]);
  const types = /applied to '(?<types>.*)'$/s.exec(message)?.groups?.["types"];
  const name =
    expr?.exprKind.case === "callExpr" ? displayName(expr.exprKind.value.function) : "the expression";
  if (types !== undefined) return `${name} does not take ${types}`;
  if (message.startsWith("type mismatch: ")) return `${name}: ${message.slice("type mismatch: ".length)}`;
  return `${name} has no result for what it is given`;
}

/** For a field the library reports the selection, for a key only the start of the chain of selections. */
function missing(root: Expr, id: bigint | undefined, key: string | undefined): string {
  const field = find(root, (each) => each.id === id && each.exprKind.case === "selectExpr");
  if (field?.exprKind.case === "selectExpr" && field.exprKind.value.field === key) {
    const { operand } = field.exprKind.value;
    return `${pathText(operand)} has no field ${JSON.stringify(key)}; ask first, as in has(${pathText(field)}) && …`;
  }
  const ofChain = (each: Expr): boolean => callOf(each, "_[_]") !== undefined && startOfChain(each).id === id;
  const index =
    find(root, (each) => ofChain(each) && stringLiteral(keyOf(each)) === key && key !== undefined) ??
    find(root, (each) => ofChain(each) && stringLiteral(keyOf(each)) === undefined);
  if (index === undefined) return "a key or element that it looks at is missing";
  const [container] = callOf(index, "_[_]")?.args ?? [];
  const literal = stringLiteral(keyOf(index));
  if (literal === undefined) return `${pathText(container)} lacks a key or element that is looked at`;
  return `${pathText(container)} has no key ${JSON.stringify(literal)}; ask first, as in ${JSON.stringify(literal)} in ${pathText(container)} && …`;
}

function keyOf(index: Expr): Expr | undefined {
  return callOf(index, "_[_]")?.args[1];
}

function startOfChain(expr: Expr): Expr {
  const operand =
    expr.exprKind.case === "selectExpr" ? expr.exprKind.value.operand : callOf(expr, "_[_]")?.args[0];
  return operand === undefined ? expr : startOfChain(operand);
}

function find(expr: Expr, test: (expr: Expr) => boolean): Expr | undefined {
  if (test(expr)) return expr;
  for (const child of children(expr)) {
    const result = find(child, test);
    if (result !== undefined) return result;
  }
  return undefined;
}
