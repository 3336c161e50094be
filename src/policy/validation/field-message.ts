/** The messages for a field that does not fit the schema: the found value, the expected one, and a suggestion. */

import type { ErrorObject } from "ajv";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { found } from "../../lib/quoted-value.ts";

type Describe = (error: ErrorObject) => string;

/** By the JSON Schema keyword that failed. */
const MESSAGES: Readonly<Record<string, Describe>> = {
  required: () => "required field is missing",
  additionalProperties: ({ params, parentSchema }) =>
    unexpected(
      "unknown field",
      params["additionalProperty"],
      Object.keys(parentSchema?.["properties"] ?? {}),
    ),
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

/** "found "Alow", expected one of Allow, Deny; did you mean "Allow"?" */
export function unexpected(what: string, word: unknown, expected: readonly string[]): string {
  const choice = expected.length === 1 ? expected[0] : `one of ${expected.join(", ")}`;
  const hint = typeof word === "string" ? didYouMean(word, expected) : "";
  return `${what} ${found(word)}, expected ${choice}${hint}`;
}

/** YAML reads true, 1 and many other words as types other than string. */
export function wrongType(data: unknown, type: string): string {
  const unquoted = type === "string" && (typeof data === "boolean" || typeof data === "number");
  return `found ${found(data)}, expected ${noun(type)}${unquoted ? `: write it in quotes, "${data}"` : ""}`;
}

function noun(type: string): string {
  if (type === "array") return "a list";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
