/** Limits the size of a spec: checking and compiling it takes the time of all calls meanwhile. */

import { MAX_DEPTH } from "../../lib/fields.ts";
import type { FieldError } from "./schema.ts";

/** Objects, lists and values together. The largest spec takes some 100 ms; the largest recipe has a twentieth of it. */
const MAX_VALUES = 4096;
/** Names and texts together: 16 rules of 16 gates with 500 each. */
const MAX_CHARS = 128 * 1024;

/** For a spec that was not checked. Empty: it is small enough to be checked. */
export function sizeErrors(spec: unknown): readonly FieldError[] {
  return isTooLarge(spec) ? [{ path: "spec", message: "too large to be checked: make several of it" }] : [];
}

function isTooLarge(spec: unknown): boolean {
  const open: [value: unknown, depth: number][] = [[spec, 0]];
  let [values, chars] = [0, 0];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next;
    if (typeof value === "string") chars += value.length;
    for (const [key, child] of entriesOf(value)) {
      values += 1;
      chars += key.length;
      if (values > MAX_VALUES || chars > MAX_CHARS || depth === MAX_DEPTH) return true;
      open.push([child, depth + 1]);
    }
  }
  return chars > MAX_CHARS;
}

/** Yields one entry at a time, because a list may have a million. */
function* entriesOf(value: unknown): Generator<readonly [key: string, value: unknown]> {
  if (Array.isArray(value)) for (const item of value) yield ["", item];
  else if (typeof value === "object" && value !== null) {
    for (const key of Object.keys(value)) yield [key, Reflect.get(value, key)];
  }
}
