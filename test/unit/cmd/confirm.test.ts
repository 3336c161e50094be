/** The question on a real terminal, which `script` (util-linux) gives. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import test from "node:test";

const CONFIRM = resolve(import.meta.dirname, "../../../src/cmd/confirm.ts");
const PROGRAM = `
  const { confirm } = await import(${JSON.stringify(CONFIRM)});
  try {
    await confirm("Delete it?", false);
    console.log("went on");
  } catch (error) {
    console.log(\`exit \${error.exitCode}: \${error.message}\`);
  }`;

async function answered(keys: string): Promise<string> {
  const command = `"$NODE" --input-type=module -e "$PROGRAM"`;
  const env = { ...process.env, NODE: process.execPath, PROGRAM };
  const child = spawn("script", ["-qec", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "inherit"] });
  let seen = "";
  for await (const chunk of child.stdout) {
    const asked = seen.includes("[y/N] ");
    seen += String(chunk);
    if (!asked && seen.includes("[y/N] ")) child.stdin.write(keys);
  }
  return seen;
}

const ANSWERS: Readonly<Record<string, RegExp>> = {
  "y\r": /went on/,
  "YES\r": /went on/,
  "n\r": /exit 1: not confirmed: nothing was changed/,
  "\r": /exit 1: not confirmed/,
  "yesterday\r": /exit 1: not confirmed/,
  "y\u0003": /exit 1: not confirmed/,
  "\u0004": /exit 1: not confirmed/,
};
for (const [keys, says] of Object.entries(ANSWERS)) {
  test(`only a yes is one: ${JSON.stringify(keys)}`, async () => {
    const seen = await answered(keys);
    assert.match(seen, /Delete it\? \[y\/N\] /);
    assert.match(seen, says);
  });
}
