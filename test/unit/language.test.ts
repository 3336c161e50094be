/** The source, the docs and the CRDs use none of the words below; add a word once no file has it any more. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const WORDS =
  /\b(?:whoever|nobody|somebody|anybody|everybody|strangers?|lets? (?:it |them )?go|lets? \w+ go on|begins? anew|told apart|for want of|a gate holds|gates? that holds?|gates (?:never )?held)\b/gi;
const ROOT = join(import.meta.dirname, "../..");
/** The page of benchmarks is written by the benchmarks, and keeps the names of what was measured. */
const WRITTEN_BY_PROGRAMS = /\.gen\.ts$|^docs\/benchmarks/;
const FILES = [
  "src/**/*.{ts,tsx}",
  "docs/**/*.md",
  "crds/source/*.yaml",
  "{README,CONTRIBUTING,SECURITY}.md",
];

for (const file of globSync(FILES, { cwd: ROOT })) {
  if (WRITTEN_BY_PROGRAMS.test(file)) continue;
  test(`${file} speaks plainly`, () => {
    assert.deepEqual(readFileSync(join(ROOT, file), "utf8").match(WORDS) ?? [], []);
  });
}
