import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import test from "node:test";
import { isPrintable } from "../../../../src/lib/printable.ts";
import { codeFrame } from "../../../../src/cli/validate/report.ts";
import { terminalOf } from "../../../../src/cli/terminal/terminal.ts";
import { colourFor, PLAIN, shown } from "../../../../src/cli/terminal/colour.ts";
import { tableLines } from "../../../../src/cli/terminal/table.ts";

const TERMINAL = { isTTY: true };
const ANSI = colourFor(TERMINAL, {}, {});

test("colour is for terminals whose owner wants it", () => {
  assert.equal(shown(ANSI.red("a")), "\u001B[31ma\u001B[0m");
  assert.equal(colourFor({}, {}, {}), PLAIN);
  assert.equal(colourFor(TERMINAL, { color: false }, {}), PLAIN);
  assert.equal(colourFor(TERMINAL, {}, { NO_COLOR: "1" }), PLAIN);
  assert.equal(colourFor(TERMINAL, {}, { TERM: "dumb" }), PLAIN);
  assert.equal(colourFor(TERMINAL, {}, { FORCE_COLOR: "0" }), PLAIN);
  assert.notEqual(colourFor({}, {}, { FORCE_COLOR: "1", TERM: "dumb" }), PLAIN);
  assert.equal(colourFor({}, {}, { FORCE_COLOR: "1", NO_COLOR: "1" }), PLAIN);
  assert.equal(colourFor({}, { color: false }, { FORCE_COLOR: "1" }), PLAIN);
  assert.notEqual(colourFor(TERMINAL, { color: true }, { NO_COLOR: "" }), PLAIN);
});

test("a terminal that does not know its width has the usual one, and a pipe has none", () => {
  assert.equal(terminalOf({ isTTY: true, columns: 0 }, {}).columns, 80);
  assert.equal(terminalOf({ isTTY: true }, {}).columns, 80);
  assert.equal(terminalOf({ isTTY: true, columns: 60 }, {}).columns, 60);
  assert.equal(terminalOf({ isTTY: false }, {}).columns, undefined);
});

/** Of the files of commands: by path, their text. */
function sources(pattern: string): readonly (readonly [path: string, text: string])[] {
  const cwd = resolve(import.meta.dirname, "../../../../src/cli");
  const found = globSync(pattern, { cwd }).map(
    (path) => [path, readFileSync(join(cwd, path), "utf8")] as const,
  );
  assert.ok(found.length > 0);
  return found;
}

test("every command asks for the width there", () => {
  const asking = sources("**/*.ts").filter(([, text]) => text.includes("stdout.columns"));
  assert.deepEqual(asking, []);
});

test("what the help of a command says about its examples fits into 80 columns", () => {
  const long = sources("**/command.ts").flatMap(([, text]) =>
    text.split("\n").filter((line) => line.startsWith("  # ") && line.length > 80),
  );
  assert.deepEqual(long, []);
});

test("columns are as wide as what they show, colours and wide letters aside", () => {
  const lines = tableLines(
    ["A", "B", "C"],
    [
      [ANSI.red("long"), "", "x"],
      ["é", "b", ""],
      ["\u009B", "", "y"],
    ],
  );
  assert.deepEqual(lines, [
    "A        B   C",
    `${ANSI.red("long")}         x`,
    "é        b",
    "\u009B       y",
  ]);
  assert.deepEqual(tableLines(["A"], []), []);
});

test("a frame shows the lines around a mark, at the ends of a file, too", () => {
  const lines = ["a: 1", "\tb: 2", "c: 3"];
  const frame = (line: number, column: number): string => codeFrame(lines, { line, column }).join("\n");
  assert.equal(frame(2, 5), "  1 | a: 1\n> 2 |  b: 2\n    |     ^\n  3 | c: 3");
  assert.equal(frame(1, 1), "> 1 | a: 1\n    | ^\n  2 |  b: 2");
  assert.equal(frame(3, 4), "  2 |  b: 2\n> 3 | c: 3\n    |    ^");
});

test("a frame fits into the terminal, with the mark where it belongs", () => {
  const line = `${"x".repeat(70)}HERE${"x".repeat(30)}`;
  const rows = codeFrame([line, ""], { line: 1, column: 71 }, PLAIN, 40);
  assert.ok(rows.every((row) => row.length <= 40));
  assert.equal(rows[0]?.slice(rows[1]?.indexOf("^")).slice(0, 4), "HERE");
  assert.match(rows[0] ?? "", /^> 1 \| …x+HEREx+…$/);
  assert.equal(rows[2], "  2 |");
});

test("a frame of a long line shows its middle, and its mark stands right behind what had to be escaped", () => {
  for (const before of ["x".repeat(1000), "\u009B".repeat(1000), "\u{1F600}".repeat(500), "\u009B"]) {
    const line = `${before}HERE\u001B[31m${"x".repeat(1000)}`;
    const place = { line: 1, column: before.length + 1 };
    const [text = [], mark = []] = codeFrame([line], place).map((row) => Array.from(row));
    assert.ok(text.length < 180);
    const at = mark.indexOf("^");
    assert.equal(text.slice(at, at + 11).join(""), String.raw`HERE\u001b[`);
    assert.ok(isPrintable(text.join("")));
  }
});

test("only the program sets colours, and those of a value are text", () => {
  const painted = ANSI.red("a\u001B[32mb");
  assert.equal(shown(`${painted}\u001B[1m\n`), "\u001B[31ma\\u001b[32mb\u001B[0m\\u001b[1m\\n");
});
