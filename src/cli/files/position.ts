/** Finds the position of the value at a path in a YAML document. */

import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar } from "yaml";
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
    const next = step.rest === "" ? undefined : below(node, step.rest);
    if (next === undefined) return step.rest === "" ? offsetIn(step, node, of, text) : step.start;
    step = { ...next, start: next.start < 0 ? step.start : next.start };
  }
}

function offsetIn({ node: own, start }: Step, node: unknown, of: Part, text: string): number {
  if (typeof of === "number" && isScalar(node)) return letterOffset(node, of, text) ?? start;
  return of !== "key" && isScalar(own) ? startOf(own, start) : start;
}

function below(node: unknown, rest: string): Step | undefined {
  if (isSeq(node)) {
    const [head = "", index] = /^\[(\d+)\]/.exec(rest) ?? [];
    const item = index === undefined ? undefined : node.items[Number(index)];
    return item === undefined
      ? undefined
      : { node: item, start: startOf(item, -1), rest: after(rest, head.length) };
  }
  if (!isMap(node)) return undefined;
  const [longest] = node.items
    .flatMap((pair) => (matchLength(pair, rest) > 0 ? [pair] : []))
    .toSorted((a, b) => matchLength(b, rest) - matchLength(a, rest));
  if (longest === undefined) return undefined;
  const { key, value } = longest;
  return { node: value, start: startOf(key, -1), rest: after(rest, matchLength(longest, rest)) };
}

/** The length of this key at the start of `rest`, as keys can contain dots. */
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
  return isNodeWithRange(node) ? node.range[0] : otherwise;
}

/**
 * The offset of a letter of a scalar. However it is quoted, folded or indented, everything but white space stands in
 * the file in the same order as in the value.
 */
function letterOffset(node: Scalar, letter: number, text: string): number | undefined {
  if (!isNodeWithRange(node) || typeof node.value !== "string") return undefined;
  const [start, end] = node.range;
  const wanted = node.value.slice(0, letter).replaceAll(/\s/g, "").length;
  const style = node.type ?? "PLAIN";
  // A block begins after the line of its indicator.
  const from = style.startsWith("BLOCK")
    ? text.indexOf("\n", start) + 1
    : start + (style === "PLAIN" ? 0 : 1);
  const units = UNITS[style] ?? /\S/g;
  let count = 0;
  for (const { 0: unit, index } of text.slice(from, end).matchAll(units)) {
    if (WHITE_SPACE.test(unit)) continue;
    if (count === wanted) return from + index;
    count += 1;
  }
  return end;
}

/** The characters in the file that denote one letter. */
const UNITS: Readonly<Record<string, RegExp>> = {
  QUOTE_DOUBLE: /\\(?:x..|u.{4}|U.{8}|\r?\n|.)|\S/g,
  QUOTE_SINGLE: /''|\S/g,
};
/** Escapes for white space, and for the end of a continued line. */
const WHITE_SPACE = /^\\(?:[ tnrvf_NLP]|\r?\n|\t)$/;

function isNodeWithRange(
  node: unknown,
): node is Node & { readonly range: readonly [number, number, number] } {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range);
}
