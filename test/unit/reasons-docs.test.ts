/** The reasons that rules, gates and tasks can have are those that docs/decisions.md explains. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const ROOT = join(import.meta.dirname, "../..");

/** Where a rule, a gate or a task gets its reason; overrides have reasons of their own. */
const SOURCES = [
  ...globSync("src/policy/**/*.ts", { cwd: ROOT }).filter((file) => !file.endsWith("/compile-override.ts")),
  "src/objects/object-refusal.ts",
  "src/decisions/live-reads.ts",
  "src/cli/fleet/given-objects.ts",
  "src/views/too-large.ts",
];

/** There, it is a word of the source. */
const MADE = [
  /(?<!problem: \{ )\breason: "([A-Z]\w+)"/g,
  /\breason(?: =|:) [^;?]*\? (?:"([A-Z]\w+)"|[A-Z_]+) : "([A-Z]\w+)"/g,
  /\? rule\.reason : "(\w+)"/g,
  /\b(?:unevaluable|refused)\(\s*"([A-Z]\w+)"/g,
  /\bnotEvaluable\(rule, (?:rule\.broken \?\? )?"(\w+)"/g,
  /\bwithoutGates\(\w+, "\w+", "(\w+)"/g,
  /\bsay\("\w+", "(\w+)"/g,
  /^export const [A-Z_]+ = "([A-Z][a-z]\w+)"(?: as const)?;$/gm,
];

test("docs/decisions.md has each reason, and no other", () => {
  const made = SOURCES.map((file) => readFileSync(join(ROOT, file), "utf8")).flatMap((source) =>
    MADE.flatMap((pattern) => [...source.matchAll(pattern)].flatMap(([, ...reasons]) => reasons)),
  );
  const page = readFileSync(join(ROOT, "docs/decisions.md"), "utf8");
  const [, section = ""] = /^## Reasons\n(.*?)^## /ms.exec(page) ?? [];
  const told = [...section.matchAll(/^\|[^|]*\|([^|]*)\|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, reason]) => reason),
  );
  assert.deepEqual(new Set(told), new Set(made.filter((reason) => reason !== undefined)));
});
