/**
 * Finds what is wrong with an expression before it is evaluated: unknown variables, fields and functions, and types
 * that do not fit. Anything uncertain passes.
 */

import { argumentProblem, callType, displayName, weightOf } from "./calls.ts";
import { type Facts, factsWhen, isHas, keyBelow, pathKey, pathText } from "./guards.ts";
import { type Call, type Expr, type ExprOf, qualifiedName, readLoop, stringLiteral } from "./syntax.ts";
import { MAX_INT, MAX_PATTERN_WEIGHT, MAX_UINT, MIN_INT } from "./cel-text.ts";
import { HOOK_NAMES } from "../../api/runtime-hooks.ts";
import {
  BOOL,
  DYN,
  either,
  fits,
  INT,
  JSON_VALUE,
  list,
  map,
  SIGNATURES,
  STRING,
  type Type,
} from "./cel-types.ts";
import { describeNeverJson } from "./conversion.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { found } from "../../lib/quoted-value.ts";

export interface ExpressionFinding {
  readonly expr: Expr;
  readonly message: string;
}

/** Legal, but perhaps not intended. */
export interface Suspicion extends ExpressionFinding {
  readonly id: string;
  /** The field of `request` that can be missing: some hooks always send it, and some never. */
  readonly requestField?: string;
}

/** What is known at one position in the expression. */
interface ExpressionPlace {
  readonly scope: Readonly<Record<string, Type>>;
  readonly facts: Facts;
}

/** Names that denote types, as in type(x) == string. */
const TYPE_NAMES = new Set(
  "bool int uint double string bytes list map null_type type google.protobuf.Timestamp google.protobuf.Duration".split(
    " ",
  ),
);

const CONSTANT_TYPES: Readonly<Record<string, Type>> = {
  boolValue: BOOL,
  int64Value: INT,
  uint64Value: { kind: "uint" },
  doubleValue: { kind: "double" },
  stringValue: STRING,
  bytesValue: { kind: "bytes" },
  nullValue: { kind: "null_type" },
};

/** Limit per expression; more problems do not help a user. */
const MAX_PROBLEMS = 8;

export class Checker {
  readonly problems: ExpressionFinding[] = [];
  readonly warnings: Suspicion[] = [];
  /** Weight of all patterns so far. */
  patternWeight = 0;

  /** Returns the type of the expression, with these variables in scope. */
  check(expr: Expr, variables: Readonly<Record<string, Type>>): Type {
    return this.#infer(expr, { scope: variables, facts: new Set() });
  }

  #problem(expr: Expr, message: string): Type {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ expr, message });
    return DYN;
  }

  #infer(expr: Expr | undefined, place: ExpressionPlace): Type {
    switch (expr?.exprKind.case) {
      case "constExpr":
        return this.#constant(expr, expr.exprKind.value);
      case "identExpr":
        return this.#identifier(expr, expr.exprKind.value.name, place);
      case "selectExpr":
        return this.#select(expr, expr.exprKind.value, place);
      case "callExpr":
        return this.#call(expr, expr.exprKind.value, place);
      case "listExpr":
        return list(this.#common(expr.exprKind.value.elements, place));
      case "structExpr":
        return this.#map(expr, expr.exprKind.value, place);
      case "comprehensionExpr":
        return this.#loop(expr, expr.exprKind.value, place);
      case undefined:
        return DYN;
    }
  }

  #bool(expr: Expr | undefined, place: ExpressionPlace, what: string): void {
    const type = this.#infer(expr, place);
    if (expr !== undefined && !fits(type, BOOL))
      this.#problem(expr, `${what} must be a bool, found ${type.kind}`);
  }

  #constant(expr: Expr, { constantKind }: ExprOf<"constExpr">): Type {
    const int =
      constantKind.case === "int64Value" && (constantKind.value > MAX_INT || constantKind.value < MIN_INT);
    const uint = constantKind.case === "uint64Value" && constantKind.value > MAX_UINT;
    if (int || uint) return this.#problem(expr, "the number does not fit into 64 bits");
    return CONSTANT_TYPES[constantKind.case ?? ""] ?? DYN;
  }

  #identifier(expr: Expr, name: string, { scope }: ExpressionPlace): Type {
    if (Object.hasOwn(scope, name)) return scope[name] ?? DYN;
    if (TYPE_NAMES.has(name)) return { kind: "type" };
    return this.#problem(expr, `unknown variable ${found(name)}, ${oneOf(Object.keys(scope), name)}`);
  }

  #select(expr: Expr, { operand, field, testOnly }: ExprOf<"selectExpr">, place: ExpressionPlace): Type {
    if (TYPE_NAMES.has(qualifiedName(expr) ?? "")) return { kind: "type" };
    const of = this.#infer(operand, place);
    if (of.kind === "dyn") return testOnly ? BOOL : of;
    if (of.kind === "map") {
      if (testOnly) return BOOL;
      this.#expect(expr, place, keyGuard(operand, JSON.stringify(field)));
      return of.value;
    }
    if (of.kind !== "object")
      return this.#problem(expr, `${pathText(expr)}: a value of type ${of.kind} has no fields`);
    return this.#field(expr, of, [field, place]);
  }

  #field(expr: Expr, of: Type & { kind: "object" }, [name, place]: readonly [string, ExpressionPlace]): Type {
    const field = fieldOf(of, name);
    if (field === undefined)
      return this.#problem(expr, `${pathText(expr)}: unknown field, ${oneOf(Object.keys(of.fields), name)}`);
    if (isHas(expr)) return BOOL;
    if (field.optional === true) this.#expect(expr, place, `has(${pathText(expr)})`);
    return field;
  }

  /** `guard`: what asks whether the field or key is there. */
  #expect(expr: Expr, { facts }: ExpressionPlace, guard: string): void {
    if (facts.has(pathKey(expr) ?? "")) return;
    const path = pathText(expr);
    const message = `${path} can be missing, and then the expression cannot be evaluated: ask first, as in ${guard} && …`;
    const [, requestField] = /^request\.(\w+)$/.exec(path) ?? [];
    const field = requestField === undefined ? {} : { requestField };
    this.#warn({ expr, id: "field-may-be-missing", message, ...field });
  }

  #warn(suspicion: Suspicion): void {
    if (this.warnings.some(({ message }) => message === suspicion.message)) return;
    this.warnings.push(suspicion);
  }

  #call(expr: Expr, call: Call, place: ExpressionPlace): Type {
    const { function: name, args } = call;
    const [a, b, c] = args;
    switch (name) {
      // An error on one side does not count if the other side decides.
      case "_&&_":
      case "_||_": {
        const decided = name === "_&&_";
        this.#bool(a, assuming(place, b, decided), `each side of ${displayName(name)}`);
        this.#bool(b, assuming(place, a, decided), `each side of ${displayName(name)}`);
        return BOOL;
      }
      case "_?_:_":
        this.#bool(a, place, "the condition of ?:");
        return either(this.#infer(b, assuming(place, a, true)), this.#infer(c, assuming(place, a, false)));
      case "_[_]":
        return this.#index(expr, [a, b], place);
      default:
        return this.#function(expr, call, place);
    }
  }

  #index(
    expr: Expr,
    [container, key]: readonly [Expr | undefined, Expr | undefined],
    place: ExpressionPlace,
  ): Type {
    const of = this.#infer(container, place);
    const by = this.#infer(key, place);
    const literal = stringLiteral(key);
    if (of.kind === "list") {
      return fits(INT, by) ? of.element : this.#problem(expr, `a list is indexed by int, found ${by.kind}`);
    }
    if (of.kind === "map") {
      // A map literal in the expression can have keys of any type.
      if (pathKey(container) === undefined || fits(by, STRING)) {
        const written = literal === undefined ? "key" : JSON.stringify(literal);
        this.#expect(expr, place, keyGuard(container, written));
        return of.value;
      }
      return this.#problem(expr, `the keys of ${pathText(container)} are strings, found ${by.kind}`);
    }
    if (of.kind === "object") return this.#field(expr, of, [literal ?? "", place]);
    return of.kind === "dyn" ? of : this.#problem(expr, `a value of type ${of.kind} cannot be indexed`);
  }

  #function(expr: Expr, call: Call, place: ExpressionPlace): Type {
    const namespace = qualifiedName(call.target);
    const qualified = `${namespace}.${call.function}`;
    const isQualified = namespace !== undefined && SIGNATURES.has(qualified);
    const target = call.target === undefined || isQualified ? undefined : this.#infer(call.target, place);
    const args = call.args.map((arg) => this.#infer(arg, place));
    const result = callType(isQualified ? qualified : call.function, target, args);
    if ("problem" in result) return this.#problem(expr, result.problem);
    const never = describeNeverJson(call, { target, args });
    if (never !== undefined) this.#warn({ expr, id: "json-type", message: never });
    this.#hook(expr, call);
    const weight = weightOf(call);
    this.patternWeight += weight;
    if (weight <= MAX_PATTERN_WEIGHT && this.patternWeight > MAX_PATTERN_WEIGHT) {
      const isFirst = this.patternWeight - weight <= MAX_PATTERN_WEIGHT;
      return isFirst ? this.#problem(expr, "the patterns of the expression together repeat too much") : BOOL;
    }
    const problem = this.problems.length < MAX_PROBLEMS ? argumentProblem(expr, call) : undefined;
    return problem === undefined ? result.type : this.#problem(expr, problem);
  }

  #hook(expr: Expr, call: Call): void {
    const message = unknownHook(call);
    if (message !== undefined) this.#warn({ expr, id: "unknown-hook", message });
  }

  #common(elements: readonly Expr[], place: ExpressionPlace): Type {
    const [first = DYN, ...others] = elements.map((element) => this.#infer(element, place));
    return others.reduce(either, first);
  }

  #map(expr: Expr, { messageName, entries }: ExprOf<"structExpr">, place: ExpressionPlace): Type {
    if (messageName !== "") return this.#problem(expr, "messages cannot be built, only maps and lists");
    for (const { keyKind } of entries) if (keyKind.case === "mapKey") this.#infer(keyKind.value, place);
    const values = entries.flatMap(({ value }) => value ?? []);
    return map(this.#common(values, place));
  }

  #loop(expr: Expr, comprehension: ExprOf<"comprehensionExpr">, place: ExpressionPlace): Type {
    const { iterVar: variable, iterRange: range } = comprehension;
    const { test, item } = readLoop(comprehension);
    if (Object.hasOwn(place.scope, variable)) {
      this.#problem(expr, `the variable ${found(variable)} is there already, take another name`);
    }
    const over = this.#infer(range, place);
    const element = elementOf(over);
    if (element === undefined)
      return this.#problem(expr, `found ${over.kind}, expected a list or a map to go through`);
    // In a loop over the keys of a map, each of them exists.
    const fact = keyBelow(range, variable);
    const inside = {
      scope: { ...place.scope, [variable]: element },
      facts: fact === undefined ? place.facts : new Set([...place.facts, fact]),
    };
    if (test !== undefined) this.#bool(test, inside, "the condition");
    if (item === undefined) return BOOL;
    return list(this.#infer(item, assuming(inside, test, true)));
  }
}

function assuming(place: ExpressionPlace, condition: Expr | undefined, value: boolean): ExpressionPlace {
  const facts = factsWhen(condition, value);
  return facts.length === 0 ? place : { ...place, facts: new Set([...place.facts, ...facts]) };
}

function keyGuard(container: Expr | undefined, key: string): string {
  return `${key} in ${pathText(container)}`;
}

/** Finds a comparison of `request.hook` with a word that is no hook. */
function unknownHook({ function: name, args }: Call): string | undefined {
  if (!COMPARISONS.has(name) || !args.some((each) => pathText(each) === "request.hook")) return undefined;
  const words = args.flatMap((arg) =>
    arg.exprKind.case === "listExpr" ? arg.exprKind.value.elements.map(stringLiteral) : [stringLiteral(arg)],
  );
  const word = words.find((each) => each !== undefined && !HOOK_NAMES.some((hook) => hook === each));
  if (word === undefined) return undefined;
  return `request.hook is never ${found(word)}, which is no hook${didYouMean(word, HOOK_NAMES)}`;
}

const COMPARISONS: ReadonlySet<string> = new Set(["_==_", "_!=_", "@in"]);

function fieldOf(type: Type & { kind: "object" }, name: string): Type | undefined {
  if (Object.hasOwn(type.fields, name)) return type.fields[name];
  return type.open ? JSON_VALUE : undefined;
}

function elementOf(type: Type): Type | undefined {
  if (type.kind === "list") return type.element;
  if (type.kind === "map") return STRING;
  return type.kind === "dyn" ? type : undefined;
}

function oneOf(words: readonly string[], word: string): string {
  return `expected one of ${words.toSorted().join(", ")}${didYouMean(word, words)}`;
}
