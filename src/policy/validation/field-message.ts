/** The messages for a field that does not fit the schema: the found value, the expected one, and a suggestion. */

import type { ErrorObject } from "ajv";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { type Fields, fieldsOf } from "../../lib/fields.ts";
import { found } from "../../lib/quoted-value.ts";

/** `undefined`: ajv's own words are the best. */
type Describe = (error: ErrorObject) => string | undefined;

/** By the JSON Schema keyword that failed. */
const MESSAGES: Readonly<Record<string, Describe>> = {
  required: () => "required field is missing",
  additionalProperties: ({ params, parentSchema }) =>
    unexpected(
      "unknown field",
      params["additionalProperty"],
      Object.keys(fieldsOf(parentSchema?.["properties"])),
    ),
  type: ({ data, parentSchema }) => wrongType(data, parentSchema ?? {}),
  enum: ({ data, params }) => unexpected("found", data, params["allowedValues"]),
  minLength: ({ data, params }) =>
    data === ""
      ? "must not be empty"
      : `found ${found(data)}, expected at least ${params["limit"]} characters`,
  maxLength: ({ data, params }) =>
    `found ${Array.from(String(data)).length} characters, expected at most ${params["limit"]}: shorten it`,
  pattern: inWords,
  format: inWords,
  anyOf: aForm,
  oneOf: aForm,
  not: aForm,
  minItems: ({ params }) => `found too few items, expected at least ${params["limit"]}`,
  maxItems: ({ params }) => `found too many items, expected at most ${params["limit"]}`,
  minProperties: ({ params }) => `found too few entries, expected at least ${params["limit"]}`,
  maxProperties: ({ params }) => `found too many entries, expected at most ${params["limit"]}`,
  minimum: ({ data, params }) => `found ${found(data)}, expected at least ${params["limit"]}`,
  maximum: ({ data, params }) => `found ${found(data)}, expected at most ${params["limit"]}`,
};

function inWords({ data, parentSchema }: ErrorObject): string | undefined {
  const words: unknown = parentSchema?.["x-expected"];
  return typeof words === "string" ? `found ${found(data)}, expected ${words}` : undefined;
}

function aForm(error: ErrorObject): string {
  return inWords(error) ?? "does not fit any form that its schema allows";
}

export function describeSchemaError(error: ErrorObject): string {
  return MESSAGES[error.keyword]?.(error) ?? error.message ?? `does not satisfy ${error.keyword}`;
}

/** "found "Alow", expected one of Allow, Deny; did you mean "Allow"?" */
export function unexpected(what: string, word: unknown, expected: readonly string[]): string {
  const hint = typeof word === "string" ? didYouMean(word, expected) : "";
  return `${what} ${found(word)}, expected ${oneOf(expected)}${hint}`;
}

function oneOf(words: readonly unknown[]): string {
  return words.length === 1 ? String(words[0]) : `one of ${words.join(", ")}`;
}

/** YAML reads true, 1 and many other words as types other than string. */
export function wrongType(data: unknown, schema: Fields): string {
  return `found ${found(data)}, expected ${expectedType(schema)}${quotesHint(data, schema)}`;
}

function expectedType({ type, enum: words, properties, "x-expected": text }: Fields): string {
  if (typeof text === "string") return text;
  if (Array.isArray(words)) return oneOf(words);
  if (type === "array") return 'a list: begin each item with "- "';
  if (type === "boolean") return "true or false";
  const names = Object.keys(fieldsOf(properties));
  const noun = /^[aeiou]/.test(String(type)) ? `an ${String(type)}` : `a ${String(type)}`;
  return names.length === 0 ? noun : `${noun} with the fields ${names.join(", ")}`;
}

/** Texts that ask for quotes, or for a unit. */
const ASKS_FOR_MORE = /in quotes|duration/;

function quotesHint(data: unknown, { type, enum: words, "x-expected": text }: Fields): string {
  const isScalar = typeof data === "boolean" || typeof data === "number";
  if (type === "string" && isScalar && words === undefined && !ASKS_FOR_MORE.test(String(text)))
    return ": write it in quotes";
  const isQuoted = type === "integer" ? /^\d+$/ : type === "boolean" ? /^(?:true|false)$/ : undefined;
  return typeof data === "string" && isQuoted?.test(data) === true ? ": write it without quotes" : "";
}
