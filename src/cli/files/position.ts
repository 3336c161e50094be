/** Finds the position of the value at a path in a YAML document. */

import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Pair, type Scalar } from "yaml";
import type { Part } from "./parsed.ts";

interface Step {
  readonly node: unknown;
  /** Start of the key, or of the item of a list. */
  readonly start: number;
  readonly rest: string;
}

/** Paths as in FieldError: spec.rules[0].hooks, metadata.labels[example.com/tier]. */
export function offsetOf(document: Document.Parsed, path: string, of: Part, text: string): number {
  const { contents } = document;
  let step: Step = { node: contents, start: contents?.range[0] ?? 0, rest: path };
  for (;;) {
    const node = isAlias(step.node) ? step.node.resolve(document) : step.node;
    if (step.rest === "") return offsetIn(step, node, of, text);
    const next = below(node, step);
    if (next === undefined) return step.start;
    step = next;
  }
}

function offsetIn({ node: own, start }: Step, node: unknown, of: Part, text: string): number {
  if (typeof of === "number" && isScalar(node)) return letterOffset(node, of, text) ?? start;
  return of !== "key" && isScalar(own) ? startOf(own, start) : start;
}

function below(node: unknown, { start, rest }: Step): Step | undefined {
  if (isSeq(node)) {
    const [head = "", index] = /^\[(\d+)\]/.exec(rest) ?? [];
    const item = index === undefined ? undefined : node.items[Number(index)];
    return item === undefined
      ? undefined
      : { node: item, start: startOf(item, start), rest: after(rest, head.length) };
  }
  if (!isMap(node)) return undefined;
  const [longest] = node.items
    .filter((pair) => matchLength(pair, rest) > 0)
    .toSorted((a, b) => matchLength(b, rest) - matchLength(a, rest));
  if (longest === undefined) return undefined;
  const { key, value } = longest;
  return { node: value, start: startOf(key, start), rest: after(rest, matchLength(longest, rest)) };
}

/** The length of this key at the start of `rest`; 0: it is another key. Keys can contain dots. */
function matchLength({ key }: Pair, rest: string): number {
  const name = String(isScalar(key) ? key.value : key);
  if (rest.startsWith(`[${name}]`)) return name.length + 2;
  if (!rest.startsWith(name)) return 0;
  return ["", ".", "["].includes(rest.charAt(name.length)) ? name.length : 0;
}

function after(rest: string, length: number): string {
  return rest.slice(length).replace(/^\./, "");
}

function startOf(node: unknown, otherwise: number): number {
  return (isNode(node) ? node.range?.[0] : undefined) ?? otherwise;
}

/**
 * The offset of a letter of a scalar. However the scalar is quoted, folded or indented, all characters except white space
 * have the same order in the file and in the value.
 */
function letterOffset(node: Scalar, letter: number, text: string): number | undefined {
  const { range, value, type: style = "PLAIN" } = node;
  if (!range || typeof value !== "string") return undefined;
  const [start, end] = range;
  const wanted = value.slice(0, letter).replaceAll(/\s/g, "").length;
  // A block begins after the line of its indicator.
  const from = style.startsWith("BLOCK")
    ? text.indexOf("\n", start) + 1
    : start + (style === "PLAIN" ? 0 : 1);
  const units = text.slice(from, end).matchAll(UNITS[style] ?? /\S/g);
  const letters = units.filter(([unit]) => !WHITE_SPACE.test(unit));
  const found = letters.drop(wanted).next().value;
  return found === undefined ? end : from + found.index;
}

/** The characters in the file that denote one letter. */
const UNITS: Readonly<Record<string, RegExp>> = {
  QUOTE_DOUBLE: /\\(?:x..|u.{4}|U.{8}|\r?\n|.)|\S/g,
  QUOTE_SINGLE: /''|\S/g,
};
/** Escapes for white space, and for the end of a continued line. */
const WHITE_SPACE = /^\\(?:[ tnrvf_NLP]|\r?\n|\t)$/;
