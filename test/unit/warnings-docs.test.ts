/** The names of warnings, which `hookpolicy.dev/accept` takes, are those that docs/cli.md lists. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const ROOT = join(import.meta.dirname, "../..");

/** Where a warning is made, its name is a word of the source. */
const NAMED = [
  /\bid: "([a-z]+(?:-[a-z]+)+)"/g,
  /\bnamed\("([a-z]+(?:-[a-z]+)+)"/g,
  /\["([a-z]+(?:-[a-z]+)+)", \//g,
  /^export const [A-Z_]+ = "([a-z]+(?:-[a-z]+)+)";/gm,
];

test("each warning of validate is in the docs, and no other", () => {
  const files = globSync("src/{policy,cli/validate,cli/fleet}/**/*.ts", { cwd: ROOT });
  const made = files
    .filter((file) => !file.endsWith(".gen.ts"))
    .map((file) => readFileSync(join(ROOT, file), "utf8"))
    .flatMap((source) => NAMED.flatMap((pattern) => [...source.matchAll(pattern)].map(([, id]) => id)));
  const [, section = ""] =
    /^### Warnings\n(.*?)^##/ms.exec(readFileSync(join(ROOT, "docs/cli.md"), "utf8")) ?? [];
  const told = [...section.matchAll(/^\| `([a-z-]+)`/gm)].map(([, id]) => id);
  assert.deepEqual(new Set(told), new Set(made));
});
