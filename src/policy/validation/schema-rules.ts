/** The CEL rules of the CRDs (x-kubernetes-validations), evaluated as the API server does. */

import { celEnv, type CelInput, isCelError, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { entryOf } from "../../lib/entry-of.ts";
import type { CrdSchema, ValidationRule } from "../../api/crd-schema.ts";

/** A value of the object with the schema that it must fit. */
export interface FieldPlace {
  readonly schema: CrdSchema;
  readonly value: unknown;
  readonly path: string;
}

/** CEL over these values; `undefined` if it is not evaluable. */
type RuleFunction = (values: { readonly self: CelInput; readonly oldSelf: CelInput }) => unknown;

type SchemaRule = ReturnType<typeof compileRule>;

const patterns = new Map<string, RegExp>();
const env = celEnv({ funcs: strings, re2: { compile: compilePattern } });
const compiled = new WeakMap<CrdSchema, readonly SchemaRule[]>();

/**
 * The library's RE2 compiles a pattern at each call, which took most of a second for a large policy. The patterns here
 * are constants of the CRDs: a test compares them with RE2, and none of them backtracks far.
 */
function compilePattern(pattern: string): RegExp {
  return entryOf(patterns, pattern, () => new RegExp(pattern.replaceAll("\\x{", "\\u{"), "u"));
}

export interface BrokenRule {
  /** The value that the rule is about. */
  readonly of: string;
  readonly isEvaluable: boolean;
  readonly path: string;
  readonly message: string;
}

/** The rules that the value, which fits the rest of its schema, breaks: those about changes with `old`, or else all others. */
export function brokenRules({ schema, value, path }: FieldPlace, old?: unknown): BrokenRule[] {
  const rules = rulesOf(schema).filter(({ isAboutChange }) => isAboutChange === (old !== undefined));
  if (rules.length === 0) return [];
  const values = { self: toCel(value), oldSelf: toCel(old) };
  return rules
    .map((each) => ({ ...each, result: each.rule(values) }))
    .filter(({ result }) => result !== true)
    .map(({ source, message, result }) => ({
      of: path,
      isEvaluable: result !== undefined,
      path: `${path}${source.fieldPath ?? ""}`,
      message: usable(message?.(values)) ?? source.message,
    }));
}

function rulesOf(schema: CrdSchema): readonly SchemaRule[] {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const rules = (schema["x-kubernetes-validations"] ?? []).map(compileRule);
  compiled.set(schema, rules);
  return rules;
}

function compileRule(source: ValidationRule): {
  readonly source: ValidationRule;
  readonly isAboutChange: boolean;
  readonly rule: RuleFunction;
  readonly message: RuleFunction | undefined;
} {
  const { rule, messageExpression } = source;
  const message = messageExpression === undefined ? undefined : compile(messageExpression);
  return { source, isAboutChange: /\boldSelf\b/.test(rule), rule: compile(rule), message };
}

function compile(expression: string): RuleFunction {
  const evaluate = plan(env, parse(expression));
  return (values) => {
    const result = evaluate(values);
    return isCelError(result) ? undefined : result;
  };
}

/** The API server falls back to `message` under the same conditions. */
function usable(message: unknown): string | undefined {
  if (typeof message !== "string" || message.trim() === "" || message.includes("\n")) return undefined;
  return message.trim();
}

/** Every number in the CRDs is an integer, but a JavaScript number would become a CEL double. */
function toCel(value: unknown): CelInput {
  if (Array.isArray(value)) return value.map(toCel);
  if (typeof value === "object" && value !== null) {
    return new Map(Object.entries(value).map(([key, field]) => [key, toCel(field)]));
  }
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}
