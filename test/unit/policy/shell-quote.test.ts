import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { isPrintable } from "../../../src/lib/printable.ts";
import { shellQuote } from "../../../src/lib/shell-quote.ts";

test("a shell reads back what was quoted, and nothing of it steers the terminal", () => {
  const words = [
    "a=b",
    "",
    "a b",
    "it's",
    "$(id)`id`;\\",
    "it's\n\t\\\u001B[2J",
    "a\u202Eb\u2028\u0085é\u200B\u{E0041}'",
  ];
  const quoted = words.map(shellQuote);
  const seen = execFileSync("bash", ["-c", `printf '%s\\0' ${quoted.join(" ")}`]).toString();
  assert.deepEqual(seen.split("\0").slice(0, -1), words);
  assert.ok(quoted.every(isPrintable));
  assert.equal(shellQuote("a=b"), "a=b");
});
