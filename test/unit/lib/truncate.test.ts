/** No command that is printed to be pasted is cut, whatever stands beside it. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import { shellQuote } from "../../../src/lib/shell-quote.ts";
import { truncateText, truncateTextBytes } from "../../../src/lib/truncate.ts";
import { runs } from "../../generated.ts";

const command = fc
  .array(
    fc.string({ unit: fc.constantFrom(...Array.from("ab $'\\\"()…\u001B")), minLength: 1, maxLength: 9 }),
    {
      maxLength: 4,
    },
  )
  .map((words) => ` (kubectl ${["annotate", ...words.map(shellQuote)].join(" ")})`);
const parts = fc.array(fc.oneof(fc.constantFrom("gate a waits", ", and 2 more"), command), { maxLength: 6 });
const hostile = fc
  .array(fc.constantFrom(" (kubectl ", " (hookpolicy ", "$''", ...Array.from(" ($'\\)kubectl😀")), {
    maxLength: 60,
  })
  .map((pieces) => pieces.join(""));
const max = fc.integer({ min: 1, max: 120 });

describe("a truncated text", () => {
  test("has its commands whole, and as much of the rest as there is room for", () => {
    fc.assert(
      fc.property(parts, max, (given, most) => {
        const text = given.join("");
        const cut = truncateText(text, most);
        if (cut === text) return;
        let room = most - 1;
        const whole = given.map((part) => {
          const fits = part.length <= room ? part : part.startsWith(" (") ? "" : part.slice(0, room);
          room = fits === part ? room - part.length : 0;
          return fits;
        });
        assert.equal(cut, `${whole.join("")}…`);
      }),
      runs(2000),
    );
  });

  test("is found at once, is as short as it has to be, and begins as the text does", () => {
    fc.assert(
      fc.property(hostile, max, (text, most) => {
        const [cut, bytes] = [truncateText(text, most), truncateTextBytes(text, most + 3)];
        assert.ok(Array.from(cut).length <= most && Buffer.byteLength(bytes) <= most + 3);
        for (const each of [cut, bytes]) assert.ok(each === text || text.startsWith(each.slice(0, -1)), each);
      }),
      runs(5000),
    );
  });

  test("takes no longer for quotes that can be read in two ways, or commands without an end", () => {
    for (const piece of ["$''", "''", " (kubectl $'", " (kubectl '"])
      assert.match(truncateText(`words (kubectl ${piece.repeat(100_000)}'`, 256), /^words.*…$/);
  });
});
