import assert from "node:assert/strict";
import test from "node:test";
import { codeFrame } from "../../../src/cli/validation/codeframe.ts";
import { colourFor, PLAIN } from "../../../src/cli/colour.ts";
import { table } from "../../../src/cli/table.ts";

const TERMINAL = { isTTY: true };
const ANSI = colourFor(TERMINAL, {}, {});

test("colour is for terminals whose owner wants it", () => {
  assert.equal(ANSI.red("a"), "\u001B[31ma\u001B[0m");
  assert.equal(colourFor({}, {}, {}), PLAIN);
  assert.equal(colourFor(TERMINAL, { color: false }, {}), PLAIN);
  assert.equal(colourFor(TERMINAL, {}, { NO_COLOR: "1" }), PLAIN);
  assert.equal(colourFor(TERMINAL, {}, { TERM: "dumb" }), PLAIN);
  assert.notEqual(colourFor(TERMINAL, { color: true }, { NO_COLOR: "" }), PLAIN);
});

test("columns are as wide as what they show, colours and wide letters aside", () => {
  const text = table(
    ["A", "B", "C"],
    [
      [ANSI.red("long"), "", "x"],
      ["é", "b", ""],
    ],
  );
  assert.equal(text, `A      B   C\n${ANSI.red("long")}       x\né      b\n`);
  assert.equal(table(["A"], []), "");
});

test("a frame shows the lines around a mark, at the ends of a file, too", () => {
  const lines = ["a: 1", "\tb: 2", "c: 3"];
  assert.equal(codeFrame(lines, { line: 2, column: 5 }), "  1 | a: 1\n> 2 |  b: 2\n    |     ^\n  3 | c: 3");
  assert.equal(codeFrame(lines, { line: 1, column: 1 }), "> 1 | a: 1\n    | ^\n  2 |  b: 2");
  assert.equal(codeFrame(lines, { line: 3, column: 4 }), "  2 |  b: 2\n> 3 | c: 3\n    |    ^");
});

test("a frame fits into the terminal, with the mark where it belongs", () => {
  const line = `${"x".repeat(70)}HERE${"x".repeat(30)}`;
  const rows = codeFrame([line], { line: 1, column: 71 }, PLAIN, 40).split("\n");
  assert.ok(rows.every((row) => row.length <= 40));
  assert.equal(rows[0]?.slice(rows[1]?.indexOf("^")).slice(0, 4), "HERE");
});

test("a frame of a long line shows its middle, and no control character", () => {
  const line = `${"x".repeat(1000)}HERE\u001B[31m`;
  const [text = "", mark = ""] = codeFrame([line], { line: 1, column: 1001 }).split("\n");
  assert.ok(text.length < 180);
  assert.equal(text.slice(mark.indexOf("^"), mark.indexOf("^") + 4), "HERE");
  assert.ok(!text.includes("\u001B"));
});
