import assert from "node:assert/strict";
import { resolve } from "node:path";
import test from "node:test";
import { onTerminal } from "./pseudo-terminal.ts";

const CONFIRM = resolve(import.meta.dirname, "../../../../src/cli/terminal/confirm.ts");
const PROGRAM = `
  const { confirm } = await import(${JSON.stringify(CONFIRM)});
  try {
    await confirm("Delete it?", false);
    console.log("went on");
  } catch (error) {
    console.log(error.message);
    process.exitCode = error.exitCode;
  }`;

const NO = /\nnot confirmed: nothing was changed\r\n/;
const ANSWERS: Readonly<Record<string, { code: number; says: RegExp }>> = {
  "y\r": { code: 0, says: /\nwent on\r\n/ },
  "YES\r": { code: 0, says: /\nwent on\r\n/ },
  "n\r": { code: 1, says: NO },
  "\r": { code: 1, says: NO },
  "yesterday\r": { code: 1, says: NO },
  "y\u0003": { code: 1, says: NO },
  "\u0004": { code: 1, says: NO },
};
for (const [keys, { code, says }] of Object.entries(ANSWERS)) {
  test(`only a yes is one: ${JSON.stringify(keys)}`, async () => {
    const answered = await onTerminal(["--input-type=module", "-e", PROGRAM], () => keys);
    assert.equal(answered.code, code);
    assert.match(answered.seen, /Delete it\? \[y\/N\] /);
    assert.match(answered.seen, says);
  });
}
