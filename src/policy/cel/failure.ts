/**
 * Explains why an evaluation has no result, in words that are the same for the same cause: the library's messages
 * contain observed values, which must not reach an answer.
 */

import type { CelError } from "@bufbuild/cel";
import { displayName } from "./calls.ts";
import { VERSION_FUNCTIONS } from "./cel-version.ts";
import { CONVERSIONS } from "./conversion.ts";
import { pathKey, pathText } from "./guards.ts";
import { type Call, callOf, type Expr, findNode, stringLiteral } from "./syntax.ts";
import { FOR_USERS } from "./view.ts";

const MISSING = /^field not found: (?<key>.*)$|^index .* out of bounds/s;

export function describeFailure(error: CelError, root: Expr): string {
  const { message, exprId } = error;
  if (message.startsWith(FOR_USERS)) return message.slice(FOR_USERS.length);
  const expr = exprId === undefined ? undefined : findNode(root, (each) => each.id === exprId);
  const looked = MISSING.exec(message);
  if (looked !== null) return missing(root, exprId, looked.groups?.["key"]);
  return describeCall(message, expr);
}

function describeCall(message: string, expr: Expr | undefined): string {
  const [, types] = /applied to '([^']*)'$/.exec(message) ?? [];
  const call = expr?.exprKind.case === "callExpr" ? expr.exprKind.value : undefined;
  const name = call === undefined ? "the expression" : displayName(call.function);
  if (types !== undefined) return `${valuesOf(call)}${name} does not take ${readable(types, call)}`;
  const [, mismatch] = /^type mismatch: (.*)$/s.exec(message) ?? [];
  if (mismatch !== undefined) return wrongPart(expr, name, readable(mismatch));
  return unreadable(call) ?? `${name} has no result for what it is given`;
}

/** The fields that the call is given. */
function valuesOf(call: Call | undefined): string {
  const values = [call?.target, ...(call?.args ?? [])].filter((value) => pathKey(value) !== undefined);
  return values.length === 0 ? "" : `${values.map(pathText).join(", ")}: `;
}

/** The library's names of types in the words of CEL. */
function readable(types: string, call?: Call): string {
  const words = types
    .replaceAll("google.protobuf.Timestamp", "timestamp")
    .replaceAll("google.protobuf.Duration", "duration")
    .replaceAll(/(list|map)\([^()]*\)/g, "$1");
  return call !== undefined && VERSION_FUNCTIONS.includes(call.function)
    ? words.replaceAll("map", "semver")
    : words;
}

/** The library reports "expected bool, got string" for a side of && or ||, and "iterable vs int" for a loop. */
function wrongPart(expr: Expr | undefined, name: string, mismatch: string): string {
  const { wanted, got } =
    /^(?:expected )?(?<wanted>\w+)(?:, got | vs )(?<got>[\w.]+)$/.exec(mismatch)?.groups ?? {};
  if (wanted === undefined || got === undefined) return `${name}: ${mismatch}`;
  const hint = got === "string" ? ': compare it, as in … == "true"' : "";
  if (wanted !== "iterable") return `one side of ${name} is ${got}, expected ${wanted}${hint}`;
  const range = expr?.exprKind.case === "comprehensionExpr" ? expr.exprKind.value.iterRange : undefined;
  return `${pathText(range)} is ${got}, expected a list or a map to go through`;
}

/** A conversion of text whose form is wrong. */
function unreadable(call: Call | undefined): string | undefined {
  const wanted = call && CONVERSIONS[call.function]?.form;
  const [arg] = call?.args ?? [];
  if (wanted === undefined || pathKey(arg) === undefined) return undefined;
  return `${call?.function}() cannot read ${pathText(arg)}, expected ${wanted}`;
}

/** For a field the library reports the selection, for a key only the start of the chain of selections. */
function missing(root: Expr, id: bigint | undefined, key: string | undefined): string {
  const field = findNode(root, (each) => each.id === id && each.exprKind.case === "selectExpr");
  if (field?.exprKind.case === "selectExpr" && field.exprKind.value.field === key) {
    const { operand } = field.exprKind.value;
    return `${pathText(operand)} has no field ${JSON.stringify(key)}`;
  }
  const ofChain = (each: Expr): boolean => callOf(each, "_[_]") !== undefined && startOfChain(each).id === id;
  const index =
    findNode(root, (each) => ofChain(each) && stringLiteral(keyOf(each)) === key && key !== undefined) ??
    findNode(root, (each) => ofChain(each) && stringLiteral(keyOf(each)) === undefined);
  if (index === undefined) return "a key or element that it looks at is missing";
  const [container] = callOf(index, "_[_]")?.args ?? [];
  const literal = stringLiteral(keyOf(index));
  if (literal === undefined) return `${pathText(container)} lacks a key or element that is looked at`;
  return `${pathText(container)} has no key ${JSON.stringify(literal)}`;
}

function keyOf(index: Expr): Expr | undefined {
  return callOf(index, "_[_]")?.args[1];
}

function startOfChain(expr: Expr): Expr {
  const operand =
    expr.exprKind.case === "selectExpr" ? expr.exprKind.value.operand : callOf(expr, "_[_]")?.args[0];
  return operand === undefined ? expr : startOfChain(operand);
}
