/** The result of an expression as a value of an object in JSON. */

import { type CelMap, celType, type CelValue, isCelList, isCelMap, isCelUint } from "@bufbuild/cel";
import { MAX_DEPTH } from "../../lib/fields.ts";
import { type ExpressionResult, meter } from "./meter.ts";

/** Null fields and items are left out, as the API server stores no null. */
export function jsonOf(value: CelValue, depth = MAX_DEPTH): ExpressionResult {
  const scalar = scalarOf(value);
  if (scalar !== undefined) return scalar;
  const isList = isCelList(value);
  if (!isList && !isCelMap(value)) {
    const type = celType(value).name.replace("google.protobuf.", "").toLowerCase();
    return fails(`${type}, which JSON does not have: write string(…)`);
  }
  if (depth === 0) return fails("a value that nests too deep");
  return isList ? listOf([...value], depth) : fieldsOf(value, depth);
}

function scalarOf(value: CelValue): ExpressionResult | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return { ok: true, value };
  if (typeof value === "bigint") return wholeNumber(value);
  if (isCelUint(value)) return wholeNumber(value.value);
  return typeof value === "number" ? finite(value) : undefined;
}

/** The text of a scalar, in a longer text. */
export function scalarText(value: CelValue): ExpressionResult {
  const json = jsonOf(value);
  if (!json.ok) return json;
  const { value: text } = json;
  if (typeof text === "string") return json;
  return typeof text === "number" || typeof text === "boolean"
    ? { ok: true, value: String(text) }
    : fails("null, a list or a map, expected text, a number or a bool");
}

function wholeNumber(value: bigint): ExpressionResult {
  const number = Number(value);
  return Number.isSafeInteger(number) ? { ok: true, value: number } : fails(TOO_LONG);
}

/** A large number of a Cluster's variable comes as a double, which may be another one. */
function finite(value: number): ExpressionResult {
  if (!Number.isFinite(value)) return fails("a number that JSON does not have");
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? fails(TOO_LONG) : { ok: true, value };
}

const TOO_LONG = "a whole number beyond 2^53, which JSON does not keep: write a text";

function listOf(items: readonly CelValue[], depth: number): ExpressionResult {
  meter.charge(items.length);
  const values: unknown[] = [];
  for (const item of items) {
    const json = jsonOf(item, depth - 1);
    if (!json.ok) return json;
    if (json.value !== null) values.push(json.value);
  }
  return { ok: true, value: values };
}

function fieldsOf(map: CelMap, depth: number): ExpressionResult {
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

function fails(problem: string): ExpressionResult {
  return { ok: false, problem };
}
