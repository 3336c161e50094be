/** The result of an expression as a value of an object in JSON. */

import { type CelMap, celType, type CelValue, isCelList, isCelMap, isCelUint } from "@bufbuild/cel";
import { meter } from "./meter.ts";

type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };
export type JsonResult = Result<unknown>;
type Scalar = Result<string | number | boolean | null>;

/** Deeper values come only from hostile input. */
const MAX_DEPTH = 32;

/** Types whose values JSON does not have: what to write instead. */
const NOT_JSON: Readonly<Record<string, string>> = {
  "google.protobuf.Timestamp": "a timestamp, which JSON does not have: write string(…)",
  "google.protobuf.Duration": "a duration, which JSON does not have: write string(…)",
  bytes: "bytes, which JSON does not have: write string(…)",
  type: "a type, which JSON does not have",
};

/** Null fields and items are left out, as the API server stores no null. */
export function jsonOf(value: CelValue, depth = MAX_DEPTH): JsonResult {
  const scalar = scalarOf(value);
  if (scalar !== undefined) return scalar;
  const isList = isCelList(value);
  if (!isList && !isCelMap(value)) return fails(NOT_JSON[celType(value).name] ?? "no JSON");
  if (depth === 0) return fails("a value that nests too deep");
  return isList ? listOf([...value], depth) : fieldsOf(value, depth);
}

function scalarOf(value: CelValue): Scalar | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return { ok: true, value };
  if (typeof value === "bigint") return wholeNumber(value);
  if (isCelUint(value)) return wholeNumber(value.value);
  return typeof value === "number" ? finite(value) : undefined;
}

/** The text of a scalar, in a longer text. */
export function textOf(value: CelValue): JsonResult {
  const scalar = scalarOf(value);
  if (scalar === undefined) return isCelList(value) || isCelMap(value) ? fails(NO_TEXT) : jsonOf(value);
  if (!scalar.ok) return scalar;
  return scalar.value === null
    ? fails("null, expected text, a number or a bool")
    : { ok: true, value: String(scalar.value) };
}

const NO_TEXT = "a list or a map, expected text, a number or a bool: let the value be this expression alone";

function wholeNumber(value: bigint): Scalar {
  const number = Number(value);
  return Number.isSafeInteger(number) ? { ok: true, value: number } : fails(TOO_LONG);
}

/** A large number of a Cluster's variable comes as a double, which may be another one. */
function finite(value: number): Scalar {
  if (!Number.isFinite(value)) return fails("a number that JSON does not have");
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? fails(TOO_LONG) : { ok: true, value };
}

const TOO_LONG = "a whole number beyond 2^53, which JSON does not keep: write a text";

function listOf(items: readonly CelValue[], depth: number): JsonResult {
  meter.charge(items.length);
  const values: unknown[] = [];
  for (const item of items) {
    const json = jsonOf(item, depth - 1);
    if (!json.ok) return json;
    if (json.value !== null) values.push(json.value);
  }
  return { ok: true, value: values };
}

function fieldsOf(map: CelMap, depth: number): JsonResult {
  meter.charge(map.size);
  const fields: [string, unknown][] = [];
  for (const [key, field] of map) {
    if (typeof key !== "string") return fails("a map with keys that are no text");
    const json = jsonOf(field, depth - 1);
    if (!json.ok) return json;
    if (json.value !== null) fields.push([key, json.value]);
  }
  return { ok: true, value: Object.fromEntries(fields) };
}

function fails(problem: string): Result<never> {
  return { ok: false, problem };
}
