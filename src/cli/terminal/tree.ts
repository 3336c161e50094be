/** Trees as `kubectl` plugins and clusterctl draw them, with lines of details below each branch. */

import type { Branch, BranchDetails } from "../../page/branch.ts";
import { width } from "./colour.ts";

/** `columns`: longer lines are wrapped between words; absent: never. */
export function treeLines({ text, details = [], branches = [] }: Branch, columns = Infinity): string[] {
  const below = branches.length > 0 ? "│  " : "   ";
  return [
    ...wrapped(text, columns, "  "),
    ...detailLines(details, columns - below.length).map((line) => `${below}${line}`),
    ...branches.flatMap((branch, index) => {
      const isLast = index === branches.length - 1;
      const [first = "", ...rest] = treeLines(branch, columns - 3);
      return [`${isLast ? "└─ " : "├─ "}${first}`, ...rest.map((line) => `${isLast ? "   " : "│  "}${line}`)];
    }),
  ].map((line) => line.trimEnd());
}

/** Formats labels in one column and texts in another. */
export function detailLines(given: BranchDetails, columns = Infinity): string[] {
  const details = given.filter((each) => each !== false);
  const indent = Math.max(0, ...details.map(({ label }) => label.length)) + 2;
  return details.flatMap(({ label, text, words = text, whole = false }) => {
    const lines = whole ? [text] : wrapped(words, columns - indent);
    return lines.map((line, index) => `${(index === 0 ? label : "").padEnd(indent)}${line}`);
  });
}

export function indented(details: BranchDetails, columns = Infinity): string[] {
  return detailLines(details, columns - 2).map((line) => `  ${line}`);
}

export function paragraphs(all: readonly (readonly string[])[]): string[] {
  return all
    .filter((lines) => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ["", ...lines]));
}

const MIN_COLUMNS = 20;

/** Wraps a text, or its words, to this many columns; `indent` precedes all lines but the first. */
export function wrapped(given: string | readonly string[], columns = Infinity, indent = ""): string[] {
  const words = typeof given === "string" ? given.split(/(?<=\S) /) : given;
  const text = words.join(" ");
  if (width(text) <= columns) return [text];
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    const next = line === "" ? word : `${line} ${word}`;
    if (line === "" || line === indent || width(next) <= Math.max(columns, MIN_COLUMNS)) line = next;
    else {
      lines.push(line);
      line = `${indent}${word.trimStart()}`;
    }
  }
  return [...lines, line];
}
