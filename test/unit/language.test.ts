/** The comments and strings of src/ use none of the words below; add a word once no file has it any more. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const WORDS =
  /\b(?:whoever|nobody|somebody|anybody|everybody|strangers?|lets? (?:it |them )?go|lets? \w+ go on)\b/gi;
const SRC = join(import.meta.dirname, "../../src");

for (const file of globSync("**/*.ts", { cwd: SRC })) {
  if (file.endsWith(".gen.ts")) continue;
  test(`${file} speaks plainly`, () => {
    assert.deepEqual(readFileSync(join(SRC, file), "utf8").match(WORDS) ?? [], []);
  });
}
