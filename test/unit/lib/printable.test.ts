/** What may leave the program, and what is made of the rest. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import { isPrintable, printable } from "../../../src/lib/printable.ts";
import { runs } from "../../generated.ts";

const RANGES: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  "C0, with line breaks and tabs": [[0x00, 0x1f]],
  "DEL and C1": [[0x7f, 0x9f]],
  "marks of direction": [
    [0x061c, 0x061c],
    [0x200e, 0x200f],
    [0x202a, 0x202e],
    [0x2066, 0x2069],
  ],
  "what has no width": [
    [0x00ad, 0x00ad],
    [0x200b, 0x200d],
    [0x2060, 0x2064],
    [0xfeff, 0xfeff],
  ],
  "separators of lines": [[0x2028, 0x2029]],
  "halves of surrogate pairs": [[0xd800, 0xdfff]],
  "tags, which spell invisible words": [[0xe0020, 0xe007f]],
};

describe("not printable:", () => {
  for (const [name, ranges] of Object.entries(RANGES)) {
    test(name, () => {
      for (const [first, last] of ranges) {
        for (let code = first; code <= last; code += 1) {
          const character = String.fromCodePoint(code);
          const text = `a${character}b`;
          assert.ok(!isPrintable(text), code.toString(16));
          assert.match(printable(text), /^a(?:\\[nt]|(?:\\u[0-9a-f]{4})+)b$/, code.toString(16));
          assert.equal(JSON.parse(`"${printable(text)}"`), text);
        }
      }
    });
  }
});

test("everything else stays as it is", () => {
  const text = ` ~ \\ " ' <b> \u00A0 é ß 日本語 עברית العربية 😀 \u{10FFFD} e\u0301 ✔\uFE0F`;
  assert.ok(isPrintable(text));
  assert.equal(printable(text), text);
});

const HOSTILE = fc.constantFrom(
  ...Array.from("\u001B\u0085\u009B\u202E\u200B\u2028\uFEFF\n\t\r\u0000\u{E0041}\uD800"),
  "\uDC00",
);
const character = fc.oneof(
  HOSTILE,
  fc.constantFrom("\\", "u", "0", '"', "n"),
  fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
);
const text = fc.array(character, { maxLength: 20 }).map((characters) => characters.join(""));

describe("whatever the text,", () => {
  test("what comes out is printable, and comes out of it again", () => {
    fc.assert(
      fc.property(text, (given) => {
        const once = printable(given);
        assert.ok(isPrintable(once));
        assert.equal(printable(once), once);
      }),
      runs(20_000),
    );
  });

  test("without a backslash it can be told from every other: there is a way back", () => {
    const names = text.map((given) => given.replaceAll("\\", ""));
    fc.assert(
      fc.property(names, (given) => {
        assert.equal(JSON.parse(`"${printable(given).replaceAll('"', '\\"')}"`), given);
      }),
      runs(20_000),
    );
  });

  test("JSON of it is the same JSON", () => {
    const value = fc.dictionary(text, fc.oneof(text, fc.array(text)));
    fc.assert(
      fc.property(value, (given) => {
        assert.deepEqual(JSON.parse(printable(JSON.stringify(given))), JSON.parse(JSON.stringify(given)));
      }),
      runs(5000),
    );
  });
});
