/** Resolves calls: the function that a call means, its result type, and what is wrong with it. */

import { isCelError, plan } from "@bufbuild/cel";
import { environment } from "./environment.ts";
import { meter } from "./meter.ts";
import { type Call, callOf, type Expr, stringLiteral } from "./syntax.ts";
import { compilePattern, patternProblem, patternWeight } from "./cel-text.ts";
import {
  CALENDAR_FUNCTIONS,
  calendarOf,
  calendarZoneProblem,
  windowArgumentsProblem,
  windowOf,
} from "./cel-time.ts";
import { comparable, DYN, either, fits, type Signature, SIGNATURES, type Type } from "./cel-types.ts";
import { conversionHint, CONVERSIONS, type GivenTypes, misfits } from "./conversion.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { found } from "../../lib/quoted-value.ts";
import { rangeProblem } from "../version-range.ts";

export type CallType = { readonly type: Type } | { readonly problem: string };

const LOOPS: readonly string[] = ["exists", "all", "exists_one", "existsOne", "map", "filter"];
const WORDS: readonly string[] = [...SIGNATURES.keys(), ...LOOPS, "has"].filter((name) =>
  /^[\w.]+$/.test(name),
);

/** Operators as users write them. */
export function displayName(name: string): string {
  if (name === "@in") return "in";
  return /[a-z]/i.test(name) ? `${name}()` : name.replaceAll("_", "");
}

export function callType(name: string, target: Type | undefined, args: readonly Type[]): CallType {
  const signatures = SIGNATURES.get(name);
  if (signatures === undefined) return { problem: unknownFunction(name) };
  const never = neverTrue(name, args);
  if (never !== undefined) return { problem: never };
  const styled = signatures.filter((each) => (each.target === undefined) === (target === undefined));
  if (styled.length === 0) {
    const usage = target === undefined ? `value.${name}(…)` : `${name}(…)`;
    return { problem: `${displayName(name)} is called as ${usage}` };
  }
  const counted = styled.filter((each) => each.args.length === args.length);
  if (counted.length === 0) return { problem: wrongCount(name, styled, args.length) };
  const matching = counted.filter((each) => accepts(each, target, args));
  const [first, ...others] = matching.map(({ result }) => result);
  if (first === undefined) return { problem: wrongTypes(name, counted, { target, args }) };
  return { type: others.reduce(either, first) };
}

function accepts(signature: Signature, target: Type | undefined, args: readonly Type[]): boolean {
  return (
    (signature.target === undefined || target === undefined || fits(target, signature.target)) &&
    signature.args.every((taken, index) => fits(args[index] ?? DYN, taken))
  );
}

/** The message for a comparison that can never be true; values of unknown type may be compared. */
function neverTrue(name: string, [a = DYN, b = DYN]: readonly Type[]): string | undefined {
  if (name === "@in" && b.kind === "list" && !comparable(a, b.element)) {
    return `${a.kind} in a list of ${b.element.kind}: it is never there`;
  }
  if ((name !== "_==_" && name !== "_!=_") || comparable(a, b)) return undefined;
  return `${a.kind} ${displayName(name)} ${b.kind}: they are never equal`;
}

function unknownFunction(name: string): string {
  if (name === "has") return "has() takes one field, as in has(cluster.topology); a key is asked for with in";
  if (!LOOPS.includes(name)) return `unknown function ${found(name)}${didYouMean(name, WORDS)}`;
  return `${name}() takes a variable and an expression, as in list.${name}(x, x == 'a')`;
}

function wrongCount(name: string, signatures: readonly Signature[], count: number): string {
  const counts = [...new Set(signatures.map(({ args }) => args.length))].toSorted((a, b) => a - b);
  const plural = counts.length === 1 && counts[0] === 1 ? "argument" : "arguments";
  return `${displayName(name)} takes ${counts.join(" or ")} ${plural}, found ${count}`;
}

function wrongTypes(name: string, signatures: readonly Signature[], given: GivenTypes): string {
  const near = misfits(signatures, given);
  const [best] = near;
  const expected = best === undefined ? signatures : near.map(({ signature }) => signature);
  const taken = [...new Set(expected.map(describe))].slice(0, 4).join(" or ");
  const isOrder = /^_[<>]=?_$/.test(name) && given.args.every(({ kind }) => kind === "semver");
  const hint = isOrder ? ": write a.isLessThan(b) or a.isGreaterThan(b)" : best && conversionHint(best);
  return `${displayName(name)} does not take ${describe(given)}, expected ${taken}${hint ?? ""}`;
}

function describe({ target, args }: GivenTypes): string {
  const list = args.map(({ kind }) => kind).join(", ");
  return target === undefined ? `(${list})` : `${target.kind}.(${list})`;
}

/** Finds a mistake in the literal arguments of a call; `undefined`: none. */
export function argumentProblem(expr: Expr, { function: name, target, args }: Call): string | undefined {
  const literals = args.map(stringLiteral);
  const check = LITERAL_ARGUMENTS[name];
  if (check !== undefined && args.length > 0) {
    const given = literals.filter((literal) => literal !== undefined);
    return given.length < args.length
      ? `${displayName(name)} takes only strings that are written out`
      : check(given);
  }
  const [text] = literals;
  if (name === "satisfies" && text !== undefined) return rangeProblem(text);
  const constant = [target, ...args].every((part) => part === undefined || isConstant(part));
  if (!constant || !fails(expr)) return undefined;
  const wanted = CONVERSIONS[name]?.form;
  return wanted === undefined || text === undefined
    ? `${displayName(name)} has no result for what it is given`
    : `found ${found(text)}, expected ${wanted}`;
}

/** Checks the arguments of functions that accept only literals. */
const LITERAL_ARGUMENTS: Readonly<Record<string, (args: readonly string[]) => string | undefined>> = {
  matches: ([pattern = ""]) => patternProblem(pattern),
  inWindow: windowArgumentsProblem,
  ...Object.fromEntries(CALENDAR_FUNCTIONS.map((name) => [name, ([zone = ""]) => calendarZoneProblem(zone)])),
};

/** The weight of the pattern that the call compiles; 0: it compiles none. */
export function weightOf({ function: name, args }: Call): number {
  const pattern = stringLiteral(args[0]);
  return name === "matches" && pattern !== undefined ? patternWeight(pattern) : 0;
}

/**
 * The object that the checked call needs and that is costly to make; it exists as long as the expression refers to it.
 */
export function preparedFor({ function: name, args }: Call): object | undefined {
  const literals = args.flatMap((arg) => stringLiteral(arg) ?? []);
  const [first] = literals;
  if (first === undefined || literals.length < args.length) return undefined;
  if (name === "matches") return compilePattern(first);
  if (name === "inWindow") return windowOf(literals);
  return CALENDAR_FUNCTIONS.includes(name) ? calendarOf(first) : undefined;
}

function isConstant(expr: Expr): boolean {
  return expr.exprKind.case === "constExpr" || callOf(expr, "-_")?.args.every(isConstant) === true;
}

function fails(expr: Expr): boolean {
  meter.start();
  return isCelError(plan(environment, expr)());
}
