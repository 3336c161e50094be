/** No public registry has HookPolicy: what its name brings from there is a program, or a schema, of others. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const ROOT = join(import.meta.dirname, "../../..");

const SHIPPED = [
  "*.{md,yml,json}",
  "{crds,docs,manifests,release,schemas,src,templates}/**/*.{cjs,js,json,md,ts,tsx,yaml,yml,tpl,txt}",
];

const FREE_NAMES = [
  /\b(?:unpkg\.com|jsdelivr\.net|esm\.sh|esm\.run|skypack\.dev|npmjs\.com\/package)\b/,
  /\b(?:npx|npm (?:add|ci|create|exec|i|install|pack|view)|pnpm|yarn|bunx?|deno)\b.*\b(?<![./-])hookpolicy(?:@|["'`\s]|$)/,
  /\b(?:docker|podman) (?:run|pull)\b.*\s(?:docker\.io\/)?[a-z]*\/?hookpolicy\b/,
  /\bkrew install hookpolicy\b/,
  /\bbrew install hookpolicy\b/,
];

function isFree(line: string): boolean {
  return FREE_NAMES.some((name) => name.test(line));
}

test("nothing that is shipped names what anyone could register", () => {
  const found = globSync(SHIPPED, { cwd: ROOT }).flatMap((file) =>
    readFileSync(join(ROOT, file), "utf8")
      .split("\n")
      .flatMap((line, index) => (isFree(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
  assert.deepEqual(found, []);
});

for (const line of [
  "# yaml-language-server: $schema=https://unpkg.com/hookpolicy@0.1.0/schemas/all.json",
  "npm install --global hookpolicy@0.1.0",
  "npx hookpolicy validate policies/",
  "npx --yes hookpolicy@0.1.0 validate policies/",
  "docker run --rm hookpolicy validate",
  "kubectl krew install hookpolicy",
])
  test(`it would be found: ${line}`, () => {
    assert.ok(isFree(line));
  });

for (const line of [
  'npm install --global "$folder"/*.tgz',
  "npm install --global ./hookpolicy-npm-0.1.0.tgz",
])
  test(`it is a file: ${line}`, () => {
    assert.ok(!isFree(line));
  });
