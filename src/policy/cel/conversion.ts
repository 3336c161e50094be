/** Finds the value that keeps a call from having a result, and the function that converts it. */

import { parseDuration } from "../../lib/duration.ts";
import { parseInstant } from "../window/moment.ts";
import { pathKey, pathText } from "./guards.ts";
import { CONVERSIONS, displayName } from "./calls.ts";
import { fits, isJson, type Signature, SIGNATURES, type Type } from "./cel-types.ts";
import { type Call, type Expr, stringLiteral } from "./syntax.ts";

/** For each conversion function, the types that it takes. */
const CONVERTS: Readonly<Record<string, readonly string[]>> = {
  timestamp: ["string"],
  duration: ["string"],
  semver: ["string"],
  double: ["string", "int", "uint"],
  int: ["string", "uint"],
  bool: ["string"],
  string: ["int", "uint", "double", "bool", "timestamp", "duration"],
};

/** The types that a value of an object in JSON can have. */
const JSON_KINDS: readonly string[] = ["string", "bool", "int", "double", "null_type", "list", "map", "dyn"];

interface Misfit {
  readonly expr: Expr | undefined;
  readonly given: Type;
  readonly wanted: Type;
  /** Of the argument; -1: it is the target. */
  readonly position: number;
}

/** The types of a call's target and arguments. */
export type GivenTypes = Pick<Signature, "target" | "args">;

/** Why the call has no result for values of these types, if one value is the reason. */
export function describeMisfit(call: Call, given: GivenTypes): string | undefined {
  const [best] = misfits(call, given, fits);
  if (best === undefined) return undefined;
  const { expr, given: type, wanted } = best;
  const subject = subjectOf(best, call);
  const name = displayName(call.function);
  const text = pathKey(expr) === undefined ? undefined : pathText(expr);
  if (type.kind === "null_type") {
    return `${subject} is null, and ${name} does not take it${text === undefined ? "" : `: ask first, as in ${text} != null && …`}`;
  }
  return `${subject} is ${withArticle(type.kind)}, and ${name} takes ${withArticle(wanted.kind)} there${advice(best, call)}`;
}

/** Why the call can never have a result: JSON has no value of the type that it takes. */
export function describeNeverJson(call: Call, given: GivenTypes): string | undefined {
  const [best] = misfits(call, given, (type, taken) =>
    isJson(type) ? JSON_KINDS.includes(taken.kind) : fits(type, taken),
  );
  if (best === undefined || !isJson(best.given)) return undefined;
  const { wanted } = best;
  const how = conversion("string", wanted.kind) === undefined ? "" : `: ${write(best)}`;
  return `${subjectOf(best, call)} is never ${withArticle(wanted.kind)}, because objects are JSON, so ${displayName(call.function)} cannot be evaluated${how}`;
}

/** The same for a comparison, which has a result, because the two are never equal. */
export function describeNeverEqual(call: Call, [a, b]: readonly Type[]): string | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (!isOnlyText(a, b) && !isOnlyText(b, a)) return undefined;
  const [given, wanted, position] = isOnlyText(a, b) ? [a, b, 0] : [b, a, 1];
  const misfit = { expr: call.args[position], given, wanted, position };
  return `${subjectOf(misfit, call)} is never ${withArticle(wanted.kind)}, because objects are JSON, so the two are never equal: ${write(misfit)}`;
}

/** Whether a value in JSON can only be text that would have to be converted to the other type. */
function isOnlyText(given: Type, { kind }: Type): boolean {
  return isJson(given) && conversion("string", kind) !== undefined && !JSON_KINDS.includes(kind);
}

type Accepts = (given: Type, taken: Type) => boolean;

/** The signatures in which only one value has a wrong type, the most useful first; none if a signature fits. */
function misfits(call: Call, given: GivenTypes, accepts: Accepts): readonly Misfit[] {
  const signatures = (SIGNATURES.get(call.function) ?? []).filter(
    ({ target, args }) =>
      (target === undefined) === (given.target === undefined) && args.length === given.args.length,
  );
  const found: Misfit[] = [];
  for (const signature of signatures) {
    const wrong = wrongValues(signature, call, given, accepts);
    if (wrong.length === 0) return [];
    if (wrong.length === 1) found.push(...wrong);
  }
  return found.toSorted((a, b) => usefulness(b, given) - usefulness(a, given));
}

function wrongValues({ target, args }: Signature, call: Call, given: GivenTypes, accepts: Accepts): Misfit[] {
  const exprs = [call.target, ...call.args];
  const types = [given.target, ...given.args];
  return [target, ...args].flatMap((wanted, index) => {
    const type = types[index];
    if (wanted === undefined || type === undefined || accepts(type, wanted)) return [];
    return [{ expr: exprs[index], given: type, wanted, position: index - 1 }];
  });
}

/** A value with a path is easy to convert, and usually both values are meant to have the same type. */
function usefulness(misfit: Misfit, { target, args }: GivenTypes): number {
  const kind = isJson(misfit.given) ? "string" : misfit.given.kind;
  const others = [...(misfit.position < 0 || target === undefined ? [] : [target]), ...args].filter(
    (type) => type !== misfit.given,
  );
  return (
    16 * Number(meantBy(misfit) !== undefined) +
    8 * Number(conversion(kind, misfit.wanted.kind) !== undefined) +
    4 * Number(pathKey(misfit.expr) !== undefined) +
    Number(misfit.wanted.kind === "timestamp") +
    2 * Number(others.every(({ kind: other }) => other === misfit.wanted.kind))
  );
}

function conversion(given: string, wanted: string): string | undefined {
  return CONVERTS[wanted]?.includes(given) === true ? wanted : undefined;
}

/** None for size() and for conversions, because another conversion would not help. */
function advice(misfit: Misfit, { function: name }: Call): string {
  const isOfText = name === "size" || Object.hasOwn(CONVERSIONS, name);
  return isOfText || conversion(misfit.given.kind, misfit.wanted.kind) === undefined
    ? ""
    : `: ${write(misfit)}`;
}

function numberInQuotes({ expr, wanted }: Pick<Misfit, "expr" | "wanted">): string | undefined {
  const text = ["int", "uint", "double"].includes(wanted.kind) ? stringLiteral(expr) : undefined;
  return text !== undefined && /^-?\d+$/.test(text) ? text : undefined;
}

/** The literal as it is meant, such as a date in quotes beside a timestamp. */
function meantBy(misfit: Pick<Misfit, "expr" | "wanted">): string | undefined {
  const number = numberInQuotes(misfit);
  if (number !== undefined) return `${number}, without quotes`;
  const text = stringLiteral(misfit.expr);
  if (text === undefined) return undefined;
  if (misfit.wanted.kind === "duration")
    return parseDuration(text) === undefined ? undefined : `duration('${text}')`;
  const [, day = "", time = "T00:00", rest = ":00Z"] =
    /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d)?((?::\d\d)?(?:Z|[+-]\d\d:\d\d))?$/.exec(text) ?? [];
  const instant = `${day}${time}${rest.startsWith(":") ? "" : ":00"}${rest}`;
  const isTime = misfit.wanted.kind === "timestamp" && parseInstant(instant) !== undefined;
  return isTime ? `timestamp('${instant}')` : undefined;
}

function write({ expr, wanted }: Misfit): string {
  const meant = meantBy({ expr, wanted });
  if (meant !== undefined) return `write ${meant}`;
  return pathKey(expr) === undefined
    ? `convert it with ${wanted.kind}(…)`
    : `write ${wanted.kind}(${pathText(expr)})`;
}

function subjectOf({ expr, position }: Misfit, { function: name }: Call): string {
  if (pathKey(expr) !== undefined) return pathText(expr);
  const shown = displayName(name);
  if (position < 0) return `the value before .${shown}`;
  if (/^\w/.test(shown) && shown !== "in") return `argument ${position + 1} of ${shown}`;
  return name.startsWith("_") && name.endsWith("_") && name !== "-_" && name !== "!_"
    ? `the ${position === 0 ? "left" : "right"} side of ${shown}`
    : `the operand of ${shown}`;
}

export function withArticle(kind: string): string {
  if (kind === "null_type") return "null";
  return `${/^[aeiou]/.test(kind) && kind !== "uint" ? "an" : "a"} ${kind}`;
}
