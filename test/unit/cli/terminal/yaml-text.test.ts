import assert from "node:assert/strict";
import test from "node:test";
import { parse } from "yaml";
import { isPrintable } from "../../../../src/lib/printable.ts";
import { yamlText } from "../../../../src/cli/terminal/yaml-text.ts";
import { rawOverride } from "../raw.ts";

const override = (reason: string): object => rawOverride("a", { reason, expiresAt: "2026-11-21T12:00:00Z" });

for (const reason of ["INC-1", "yes", "a\u202Eb\u200B \u{E0041}\\u001b: #'\"", "a\nb", "\u001B\u0085"]) {
  test(`an override for Git is printable, and says the same: ${JSON.stringify(reason)}`, () => {
    const text = yamlText(override(reason));
    assert.ok(text.split("\n").every(isPrintable));
    assert.deepEqual(parse(text, { version: "1.1" }), override(reason));
  });
}

test("a long value with line breaks stays on one line, so that none of them begins a line", () => {
  const long = `${"x".repeat(100)}\n\nFORGED: true`;
  assert.match(yamlText({ long }), /^long: "x{100}\\n\\nFORGED: true"\n$/);
});

test("what is printable is not quoted for nothing", () => {
  assert.match(yamlText(override("the disk is full")), /^ {2}reason: the disk is full$/m);
});
