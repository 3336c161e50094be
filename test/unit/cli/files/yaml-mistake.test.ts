/** What is wrong with a text that is no YAML: where, and what to type. */

import assert from "node:assert/strict";
import test from "node:test";
import { parseYaml } from "../../../../src/cli/files/yaml.ts";

const SPACES_ONLY = "a tab indents this, and YAML takes spaces only: write spaces";
const INDENT = "the indentation does not fit: indent the items of a list, and the fields of an object, alike";
const begins = (what: string): string => `no text begins with ${what} in YAML: put the value in quotes`;

const CASES: Readonly<Record<string, readonly [text: string, place: string, message: string]>> = {
  "a tab before an item": ["a:\n\t- b\n", "2:1", SPACES_ONLY],
  "a tab after a dash": ["a:\n  -\tb: c\n", "2:4", SPACES_ONLY],
  "a quote that is not closed": [
    'a:\n  b: "x\n  c: d\n',
    "2:6",
    'the text has no closing quote: write " at its end',
  ],
  "a schedule of asterisks": ["a: { b: * * * * * }\n", "1:9", begins("*")],
  "a schedule that begins with */15": ["a:\n  - b: */15 * * * *\n", "2:8", begins("*")],
  "a tag of CloudFormation": [
    'a: !Sub "${B}"\n',
    "1:4",
    "!Sub is a YAML tag, which Kubernetes does not know: put the value in quotes",
  ],
  "a negation": ["a: !has(b.c)\n", "1:4", begins("!")],
  "a negation before another error": ["a: !has(b.c)\nb: 'c' in d\n", "1:4", begins("!")],
  "a text with @": ["a: @b\n", "1:4", begins("@")],
  "a template": [
    "a:\n  {{- if .Values.b }}\n  c: d\n",
    "2:3",
    "is a template: render it first, as in helm template … | hookpolicy … -",
  ],
  "a merge conflict": ["a: b\n<<<<<<< HEAD\nc: d\n", "2:1", "has the marks of a merge conflict: resolve it"],
  "a colon in a text": [
    "a:\n  b: ask us: now\n",
    "2:6",
    'a text with ": " needs quotes; without one, the lines below are indented too far',
  ],
  "a field at the column of the items": ["a:\n  - b: c\n  d: e\n", "3:1", INDENT],
  "no space after a colon": [
    "a:\n  b:c\n  d: e\n",
    "2:3",
    "this is no field: write a colon and a space after its name",
  ],
  "an item that is indented more": ["a:\n  - b: c\n   - d: e\n", "3:4", INDENT],
};

for (const [what, [text, place, message]] of Object.entries(CASES)) {
  test(`${what} is told with its place`, () => {
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
  assert.deepEqual([problem?.line, problem?.column], [1, 4]);
  const [second] = parseYaml("a: &b 1\n---\nc: 2\nd: *b\n").problems;
  assert.deepEqual([second?.line, second?.column], [4, 4]);
  for (const [text, line, column] of [
    ['base: &base 1\nc: [*base, "*bas"] # not *bas\nd: [*base, *bas]\n', 3, 12],
    ["%YAML 1.1\n---\na: &b 1\nc: *b\n---\nd: *b\n", 6, 4],
  ] as const) {
    const [other] = parseYaml(text).problems;
    assert.deepEqual([other?.line, other?.column], [line, column]);
  }
  assert.equal(problem?.message, "*b refers to an anchor (&b) that is nowhere: put the value in quotes");
});
