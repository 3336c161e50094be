/** The messages for a field that does not fit the schema: the found value, the expected one, and a suggestion. */

import type { ErrorObject } from "ajv";

const MAX_QUOTED = 64;

type Describe = (error: ErrorObject) => string;

/** By the JSON Schema keyword that failed. */
const MESSAGES: Readonly<Record<string, Describe>> = {
  required: () => "required field is missing",
  additionalProperties: ({ params, parentSchema }) =>
    unknownField(String(params["additionalProperty"]), Object.keys(parentSchema?.["properties"] ?? {})),
  type: ({ data, params, parentSchema }) =>
    Array.isArray(params["type"])
      ? `found ${found(data)}, expected ${parentSchema?.["x-expected"]}`
      : wrongType(data, String(params["type"])),
  enum: ({ data, params }) => unexpected("found", data, params["allowedValues"]),
  minLength: ({ data, params }) =>
    data === ""
      ? "must not be empty"
      : `found ${found(data)}, expected at least ${params["limit"]} characters`,
  maxLength: ({ data, params }) =>
    `found ${Array.from(String(data)).length} characters, expected at most ${params["limit"]}: shorten it`,
  pattern: ({ data, parentSchema }) => `found ${found(data)}, expected ${parentSchema?.["x-expected"]}`,
  minItems: ({ params }) => `found too few items, expected at least ${params["limit"]}`,
  maxItems: ({ params }) => `found too many items, expected at most ${params["limit"]}`,
  minProperties: ({ params }) => `found too few entries, expected at least ${params["limit"]}`,
  maxProperties: ({ params }) => `found too many entries, expected at most ${params["limit"]}`,
  minimum: ({ data, params }) => `found ${found(data)}, expected at least ${params["limit"]}`,
  maximum: ({ data, params }) => `found ${found(data)}, expected at most ${params["limit"]}`,
};

export function describeSchemaError(error: ErrorObject): string {
  return MESSAGES[error.keyword]?.(error) ?? error.message ?? `does not satisfy ${error.keyword}`;
}

/** `mayBe`: whether the value could be in a field; absent: in any. */
export function unknownField(
  name: string,
  fields: readonly string[],
  mayBe: (field: string) => boolean = () => true,
): string {
  const meant = nearest(name, fields);
  const hint = suggested(meant !== undefined && mayBe(meant) ? meant : undefined);
  return `unknown field ${found(name)}, expected ${choiceOf(fields)}${hint}`;
}

function choiceOf(expected: readonly string[]): string {
  return expected.length === 1 ? String(expected[0]) : `one of ${expected.join(", ")}`;
}

/** "found "Alow", expected one of Allow, Deny; did you mean "Allow"?" */
export function unexpected(what: string, word: unknown, expected: readonly string[]): string {
  const hint = typeof word === "string" ? didYouMean(word, expected) : "";
  return `${what} ${found(word)}, expected ${choiceOf(expected)}${hint}`;
}

/** YAML reads true, 1 and many other words as types other than string. */
export function wrongType(data: unknown, type: string): string {
  const unquoted = type === "string" && (typeof data === "boolean" || typeof data === "number");
  return `found ${found(data)}, expected ${noun(type)}${unquoted ? `: write it in quotes, "${data}"` : ""}`;
}

/** Leaves out the contents of lists and objects, and never throws for any value. */
export function found(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return quote(value);
  if (typeof value === "object") return "an object";
  return typeof value === "number" || typeof value === "boolean"
    ? `the ${typeof value} ${value}`
    : typeof value;
}

/** Cuts between code points, so that a message stays valid Unicode. A code point has at most two units. */
function quote(text: string): string {
  const letters = Array.from(text.slice(0, 2 * MAX_QUOTED + 1));
  return JSON.stringify(letters.length > MAX_QUOTED ? `${letters.slice(0, MAX_QUOTED).join("")}…` : text);
}

function noun(type: string): string {
  if (type === "array") return "a list";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** The suggestion as the end of a message; "" if no word is near. */
export function didYouMean(word: string, words: readonly string[]): string {
  return suggested(nearest(word, words));
}

export function suggested(meant: string | undefined): string {
  return meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
}

/** A suggestion for a misspelt word: wrong case, about every third letter wrong, or a part left out. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  if (word.length > MAX_QUOTED) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let least = Infinity;
  for (const each of words) {
    const limit = Math.min(least, tolerated(each) + 1);
    // Each additional letter is a mistake.
    if (Math.abs(each.length - word.length) >= limit) continue;
    const mistakes = distance(lower, each.toLowerCase(), limit);
    if (mistakes < limit) [best, least] = [each, mistakes];
  }
  if (best !== undefined) return best;
  return (
    words.find((each) => lower !== "" && each.toLowerCase().replace("cluster", "") === lower) ??
    words.find((each) => isShortened(lower, each.toLowerCase())) ??
    endsAlike(lower, words) ??
    onlyOneWith(lower, words)
  );
}

/** Finds KeepBlocking for Block. */
function onlyOneWith(part: string, words: readonly string[]): string | undefined {
  if (part.length < KEPT) return undefined;
  const alike = words.filter((each) => each.toLowerCase().includes(part));
  return alike.length === 1 ? alike[0] : undefined;
}

/** So many letters at the end may identify a word: onDelete means BeforeClusterDelete. */
const TELLING = 6;

function endsAlike(word: string, words: readonly string[]): string | undefined {
  if (word.length < TELLING) return undefined;
  const alike = words.filter((each) => each.toLowerCase().endsWith(word.slice(-TELLING)));
  return alike.length === 1 ? alike[0] : undefined;
}

/** So many letters before and after a missing part must be right: BeforeDelete means BeforeClusterDelete. */
const KEPT = 4;

/** Whether `word` is `full` without a part in the middle. */
function isShortened(word: string, full: string): boolean {
  if (word.length >= full.length) return false;
  for (let at = KEPT; at <= word.length - KEPT; at += 1) {
    if (full.startsWith(word.slice(0, at)) && full.endsWith(word.slice(at))) return true;
  }
  return false;
}

/** The tolerated number of mistakes in a word. */
function tolerated({ length }: string): number {
  return Math.max(1, Math.floor(length / 3));
}

/**
 * Levenshtein distance in which two swapped neighbours are one mistake, or a number that is too large; none of the
 * dependencies exports it.
 */
function distance(a: string, b: string, tooLarge: number): number {
  let [above, row] = [new Uint16Array(b.length + 1), Uint16Array.from({ length: b.length + 1 }, (_, j) => j)];
  let leastAbove = 0;
  for (let i = 1; i <= a.length; i++) {
    const next = new Uint16Array(b.length + 1);
    next[0] = i;
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const replaced = cell(row, j - 1) + Number(a[i - 1] !== b[j - 1]);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? cell(above, j - 2) + 1 : Infinity;
      const mistakes = Math.min(replaced, swapped, cell(row, j) + 1, cell(next, j - 1) + 1);
      next[j] = mistakes;
      least = Math.min(least, mistakes);
    }
    if (Math.min(least, leastAbove + 1) >= tooLarge) return tooLarge;
    [above, row, leastAbove] = [row, next, least];
  }
  return cell(row, b.length);
}

function cell(row: Uint16Array, index: number): number {
  return row[index] ?? 0;
}
