/** The syntax of CEL expressions: parses text to a tree within limits, with the position of each part. */

import { parse } from "@bufbuild/cel";
import { fieldsOf } from "../../lib/fields.ts";
import { byteLength } from "../../lib/truncate.ts";

export type Expr = NonNullable<ReturnType<typeof parse>["expr"]>;
export type ExprOf<Case extends string> = Extract<Expr["exprKind"], { case: Case }>["value"];
export type Comprehension = ExprOf<"comprehensionExpr">;
export type Call = ExprOf<"callExpr">;

/** Both start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export type ParseResult =
  | {
      readonly ok: true;
      readonly root: Expr;
      /** By the id of an expression node. */
      readonly position: (id: bigint) => Position | undefined;
    }
  | { readonly ok: false; readonly message: string; readonly position?: Position };

export const MAX_SOURCE_BYTES = 1024;
/** The parser and the evaluation recurse; expressions in practice are less than ten levels deep. */
const MAX_BRACKETS = 40;
const MAX_DEPTH = 100;

export function parseExpression(source: string): ParseResult {
  const bytes = byteLength(source);
  if (bytes > MAX_SOURCE_BYTES) {
    return fails(`found ${bytes} bytes, expected at most ${MAX_SOURCE_BYTES}: shorten it`);
  }
  if (source.trim() === "") return fails("must not be empty");
  if (bracketDepth(source) > MAX_BRACKETS) return fails(`brackets nest deeper than ${MAX_BRACKETS}`);
  const lines = [0, ...source.matchAll(/\n/g).map(({ index }) => index + 1)];
  try {
    const { expr, sourceInfo } = parse(source);
    if (expr === undefined) return fails("must not be empty");
    if (isDeeperThan(expr, MAX_DEPTH)) return fails(`nests deeper than ${MAX_DEPTH}`);
    const offsets = sourceInfo?.positions ?? {};
    const position = (id: bigint): Position | undefined => positionAt(lines, offsets[id.toString()]);
    return { ok: true, root: expr, position };
  } catch (error) {
    return syntaxError(source, error, lines);
  }
}

function fails(message: string): ParseResult {
  return { ok: false, message };
}

/** An upper bound: brackets in strings count. */
function bracketDepth(source: string): number {
  let depth = 0;
  let deepest = 0;
  for (const letter of source) {
    if ("([{".includes(letter)) deepest = Math.max(deepest, ++depth);
    else if (")]}".includes(letter)) depth--;
  }
  return deepest;
}

function isDeeperThan(expr: Expr, levels: number): boolean {
  return levels === 0 || children(expr).some((child) => isDeeperThan(child, levels - 1));
}

function positionAt(lines: readonly number[], offset: number | undefined): Position | undefined {
  if (offset === undefined) return undefined;
  const line = lines.findLastIndex((start) => start <= offset);
  return { line: line + 1, column: offset - (lines[line] ?? 0) + 1 };
}

/** A place in an expression as one in the text that it is a part of, after `before`. */
export function positionAfter(
  before: string,
  line: number | undefined,
  column: number | undefined,
): [line: number | undefined, column: number | undefined] {
  if (before === "") return [line, column];
  const lines = before.split("\n");
  const last = lines.at(-1) ?? "";
  const [inner = 1, letter = 1] = [line, column];
  return [lines.length + inner - 1, inner === 1 ? last.length + letter : letter];
}

/** The beginning of a message about a place within an expression. */
export function atPosition(line: number | undefined, column: number | undefined): string {
  if (column === undefined) return "";
  return line === undefined || line === 1 ? `column ${column}: ` : `line ${line}, column ${column}: `;
}

/** The direct subexpressions, in textual order where the order matters. */
export function children({ exprKind }: Expr): Expr[] {
  switch (exprKind.case) {
    case "selectExpr":
      return present([exprKind.value.operand]);
    case "callExpr":
      return present([exprKind.value.target, ...exprKind.value.args]);
    case "listExpr":
      return exprKind.value.elements;
    case "structExpr":
      return exprKind.value.entries.flatMap(({ keyKind, value }) =>
        present([keyKind.case === "mapKey" ? keyKind.value : undefined, value]),
      );
    case "comprehensionExpr": {
      const { iterRange, accuInit, loopCondition, loopStep, result } = exprKind.value;
      return present([iterRange, accuInit, loopCondition, loopStep, result]);
    }
    case "constExpr":
    case "identExpr":
    case undefined:
      return [];
  }
}

function present(list: readonly (Expr | undefined)[]): Expr[] {
  return list.filter((expr) => expr !== undefined);
}

export function countNodes(expr: Expr): number {
  return children(expr).reduce((sum, child) => sum + countNodes(child), 1);
}

/** The first node in textual order, a parent before its children. */
export function findNode(expr: Expr, test: (expr: Expr) => boolean): Expr | undefined {
  if (test(expr)) return expr;
  for (const child of children(expr)) {
    const found = findNode(child, test);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function stringLiteral(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}

export function identifier(expr: Expr | undefined): string | undefined {
  return expr?.exprKind.case === "identExpr" ? expr.exprKind.value.name : undefined;
}

export function callOf(expr: Expr | undefined, name: string): Call | undefined {
  return expr?.exprKind.case === "callExpr" && expr.exprKind.value.function === name
    ? expr.exprKind.value
    : undefined;
}

/**
 * Recognizes macros that loop in the parser's expansion. `test` must be a bool; `item`: what map() and filter() collect;
 * absent: the loop returns a bool.
 */
export function readLoop({ accuInit, loopStep }: Comprehension): {
  readonly test: Expr | undefined;
  readonly item: Expr | undefined;
} {
  const choice = callOf(loopStep, "_?_:_")?.args;
  // map() and filter(): acc + [item], or test ? acc + [item] : acc.
  if (accuInit?.exprKind.case === "listExpr") {
    return { test: choice?.[0], item: appended(choice === undefined ? loopStep : choice[1]) };
  }
  // exists_one(): test ? acc + 1 : acc. exists() and all(): acc || test, acc && test.
  const test = choice?.[0] ?? (callOf(loopStep, "_||_") ?? callOf(loopStep, "_&&_"))?.args[1];
  return { test, item: undefined };
}

function appended(sum: Expr | undefined): Expr | undefined {
  const added = callOf(sum, "_+_")?.args[1];
  return added === undefined ? undefined : children(added)[0];
}

/** `strings` and `quote` of strings.quote(x): a function with a dotted name parses like a method. */
export function qualifiedName(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== "selectExpr" || expr.exprKind.value.testOnly) return identifier(expr);
  const parent = qualifiedName(expr.exprKind.value.operand);
  return parent === undefined ? undefined : `${parent}.${expr.exprKind.value.field}`;
}

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/\{\{/, "{{ … }} is a template, render it first"],
  [/[\u2018-\u201F]/, "curly quotes are no quotes, write ' or \""],
  [/[\u00A0\u2000-\u200B\u202F\u3000\uFEFF]/, "there is a no-break or other wide space, write a space"],
  [/(^|[^.\w])namespace\b/, "namespace is a reserved word, the Namespace is namespaceObject"],
  [/\.\?|\[\?/, "optional selection (.?) is not supported, use has()"],
  [/`/, 'fields in backticks are not supported, write ["field"]'],
  [/(^|[^=!<>])=([^=]|$)/, "= is not an operator, write =="],
  [/(^|[^&])&([^&]|$)/, "& is not an operator, write &&"],
  [/(^|[^|])\|([^|]|$)/, "| is not an operator, write ||"],
  [/\b(and|or|not)\b/, "write &&, || and ! instead of and, or and not"],
];

/** The parser's list of expected tokens is mostly irrelevant. Nothing of the expression is repeated: tenants see the message. */
function syntaxError(source: string, error: unknown, lines: readonly number[]): ParseResult {
  const offset = offsetOf(error);
  const bare = source.replaceAll(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, '""');
  const hint = HINTS.find(([pattern]) => pattern.test(bare))?.[1];
  const lone = hint === undefined ? loneMark(source) : undefined;
  const problem = lone?.problem ?? `it cannot be read from here on${hint === undefined ? "" : `; ${hint}`}`;
  const position = positionAt(lines, lone?.offset ?? offset);
  return {
    ok: false,
    message: `not a CEL expression: ${problem}`,
    ...(position !== undefined && { position }),
  };
}

const PAIRS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** A bracket or quote without its other half. */
function loneMark(source: string): { readonly offset: number; readonly problem: string } | undefined {
  const open: { readonly mark: string; readonly offset: number }[] = [];
  for (const { 0: mark, index: offset } of source.matchAll(
    /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[()[\]{}"']/g,
  )) {
    if (mark.length > 1) continue;
    if (mark === '"' || mark === "'") return { offset, problem: `the text has no closing ${mark}` };
    const before = open.at(-1);
    if (PAIRS[mark] !== undefined) open.push({ mark, offset });
    else if (before === undefined) return { offset, problem: `${mark} closes nothing: remove it` };
    else if (PAIRS[before.mark] === mark) open.pop();
    else break;
  }
  const last = open.at(-1);
  return last && { offset: last.offset, problem: `${last.mark} is not closed: write ${PAIRS[last.mark]}` };
}

/** The library's error has `location.start.offset`. */
function offsetOf(error: unknown): number | undefined {
  const { offset } = fieldsOf(fieldsOf(fieldsOf(error)["location"])["start"]);
  return typeof offset === "number" ? offset : undefined;
}
