/**
 * Text functions of CEL in which the library differs from the specification or does more work than the length of the
 * text: conversions that read empty text as zero, split() and replace() with a count, regular expressions.
 */

import {
  celFunc,
  type CelFunc,
  celMethod,
  CelScalar,
  type CelUint,
  celUint,
  listType,
  objectType,
} from "@bufbuild/cel";
import { type Timestamp, timestampFromMs, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { RE2JS } from "@bufbuild/re2";
import { meter } from "./meter.ts";
import { found } from "../../lib/quoted-value.ts";
import { weakMemo } from "../../lib/weak-memo.ts";
import { parseInstant } from "../window/moment.ts";

const { BOOL, DOUBLE, INT, STRING, UINT } = CelScalar;
const TIMESTAMP = objectType(TimestampSchema);

export const MAX_INT = 2n ** 63n - 1n;
export const MIN_INT = -(2n ** 63n);
export const MAX_UINT = 2n ** 64n - 1n;

export const textFunctions: readonly CelFunc[] = [
  celFunc("int", [STRING], INT, parseInteger),
  celFunc("uint", [STRING], UINT, parseUnsigned),
  celFunc("double", [STRING], DOUBLE, parseDouble),
  celFunc("timestamp", [STRING], TIMESTAMP, parseTimestamp),
  celFunc("timestamp", [INT], TIMESTAMP, (seconds) => instant(Number(seconds) * 1000, 0)),
  celMethod("matches", STRING, [STRING], BOOL, function (pattern) {
    return matches(this, pattern);
  }),
  celMethod("split", STRING, [STRING], listType(STRING), function (separator) {
    return split(this, separator, -1);
  }),
  celMethod("split", STRING, [STRING, INT], listType(STRING), function (separator, limit) {
    return split(this, separator, Number(limit));
  }),
  celMethod("replace", STRING, [STRING, STRING], STRING, function (part, by) {
    return replace(this, part, by, -1);
  }),
  celMethod("replace", STRING, [STRING, STRING, INT], STRING, function (part, by, limit) {
    return replace(this, part, by, Number(limit));
  }),
];

/** The library reads "" as 0 and accepts 0x10 and blanks. */
function parseInteger(text: string): bigint {
  if (!/^[+-]?\d{1,19}$/.test(text)) throw new Error("not an integer");
  const value = BigInt(text.replace("+", ""));
  if (value > MAX_INT || value < MIN_INT) throw new Error("out of range");
  return value;
}

function parseUnsigned(text: string): CelUint {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > MAX_UINT) throw new Error("not an unsigned integer");
  return celUint(BigInt(text));
}

function parseDouble(text: string): number {
  if (/^([+-]?Infinity|NaN)$/.test(text)) return Number(text);
  if (text.length > 64 || !/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text))
    throw new Error("not a number");
  return Number(text);
}

/** The library accepts 30 February and 24:00. */
function parseTimestamp(text: string): Timestamp {
  const ms = parseInstant(text);
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  if (ms === undefined || fraction.length > 9) throw new Error("not a time");
  return instant(Math.floor(ms / 1000) * 1000, Number(fraction.padEnd(9, "0")));
}

const MIN_MS = Date.parse("0001-01-01T00:00:00Z");
const MAX_MS = Date.parse("9999-12-31T23:59:59Z");

function instant(ms: number, nanos: number): Timestamp {
  if (!(ms >= MIN_MS && ms <= MAX_MS)) throw new Error("out of range");
  return { ...timestampFromMs(ms), nanos };
}

/** As in Go: the last part is the rest of the text, and a negative limit means no limit. */
function split(text: string, separator: string, limit: number): string[] {
  meter.chargeSearch(text, separator);
  if (limit === 0) return [];
  const parts = separator === "" ? Array.from(text) : text.split(separator);
  meter.charge(parts.length);
  if (limit < 0 || parts.length <= limit) return parts;
  return [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
}

function replace(text: string, part: string, by: string, limit: number): string {
  const parts = part === "" ? ["", ...Array.from(text), ""] : text.split(part);
  meter.chargeSearch(text, part);
  const count = limit < 0 ? parts.length - 1 : Math.min(limit, parts.length - 1);
  meter.charge(parts.length);
  meter.chargeText({ length: count * by.length });
  return (
    parts.slice(0, count + 1).join(by) +
    parts
      .slice(count + 1)
      .map((rest) => part + rest)
      .join("")
  );
}

/** The limit for one pattern, and for all patterns of an expression together. */
export const MAX_PATTERN_WEIGHT = 1000;
/** How many characters times parts of a pattern count as one step. */
const TRIALS_PER_STEP = 2;

function matches(text: string, pattern: string): boolean {
  meter.charge(Math.ceil(((text.length + 1) * patternWeight(pattern)) / TRIALS_PER_STEP));
  return compilePattern(pattern).test(text);
}

/**
 * The library compiles the pattern again at each call. RE2 does not backtrack, and only checked patterns are compiled.
 * An expression keeps its patterns alive.
 */
export const compilePattern = weakMemo((pattern) => RE2JS.compile(pattern));

/** Finds a mistake in a regular expression; `undefined` if it is valid. */
export function patternProblem(pattern: string): string | undefined {
  if (patternWeight(pattern) > MAX_PATTERN_WEIGHT) return `the pattern ${found(pattern)} repeats too much`;
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "";
    return `found ${found(pattern)}, expected a regular expression of RE2: ${reason}`;
  }
}

/** A Unicode class is a list of hundreds of ranges. */
const CLASS_WEIGHT = 20;
/** Authors of policies write the text: each atom is read in one way, and one without an end is the rest of the text. */
const ATOM =
  /\\Q.*?(?:\\E|$)|\\[pP](?:\{[^}]*\}?|.)|\\x\{[^}]*\}?|\\.|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]?|\{(?<low>\d+)(?:,(?<high>\d*))?\}|./gsu;

/** The approximate number of parts of the compiled pattern: its length, with counted repetitions expanded. */
export function patternWeight(pattern: string): number {
  const groups: Group[] = [{ sum: 1, last: 0 }];
  for (const { 0: atom, groups: count } of pattern.matchAll(ATOM)) {
    const [outer, group = { sum: 0, last: 0 }] = [groups.at(-2), groups.at(-1)];
    if (atom === "(") groups.push({ sum: 0, last: 0 });
    else if (atom === ")" && outer !== undefined) {
      groups.pop();
      append(outer, group.sum);
    } else if (count?.["low"] === undefined) append(group, atomWeight(atom));
    else {
      const repeats = Math.max(Number(count["low"]), Number(count["high"] ?? 0), 1);
      append(group, group.last * (repeats - 1));
    }
  }
  return groups.reduce((total, { sum }) => total + sum, 0);
}

interface Group {
  sum: number;
  /** Weight of the part that a following repetition would repeat. */
  last: number;
}

function append(group: Group, weight: number): void {
  group.sum += weight;
  group.last = weight;
}

function atomWeight(atom: string): number {
  const classes = atom.match(/\\[pP]/g)?.length ?? 0;
  return classes * CLASS_WEIGHT + (atom.startsWith("\\Q") ? atom.length : 1);
}
