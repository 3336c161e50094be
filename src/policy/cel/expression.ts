/**
 * CEL expressions of policies: compiled once, checked as far as possible without a Cluster, and evaluated within a
 * fixed number of steps.
 */

import { weakMemo } from "../../lib/weak-memo.ts";
import { READS_NOTHING, type RequestField, REQUEST_FIELDS, unknownField } from "../../api/target-version.ts";
import { type CelInput, type CelValue, celType, isCelError, plan } from "@bufbuild/cel";
import { preparedFor } from "./calls.ts";
import { Checker, type ExpressionFinding, type Suspicion } from "./expression-check.ts";
import { environment } from "./environment.ts";
import { describeFailure } from "./failure.ts";
import { isHas, pathKey } from "./guards.ts";
import { jsonOf, scalarText } from "./json-value.ts";
import { type ExpressionResult, instrument, meter, TOO_MANY_STEPS, WORK_STEPS } from "./meter.ts";
import {
  children,
  countNodes,
  type Expr,
  findNode,
  identifier,
  parseExpression,
  type Position,
  stringLiteral,
} from "./syntax.ts";
import { fits, METADATA_FIELDS, type Type, VARIABLES } from "./cel-types.ts";
import { type ExpressionVariables, type VariableName, viewVariable } from "./view.ts";

/** The use of an expression decides which variables it can read and which type it must return. */
export type ExpressionUse =
  | "matchCondition"
  | "gate"
  | "objectName"
  | "object"
  | "health"
  /** Whether a task is needed. */
  | "when"
  /** Whether a task has succeeded or failed. */
  | "outcome"
  /** A value in the template of a task. */
  | "value"
  /** A part of a text there. */
  | "text";

/** An expression in a spec. */
export interface ExpressionField {
  readonly source: string;
  readonly use: ExpressionUse;
  readonly path: string;
  /** What the field has before the expression, which is a part of it. */
  readonly before?: string;
}

/** None where the field is absent. */
export function expressionAt(
  source: string | undefined,
  use: ExpressionUse,
  path: string,
): readonly ExpressionField[] {
  return source === undefined ? [] : [{ source, use, path }];
}

export type ExpressionProblem = Omit<ExpressionFinding, "expr"> & Partial<Position>;

export interface Expression {
  readonly usesNow: boolean;
  /** The parts of the Cluster that the expression reads: two fields deep, or fewer if it reads more at once. */
  readonly clusterPaths: readonly (readonly string[])[];
  /** For use "object": whether the expression reads more than metadata, so that whole objects must be watched. */
  readonly readsWholeObject: boolean;
  /** The fields of `request` that the expression reads or tests with has(). */
  readonly requestFields: ReadonlySet<RequestField>;
  /** Patterns, windows and calendars of its calls. Kept here, because weakMemo() forgets what nothing refers to. */
  readonly prepared: readonly object[];
  /** Never throws; the same variables give the same result, whatever was evaluated before. */
  evaluate(variables: ExpressionVariables): ExpressionResult;
}

export type ExpressionWarning = Omit<Suspicion, "expr"> & Partial<Position>;

export interface CompiledExpression {
  /** Absent if there are problems. */
  readonly expression?: Expression;
  readonly problems: readonly ExpressionProblem[];
  readonly warnings: readonly ExpressionWarning[];
  readonly patternWeight: number;
}

/** The cost of an evaluation for one object of an object gate, which reports one result for all its objects. */
const OBJECT_STEPS = 8;

interface Contract {
  readonly variables: readonly VariableName[];
  readonly result: "bool" | "string" | "json" | "text";
  /** In addition to one step per part of the expression and the cost of its calls. */
  readonly steps?: number;
}

const CONTRACTS: Readonly<Record<ExpressionUse, Contract>> = {
  matchCondition: { variables: ["cluster", "namespaceObject", "request", "now"], result: "bool" },
  gate: { variables: ["cluster", "namespaceObject", "request", "now"], result: "bool" },
  objectName: { variables: ["cluster", "namespaceObject", "request"], result: "string" },
  object: { variables: ["object", "cluster", "request", "now"], result: "bool", steps: OBJECT_STEPS },
  health: { variables: ["cluster"], result: "bool" },
  when: { variables: ["cluster", "namespaceObject", "request"], result: "bool" },
  outcome: { variables: ["object", "cluster", "request"], result: "bool" },
  value: { variables: ["cluster", "namespaceObject", "request"], result: "json" },
  text: { variables: ["cluster", "namespaceObject", "request"], result: "text" },
};

/** For a checked source: if it does not compile after all, the expression is never evaluable. */
export function expressionOrBroken(source: string, use: ExpressionUse): Expression {
  const { expression } = compileExpression(source, use);
  if (expression !== undefined) return expression;
  const nothing = { usesNow: false, readsWholeObject: false, clusterPaths: [], prepared: [] };
  const result = fails("the expression does not compile");
  return { ...nothing, requestFields: READS_NOTHING, evaluate: () => result };
}

/** Never throws. A policy's expressions are compiled twice, to check and to use them: the second costs nothing while the first is kept. */
export function compileExpression(source: string, use: ExpressionUse): CompiledExpression {
  return compiled(`${use} ${source}`);
}

/** Keeps what is remembered while an expression of it is in use, so that equal policies share it. */
const origins = new WeakMap<Expression, CompiledExpression>();

const compiled = weakMemo((key) => {
  const [use = ""] = key.split(" ", 1);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by compileExpression
  const made = compile(key.slice(use.length + 1), use as ExpressionUse);
  if (made.expression !== undefined) origins.set(made.expression, made);
  return made;
});

function compile(source: string, use: ExpressionUse): CompiledExpression {
  const parsed = parseExpression(source);
  if (!parsed.ok)
    return { problems: [{ message: parsed.message, ...parsed.position }], warnings: [], patternWeight: 0 };
  const { root, position } = parsed;
  const contract = CONTRACTS[use];
  const checker = new Checker();
  const scope = Object.fromEntries(contract.variables.map((name) => [name, VARIABLES[name]]));
  const type = checker.check(root, scope);
  const problems = [...checker.problems, ...resultProblem(root, type, contract)].map(
    ({ expr, ...problem }) => ({ ...problem, ...position(expr.id) }),
  );
  const { patternWeight } = checker;
  if (problems.length > 0) return { problems, warnings: [], patternWeight };
  const warnings = [
    ...checker.warnings
      // What an object lacks says that its task is not done yet.
      .filter(({ id, requestField }) => use !== "outcome" || id !== "field-may-be-missing" || requestField)
      .map(({ expr, ...warning }) => ({ ...warning, ...position(expr.id) })),
    ...constantWarning(root, contract),
    ...staleWarning(root, position),
  ];
  return { expression: expressionOf(root, contract), problems, warnings, patternWeight };
}

const NOT_JSON: readonly string[] = ["timestamp", "duration", "bytes", "type", "semver"];
const NOT_TEXT: readonly string[] = [...NOT_JSON, "list", "map", "object", "null_type"];

function resultProblem(root: Expr, type: Type, { result }: Contract): ExpressionFinding[] {
  const { kind } = type;
  const found = (expected: string): ExpressionFinding[] => [
    { expr: root, message: `the expression gives ${kind}, expected ${expected}` },
  ];
  if (result === "bool" || result === "string") return fits(type, { kind: result }) ? [] : found(result);
  if (!(result === "json" ? NOT_JSON : NOT_TEXT).includes(kind)) return [];
  const remedy = ["timestamp", "duration", "bytes"].includes(kind) ? ": write string(…)" : "";
  return found(`${result === "json" ? "what JSON has" : "text, a number or a bool"}${remedy}`);
}

/** A constant is how a template writes what looks like an expression, and "true" what only has to exist. */
function constantWarning(root: Expr, { variables, result }: Contract): ExpressionWarning[] {
  const { exprKind } = root;
  const isTrue = exprKind.case === "constExpr" && exprKind.value.constantKind.value === true;
  const isMeant = result === "json" || result === "text" || (variables[0] === "object" && isTrue);
  if (isMeant || variables.some((name) => pathsIn(root, name).length > 0)) return [];
  const message = `the result is always the same: the expression reads none of ${variables.join(", ")}`;
  return [{ id: "constant-expression", message }];
}

/** The spec changes at once, and a condition only when its controller has read the change. */
function staleWarning(
  root: Expr,
  position: (id: bigint) => Position | undefined,
): readonly ExpressionWarning[] {
  const conditions = findNode(root, (expr) => !isHas(expr) && pathKey(expr) === CONDITIONS);
  const spec = findNode(root, (expr) => pathKey(expr) === SPEC);
  if (conditions === undefined || spec === undefined || findNode(root, isObservedGeneration)) return [];
  return [{ id: "stale-condition", message: STALE, ...position(conditions.id) }];
}

const CONDITIONS = 'object["status"]["conditions"]';
const SPEC = 'object["spec"]';
const STALE =
  "a condition can be older than the spec that the expression reads beside it, and release a Cluster for what is only wanted yet: ask, as in has(c.observedGeneration) && c.observedGeneration == object.metadata.generation";

function isObservedGeneration(expr: Expr): boolean {
  const field = expr.exprKind.case === "selectExpr" ? expr.exprKind.value.field : stringLiteral(expr);
  return field === "observedGeneration";
}

function expressionOf(root: Expr, { variables, result, steps = WORK_STEPS }: Contract): Expression {
  const evaluate = plan(environment, instrument(root));
  const cost = steps + countNodes(root);
  const used = variables.filter((name) => pathsIn(root, name).length > 0);
  const requestFields = new Set(requestFieldsIn(root));
  return {
    usesNow: used.includes("now"),
    clusterPaths: pathsIn(root, "cluster").map((path) => path.slice(0, 2)),
    readsWholeObject: readsWholeObject(root),
    requestFields,
    prepared: preparedIn(root),
    evaluate: (values) => {
      const unknown = unknownIn(requestFields, values);
      if (unknown !== undefined) return fails(unknown);
      meter.start();
      if (!meter.afford(cost)) return TOO_MANY_STEPS;
      try {
        const outcome = withoutStacks(() => evaluate(bindings(used, values)));
        if (meter.exhausted) return TOO_MANY_STEPS;
        if (!isCelError(outcome)) return resultOf(outcome, result);
        // The message can contain a key, which is as long as an annotation.
        const isPaid = meter.afford(WORK_STEPS) && meter.affordText(outcome.message.length);
        return isPaid ? fails(describeFailure(outcome, root)) : TOO_MANY_STEPS;
      } catch {
        return meter.exhausted ? TOO_MANY_STEPS : fails("the expression cannot be evaluated");
      }
    },
  };
}

/** The library creates an Error for each missing value, thousands in a loop, and its stack is most of the cost. */
function withoutStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function preparedIn(expr: Expr): readonly object[] {
  const own = expr.exprKind.case === "callExpr" ? preparedFor(expr.exprKind.value) : undefined;
  return [...(own === undefined ? [] : [own]), ...children(expr).flatMap(preparedIn)];
}

function fails(problem: string): ExpressionResult {
  return { ok: false, problem };
}

/** An unknown field need not be absent, so even has() has no answer. */
function unknownIn(fields: ReadonlySet<RequestField>, { call }: ExpressionVariables): string | undefined {
  if (call === undefined) return undefined;
  return fields
    .values()
    .map((field) => unknownField(call, field))
    .find((problem) => problem !== undefined);
}

/** All fields, if the expression uses `request` as a whole. */
function requestFieldsIn(root: Expr): readonly RequestField[] {
  return pathsIn(root, "request").flatMap(([name]) =>
    name === undefined ? REQUEST_FIELDS : REQUEST_FIELDS.filter((field) => field === name),
  );
}

/** The chains of fields after the variable, such as metadata, labels for cluster.metadata.labels. */
function pathsIn(expr: Expr, variable: VariableName): readonly (readonly string[])[] {
  const path = pathAfter(expr, variable);
  return path === undefined ? children(expr).flatMap((child) => pathsIn(child, variable)) : [path];
}

/** `undefined`: the expression is not such a chain. */
function pathAfter(expr: Expr | undefined, variable: VariableName): readonly string[] | undefined {
  if (identifier(expr) === variable) return [];
  if (expr?.exprKind.case !== "selectExpr") return undefined;
  const { operand, field } = expr.exprKind.value;
  const before = pathAfter(operand, variable);
  return before && [...before, field];
}

/** Without a prototype, so that no other names are found. */
function bindings(names: readonly VariableName[], values: ExpressionVariables): Record<string, CelInput> {
  const bound: Record<string, CelInput> = Object.create(null);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library accepts an error as a value; its types do not say so
  for (const name of names) bound[name] = viewVariable(name, values) as CelInput;
  return bound;
}

function resultOf(value: CelValue, wanted: Contract["result"]): ExpressionResult {
  if (wanted === "json") return ofValue(jsonOf(value));
  if (wanted === "text") return ofValue(scalarText(value));
  if (wanted === "bool" && typeof value === "boolean") return { ok: true, value };
  if (wanted === "string" && typeof value === "string") return { ok: true, value };
  const kind = celType(value).name;
  const hint = wanted === "bool" && kind === "string" ? ': compare it, as in … == "true"' : "";
  return fails(`the expression gives ${kind}, expected ${wanted}${hint}`);
}

function ofValue(json: ExpressionResult): ExpressionResult {
  return json.ok ? json : fails(`the expression gives ${json.problem}`);
}

/** True for any read other than a metadata field that every object has. */
function readsWholeObject(root: Expr): boolean {
  return pathsIn(root, "object").some(
    ([part, field = ""]) => part !== "metadata" || !METADATA_FIELDS.includes(field),
  );
}
