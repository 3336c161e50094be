/** What is wrong with a text that is no YAML: where, and what to type. */

import assert from "node:assert/strict";
import test from "node:test";
import { parseYaml } from "../../../../src/cli/files/yaml.ts";

const FIRST = "items in [ ] and { } need a comma between them: write it before the next one";
const FIELD =
  "expected a field: write a colon and a space after its name, or indent the line if it belongs to the text above";
const COLON = "a colon with a space begins a field: put the text in quotes";
const WHOLE = "put the whole value in quotes, or in the next line, after >-";

const CASES: Readonly<Record<string, readonly [text: string, place: string, message: string]>> = {
  "a tab before an item": [
    "a:\n\t- b\n",
    "2:1",
    "a tab indents this, and YAML takes spaces only: write spaces",
  ],
  "a tab after a dash": [
    "a:\n  -\tb: c\n",
    "2:4",
    "a tab indents this, and YAML takes spaces only: write spaces",
  ],
  "an item's field too far left": [
    "a:\n  - name: x\n   hooks: []\n",
    "3:4",
    'begins in column 4, where no field above does: indent it by 4 spaces, as "name"',
  ],
  "a field in the column of the dash": [
    "a:\n  - name: x\n  hooks: []\n",
    "3:3",
    'begins in column 3, where no field above does: indent it by 4 spaces, as "name"',
  ],
  "a field below a list": [
    "a:\n  - d\n  b: c\n",
    "3:3",
    'begins in column 3, where no field above does: do not indent it, as "a"',
  ],
  "a field too far right": [
    "a:\n  name: x\n     b: c\n",
    "3:6",
    'is indented deeper than "name", which has a value: indent it by 2 spaces',
  ],
  "a field one space in": [
    "a:\n name: x\n   b: c\n",
    "3:4",
    'is indented deeper than "name", which has a value: indent it by 1 space',
  ],
  "a list below a value": [
    "a:\n  b: c\n  - d\n",
    "3:3",
    "a list begins here, but the field above has a value: remove one of them",
  ],
  "a dash without a space": ["a:\n  -name: x\n   b: c\n", "2:4", "write a space after the dash"],
  "a colon without a space": ["a:\n  - name:x\n    b: c\n", "2:10", "write a space after the colon"],
  "a name without a colon": ["a: 1\nspec\nb: 2\n", "2:1", FIELD],
  "a name without a colon at the end": ["a: 1\nspec\n", "2:1", FIELD],
  "a text below >- that is not indented": ["a:\n  b: >-\n  c && d\n  e: f\n", "3:3", FIELD],
  "a text beside >-": [
    "a:\n  b: >- c && d\n",
    "2:9",
    "the text of >- begins in the next line: move it there",
  ],
  "a colon in a text": ["a:\n  b: ask us: now\n", "2:12", COLON],
  "a condition with a colon": ["a: b ? c : d\n", "1:10", COLON],
  "an apostrophe in single quotes": [
    "a:\n  b: 'don't do that'\n",
    "2:10",
    "the text ends with this ', but the line does not: write '' for a ' within it, or put it in \"…\"",
  ],
  "double quotes in double quotes": [
    'a: "b == "c""\n',
    "1:10",
    `the text ends with this ", but the line does not: write \\" for a " within it, or put it in '…'`,
  ],
  "an expression that begins with quotes": [
    "a: 'b' in c\n",
    "1:6",
    `the text ends with this ', but the line does not: ${WHOLE}`,
  ],
  "a second field behind quotes": [
    'a: "b" c: d\n',
    "1:6",
    `the text ends with this ", but the line does not: ${WHOLE}`,
  ],
  "a quote that is not closed": [
    'a:\n  b: "x\n  c: d\n',
    "2:6",
    'the text has no closing quote: write " at its end',
  ],
  "a quote that another one closes": [
    "a:\n  b: 'x\n  c: d\n  e: 'f'\n",
    "2:6",
    "the text has no closing quote: write ' at its end",
  ],
  "a backslash in double quotes": [
    'a: "x\\d"\n',
    "1:6",
    `\\d is no escape in "…": write \\\\d, or put the text in '…'`,
  ],
  "a bracket that is not closed": ["a:\n  b: [c\n  d: e\n", "2:6", "[ is not closed: write ]"],
  "a brace that is not closed": ["a: { b: [c]\nd: e\n", "1:4", "{ is not closed: write }"],
  "a bracket too many": ["a: [b, c]]\n", "1:10", "] closes nothing: remove it"],
  "fields without a comma": ["a: { b: c d: e }\n", "1:9", FIRST],
  "texts without a comma": ['a: { b: "c" d: e }\n', "1:13", FIRST],
  "a schedule of asterisks": [
    "a: { b: * * * * * }\n",
    "1:9",
    "no text begins with * in YAML: put the value in quotes",
  ],
  "a schedule that begins with */15": [
    "a:\n  - b: */15 * * * *\n",
    "2:8",
    "no text begins with * in YAML: put the value in quotes",
  ],
  "a tag of CloudFormation": [
    'a: !Sub "${B}"\n',
    "1:4",
    "!Sub is a YAML tag, which Kubernetes does not know: if the file is for another program, leave it out; if it begins a text, put that in quotes",
  ],
  "a negation": ["a: !has(b.c)\n", "1:4", "no text begins with ! in YAML: put the value in quotes"],
  "a negation before another error": [
    "a: !has(b.c)\nb: 'c' in d\n",
    "1:4",
    "no text begins with ! in YAML: put the value in quotes",
  ],
  "a text with @": ["a: @b\n", "1:4", "no text begins with @ in YAML: put the value in quotes"],
  "a template": [
    "a:\n  {{- if .Values.b }}\n  c: d\n",
    "2:3",
    "is a template: render it first, as in helm template … | hookpolicy … -",
  ],
  "a merge conflict": ["a: b\n<<<<<<< HEAD\nc: d\n", "2:1", "has the marks of a merge conflict: resolve it"],
};

for (const [what, [text, place, message]] of Object.entries(CASES)) {
  test(`${what} is told with its place and what to type`, () => {
    const { documents, problems } = parseYaml(text);
    assert.deepEqual(documents, []);
    assert.deepEqual(
      problems.map((problem) => [`${problem.line}:${problem.column}`, problem.message]),
      [[place, message]],
    );
  });
}

test("an alias without an anchor is told by its name", () => {
  const [problem] = parseYaml("a: *b\n").problems;
  assert.equal(problem?.message, "*b refers to an anchor (&b) that is nowhere: put the value in quotes");
});
