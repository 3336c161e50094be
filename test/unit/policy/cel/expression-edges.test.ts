/** Expressions at the edges of the language: its types as values, what is out of range, and more than is kept. */

import assert from "node:assert/strict";
import test from "node:test";
import { compileExpression } from "../../../../src/policy/cel/expression.ts";
import { cluster, namespace, NOW } from "../../builders.ts";

const topology = {
  className: "lab",
  version: "v1.34.0",
  variables: JSON.stringify({ zones: ["a"], text: "abc", version: { "@semver": 1 } }),
};
const WORLD = {
  cluster: cluster({}, { topology }),
  namespace: namespace(),
  call: { hook: "BeforeClusterDelete" as const },
  now: NOW,
};

function evaluate(source: string): unknown {
  const { expression, problems } = compileExpression(source, "gate");
  assert.deepEqual(problems, [], source);
  const result = expression?.evaluate(WORLD);
  return result?.ok === true ? result.value : result?.problem;
}

const VALUES: Readonly<Record<string, unknown>> = {
  "type(cluster.metadata.name) == string && type(now) == google.protobuf.Timestamp": true,
  "type(duration('1s')) == google.protobuf.Duration && type([1]) == list && type(1) != type('a')": true,
  "size(b'abc') == 3 && null == null && 18446744073709551615u > 1u && -9223372036854775808 < 0": true,
  "{dyn(1): 'a'}[1] == 'a' && [1, 'a'][1] == 'a'": true,
  "'a+'.matches('\\\\Qa+\\\\E') && 'é'.matches('^\\\\pL$')": true,
  "cluster.topology.variables.zones[7] == 'a'":
    "cluster.topology.variables.zones lacks a key or element that is looked at",
  "cluster.topology.variables[cluster.metadata.name] == 'a'":
    "cluster.topology.variables lacks a key or element that is looked at",
  "cluster.topology.variables.text[0] == 'a'":
    "cluster.topology.variables.text lacks a key or element that is looked at",
  "int(cluster.topology.variables.text) == 1":
    'int() cannot read cluster.topology.variables.text, expected an integer such as "3"',
  "cluster.topology.variables.version.major() == 1": "major() has no result for what it is given",
  "[1, 2][5] == 1": "(…) lacks a key or element that is looked at",
};
for (const [source, value] of Object.entries(VALUES)) {
  test(`${source} gives ${String(value)}`, () => assert.equal(evaluate(source), value));
}

const WRONG: Readonly<Record<string, string>> = {
  "int('9223372036854775808') == 1": 'found "9223372036854775808", expected an integer such as "3"',
  "'abc'.substring(5) == ''": "substring() has no result for what it is given",
  "has(1, 2)": "has() takes one field, as in has(cluster.topology); a key is asked for with in",
  "18446744073709551616u == 1u": "the number does not fit into 64 bits",
  "'a'.matches('\\\\pL{1000}')": 'the pattern "\\\\pL{1000}" repeats too much',
};
for (const [source, problem] of Object.entries(WRONG)) {
  test(`${source} is refused`, () =>
    assert.equal(compileExpression(source, "gate").problems[0]?.message, problem));
}

test("more patterns, zones and windows than are kept in memory are evaluated as well", () => {
  const zones = Intl.supportedValuesOf("timeZone").slice(0, 110);
  for (const [index, zone] of zones.entries()) {
    assert.equal(evaluate(`'${"a".repeat(index)}'.matches('^a{${index}}$')`), true);
    assert.equal(evaluate(`now.getFullYear('${zone}') == 2026`), true);
    assert.equal(evaluate(`now.inWindow('${index % 60} * * * *', '1h', '${zone}')`), true);
  }
  assert.equal(evaluate(`now.getFullYear('${zones[0]}') == 2026`), true);
});
