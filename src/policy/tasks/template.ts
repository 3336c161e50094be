/** An object whose string values can have expressions: parsed once, and rendered for a Cluster. Values never become YAML. */

import { pathBelow } from "../../lib/field-path.ts";
import { type Fields, isFields } from "../../lib/fields.ts";
import { type Expression, type ExpressionField, expressionOrBroken } from "../cel/expression.ts";
import { type ExpressionResult, meter, TOO_MANY_STEPS } from "../cel/meter.ts";
import { atPosition, positionAfter } from "../cel/syntax.ts";
import type { ExpressionVariables } from "../cel/view.ts";
import type { FieldError } from "../validation/schema.ts";
import { hasExpression, parseText, type TextPart } from "./template-text.ts";

export type RenderResult = ExpressionResult<Fields>;

export interface Template {
  /** Never throws. */
  render(variables: ExpressionVariables): RenderResult;
}

export function contentsOf(
  template: unknown,
  path: string,
): { readonly problems: readonly FieldError[]; readonly expressions: readonly ExpressionField[] } {
  const problems: FieldError[] = [];
  const expressions: ExpressionField[] = [];
  for (const { value: text, path: at } of textsIn(template, path)) {
    const parsed = parseText(text);
    if (!parsed.ok) {
      const place = atPosition(...positionAfter(text.slice(0, parsed.offset), 1, 1));
      problems.push({ path: at, message: `${place}${parsed.message}` });
      continue;
    }
    const use = useIn(parsed.parts);
    for (const part of parsed.parts)
      if (typeof part !== "string")
        expressions.push({ source: part.source, use, path: at, before: text.slice(0, part.offset) });
  }
  return { problems, expressions };
}

/** A value that is one expression alone takes the type of its result. */
function useIn(parts: readonly TextPart[]): "value" | "text" {
  return parts.length === 1 ? "value" : "text";
}

interface PlacedValue<T> {
  readonly value: T;
  readonly path: string;
  /** The names of the fields around it, the innermost last. */
  readonly fields: readonly string[];
}

/** The string values that have, or look as if they had, expressions. */
export function textsIn(value: unknown, path: string, fields: readonly string[] = []): PlacedValue<string>[] {
  if (typeof value === "string") return hasExpression(value) ? [{ value, path, fields }] : [];
  return placedValues(value, path, fields).flatMap((place) => textsIn(place.value, place.path, place.fields));
}

/** The items or fields directly below. */
export function placedValues(
  value: unknown,
  path: string,
  fields: readonly string[],
): PlacedValue<unknown>[] {
  if (Array.isArray(value))
    return value.map((item: unknown, index) => ({ value: item, path: `${path}[${index}]`, fields }));
  if (!isFields(value)) return [];
  return Object.entries(value).map(([name, field]) => ({
    value: field,
    path: pathBelow(path, name),
    fields: [...fields, name],
  }));
}

interface Run {
  readonly variables: ExpressionVariables;
  readonly isWhole: boolean;
}

/** The value, `null` for none, or throws Unrenderable. */
type Render = (run: Run) => unknown;

class Unrenderable extends Error {
  readonly exhausted: boolean;

  constructor(message: string, exhausted = false) {
    super(message);
    this.exhausted = exhausted;
  }
}

/**
 * For a template without problems. `isWhole`: an expression without a value is a problem, as less would be selected by than
 * was written.
 */
export function compileTemplate(template: Fields, isWhole = false): Template {
  const render = compileValue(template, "") ?? ((): unknown => template);
  const letters = JSON.stringify(template).length;
  return {
    render: (variables) => {
      if (!meter.affordText(letters)) return TOO_MANY_STEPS;
      try {
        const value = render({ variables, isWhole });
        return isFields(value) ? { ok: true, value } : { ok: false, problem: "it gives no object" };
      } catch (error) {
        if (error instanceof Unrenderable && !error.exhausted) return { ok: false, problem: error.message };
        return meter.exhausted ? TOO_MANY_STEPS : { ok: false, problem: "it cannot be rendered" };
      }
    },
  };
}

/** `undefined`: it contains no expression, and is used as it is. */
function compileValue(value: unknown, path: string): Render | undefined {
  if (typeof value === "string") return hasExpression(value) ? compileText(value, path) : undefined;
  const places = placedValues(value, path, []);
  const parts = places.map((place) => compileValue(place.value, place.path));
  if (parts.every((part) => part === undefined)) return undefined;
  const results = (run: Run): unknown[] =>
    parts.map((part, i) => (part === undefined ? places[i]?.value : part(run)));
  if (Array.isArray(value)) return (run) => results(run).filter((item) => item !== null);
  const names = Object.keys(isFields(value) ? value : {});
  return (run) => {
    const fields = results(run).map((field, i): [string, unknown] => [names[i] ?? "", field]);
    return Object.fromEntries(fields.filter(([, field]) => field !== null));
  };
}

/** There a container expands `$(NAME)`, such as the name of a Secret's variable, and makes `$$` one `$`. */
const ENV_VALUE = /(?:^|\.)env\[\d+\]\.value$/;

function compileText(text: string, path: string): Render {
  const parsed = parseText(text);
  const parts = parsed.ok ? parsed.parts : [];
  const use = useIn(parts);
  const isExpanded = ENV_VALUE.test(path);
  const written = (part: string): string => (isExpanded && endsInSingleDollar(part) ? `${part}$` : part);
  const escaped = (result: unknown): unknown =>
    isExpanded && typeof result === "string" ? result.replaceAll("$", () => "$$") : result;
  const compiled = parts.map((part) =>
    typeof part === "string" ? written(part) : expressionOrBroken(part.source, use),
  );
  return ({ variables, isWhole }) => {
    const results = compiled.map((part) =>
      typeof part === "string" ? part : escaped(valueOf(part, variables, path)),
    );
    if (isWhole && results.includes(null)) throw new Unrenderable(`${path}: the expression gives null`);
    return use === "value" ? results[0] : results.join("");
  };
}

/** It would begin a name with what follows. */
function endsInSingleDollar(text: string): boolean {
  let dollars = 0;
  while (text.at(-1 - dollars) === "$") dollars += 1;
  return dollars % 2 === 1;
}

function valueOf(expression: Expression, variables: ExpressionVariables, path: string): unknown {
  const result = expression.evaluate(variables);
  if (result.ok) return result.value;
  throw new Unrenderable(`${path}: ${result.problem}`, result.exhausted === true);
}
