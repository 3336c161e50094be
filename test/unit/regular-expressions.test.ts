/**
 * A regular expression finds its next match in linear time, whatever it reads; on the command line, in polynomial time. What all
 * matches of a text take together is another matter: test/redteam/long-texts.test.ts.
 */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { parseSync, Visitor } from "oxc-parser";
import { checkSync } from "recheck";
import { parse } from "yaml";

const ROOT = join(import.meta.dirname, "../..");
// The same program on each system.
process.env["RECHECK_SYNC_BACKEND"] = "pure";

interface Found {
  readonly at: string;
  readonly source: string;
  readonly flags: string;
}

function literalsOf(file: string): Found[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const found: Found[] = [];
  const add = (start: number, source: string, flags: string): number =>
    found.push({ at: `${file}:${text.slice(0, start).split("\n").length}`, source, flags });
  new Visitor({
    Literal: (node) => {
      if ("regex" in node) add(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression: ({ callee, arguments: [pattern, flags], start }) => {
      if (callee.type !== "Identifier" || callee.name !== "RegExp" || pattern?.type !== "Literal") return;
      add(start, String(pattern.value), flags?.type === "Literal" ? String(flags.value) : "");
    },
  }).visit(parseSync(file, text).program);
  return found;
}

/** Patterns of the CRDs, which the operator checks as well. */
function patternsOf(file: string): Found[] {
  const found: Found[] = [];
  const text = readFileSync(join(ROOT, file), "utf8");
  parse(text, (key, value: unknown) => {
    if (key === "pattern" && typeof value === "string")
      found.push({ at: file, source: value.replaceAll("\\x{", "\\u{"), flags: "u" });
    return value;
  });
  return found;
}

/** They keep only their own user waiting, or read expressions, which have at most 1024 bytes. */
const MAY_BE_POLYNOMIAL = [
  "src/cli/",
  "src/page/",
  "src/main.ts",
  "src/policy/cel/conjuncts.ts",
  "src/policy/cel/syntax.ts",
];

const all = [
  ...globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).flatMap(literalsOf),
  ...globSync("crds/*.yaml", { cwd: ROOT }).flatMap(patternsOf),
].filter(({ source }) => /[*+]|\{\d+,/.test(source));
const different = [...new Map(all.map((each) => [`/${each.source}/${each.flags}`, each]))];

/** By steps, without a clock: proven if that takes few, otherwise attacked with made up texts. */
const CHECK = {
  maxNFASize: 2000,
  attackLimit: 10_000_000,
  maxIteration: 3,
  skipRecall: true,
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
} as const;

for (const [text, { at, source, flags }] of different) {
  test(`${at} ${text}`, () => {
    const found = checkSync(source, flags, CHECK);
    if (found.status === "safe") return;
    assert.ok(found.status === "vulnerable", "it could not be checked");
    const { type, summary } = found.complexity;
    assert.ok(type === "polynomial" && MAY_BE_POLYNOMIAL.some((place) => at.startsWith(place)), summary);
  });
}

test("regular expressions were found", () => {
  assert.ok(different.length > 100);
});
