/** Estimates, without compiling a spec, what it takes in memory in addition to itself once it is compiled. */

import { isFields } from "../lib/fields.ts";
import { isExpressionField } from "../policy/tasks/template-text.ts";
import { MAX_PATTERN_WEIGHT, patternWeight } from "../policy/cel/cel-text.ts";

/** Measured: the plan of an expression, by its characters and by the parts of its patterns (RE2). */
const [BYTES_PER_LETTER, BYTES_PER_PART] = [350, 450];
/** A pattern can be written so that its text does not show its parts. */
const ESCAPE = /\\[xXuU0-7]/;

/** All expressions of a spec, valid or not. */
export function expressionBytes(spec: unknown): number {
  if (Array.isArray(spec)) return spec.reduce((sum: number, each) => sum + expressionBytes(each), 0);
  if (!isFields(spec)) return 0;
  let bytes = 0;
  for (const [key, value] of Object.entries(spec))
    bytes +=
      typeof value === "string" && isExpressionField(key, value) ? planBytes(value) : expressionBytes(value);
  return bytes;
}

function planBytes(source: string): number {
  const weight = ESCAPE.test(source) ? MAX_PATTERN_WEIGHT : patternWeight(source);
  const parts = source.includes("matches") ? Math.min(weight, MAX_PATTERN_WEIGHT) : 0;
  return source.length * BYTES_PER_LETTER + parts * BYTES_PER_PART;
}
