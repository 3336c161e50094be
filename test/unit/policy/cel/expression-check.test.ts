/** What is found wrong with expressions, or suspicious, before they are evaluated. */

import assert from "node:assert/strict";
import test from "node:test";
import { compileExpression, type ExpressionUse } from "../../../../src/policy/cel/expression.ts";

/** Line, column and message. */
function problemsOf(source: string, use: ExpressionUse = "gate"): string[] {
  const { problems, expression } = compileExpression(source, use);
  assert.equal(expression === undefined, problems.length > 0);
  return problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const WRONG: Readonly<Record<string, string>> = {
  "cluster.metadta.name == 'a'":
    '1:8 cluster.metadta: unknown field, expected one of metadata, status, topology; did you mean "metadata"?',
  "true ||\n  clster.paused":
    '2:3 unknown variable "clster", expected one of cluster, namespaceObject, now, request; did you mean "cluster"?',
  "cluster.constructor == 'a'":
    "1:8 cluster.constructor: unknown field, expected one of metadata, status, topology",
  "__proto__ == 'a'":
    '1:1 unknown variable "__proto__", expected one of cluster, namespaceObject, now, request',
  "cluster['topolgy'].version == 'a'":
    '1:8 cluster["topolgy"]: unknown field, expected one of metadata, status, topology; did you mean "topology"?',
  "has(cluster.spec)": "1:1 cluster.spec: unknown field, expected one of metadata, status, topology",
  "cluster.metadata.labels.example.com == 'a'":
    "1:32 cluster.metadata.labels.example.com: a value of type string has no fields",
  "has(cluster.metadata.labels['a/b'])":
    "1:1 has() takes one field, as in has(cluster.topology); a key is asked for with in",
  "cluster.labels['tier'] == 'a'":
    "1:8 cluster.labels: unknown field, expected one of metadata, status, topology",
  "cluster.metadata.labels['tier'] == production":
    '1:36 unknown variable "production", expected one of cluster, namespaceObject, now, request',
  "now.getHours() >= '8'":
    "1:15 >= does not take (int, string), expected (int, int) or (int, uint) or (int, double) or (string, string): convert it with int(…)",
  "now > '2026-12-01'":
    "1:4 > does not take (timestamp, string), expected (timestamp, timestamp) or (string, string): convert it with timestamp(…)",
  "now - cluster.metadata.creationTimestamp > '10m'":
    "1:42 > does not take (duration, string), expected (duration, duration) or (string, string): convert it with duration(…)",
  "cluster.metadata.annotations['a'] == true": "1:34 string == bool: they are never equal",
  "cluster.metadata.name.first == 'a'":
    "1:22 cluster.metadata.name.first: a value of type string has no fields",
  "cluster.metadata.name.startWith('a')": '1:22 unknown function "startWith"; did you mean "startsWith"?',
  "constructor('a')": '1:1 unknown function "constructor"',
  "cel.bind(x, 1, x == 1)":
    '1:1 unknown variable "cel", expected one of cluster, namespaceObject, now, request',
  "startsWith('a', 'b')": "1:1 startsWith() is called as value.startsWith(…)",
  "cluster.metadata.name.duration() == now": "1:22 duration() is called as duration(…)",
  "cluster.metadata.name.startsWith()": "1:22 startsWith() takes 1 argument, found 0",
  "cluster.metadata.name.substring() == ''": "1:22 substring() takes 1 or 2 arguments, found 0",
  "cluster.metadata.generation.startsWith('a')":
    "1:28 startsWith() does not take int.(string), expected string.(string): convert it with string(…)",
  "cluster.metadata.generation == '4'": "1:29 int == string: they are never equal",
  "cluster.metadata.name != null": "1:23 string != null_type: they are never equal",
  "4 in cluster.metadata.finalizers": "1:2 int in a list of string: it is never there",
  "cluster.metadata.labels[1] == 'a'": "1:24 the keys of cluster.metadata.labels are strings, found int",
  "cluster.metadata.finalizers['a'] == 'a'": "1:28 a list is indexed by int, found string",
  "cluster.metadata.name": "1:17 the expression gives string, expected bool",
  "cluster.metadata.name && true": "1:17 each side of && must be a bool, found string",
  "cluster.metadata.name ? true : false": "1:17 the condition of ?: must be a bool, found string",
  "!cluster.metadata.name": "1:1 ! does not take (string), expected (bool): convert it with bool(…)",
  "cluster.metadata.name.exists(x, true)": "1:22 found string, expected a list or a map to go through",
  "cluster.metadata.finalizers.exists(cluster, true)":
    '1:28 the variable "cluster" is there already, take another name',
  "cluster.metadata.finalizers.exists(x, x)": "1:39 the condition must be a bool, found string",
  "cluster.metadata.finalizers.exists('x', true)":
    "1:28 exists() takes a variable and an expression, as in list.exists(x, x == 'a')",
  "has(cluster)": "1:1 has() takes one field, as in has(cluster.topology)",
  "object.spec.a": '1:1 unknown variable "object", expected one of cluster, namespaceObject, now, request',
  "google.protobuf.Duration{seconds: 1} == duration('1s')":
    "1:1 messages cannot be built, only maps and lists",
  "cluster.metadata.generation == 99999999999999999999": "1:32 the number does not fit into 64 bits",
  "now > timestamp('yesterday')": '1:7 found "yesterday", expected a time such as "2026-11-21T12:00:00Z"',
  "now - now > duration('7d')":
    '1:13 found "7d", expected hours, minutes and seconds such as "168h" or "1h30m"',
  "cluster.metadata.name.matches('(')":
    '1:22 found "(", expected a regular expression of RE2: missing closing ): `(`',
  "cluster.metadata.name.matches(cluster.metadata.uid)":
    "1:22 matches() takes only strings that are written out",
  "cluster.metadata.name.matches('(((a{9}){9}){9}){9}')":
    '1:22 the pattern "(((a{9}){9}){9}){9}" repeats too much',
  "now.getHours('Europe/Berln') == 1":
    '1:4 found "Europe/Berln", expected the IANA name of a time zone such as "Europe/Berlin" or "UTC"; did you mean "Europe/Berlin"?',
  "now.inWindow('0 25 * * *', '1h', 'UTC')": '1:4 schedule: found "0 25 * * *"',
  "now.inWindow('0 2 * * *', cluster.metadata.name, 'UTC')":
    "1:4 inWindow() takes only strings that are written out",
  "'1.2.3'.satisfies('>=1.0, <2.0')":
    '1:8 found ">=1.0, <2.0": write a space instead of the comma, as in ">=1.30.0 <1.32.0"',
  "semver('1.2.3') < semver('1.2.4')":
    "1:16 < does not take (semver, semver), expected (bool, bool) or (bytes, bytes) or (double, double) or (string, string): write a.isLessThan(b) or a.isGreaterThan(b)",
  "'1.2.3'.isLessThan('1.2.4')": "1:8 isLessThan() does not take string.(string), expected semver.(semver)",
};

for (const [source, message] of Object.entries(WRONG)) {
  test(`refused: ${source}`, () => {
    const [first = ""] = problemsOf(source);
    assert.ok(first.startsWith(message), first);
  });
}

test("what each use does not offer is unknown there", () => {
  assert.deepEqual(problemsOf("now > now", "objectName").length, 3);
  assert.match(
    problemsOf("namespaceObject.metadata.name == 'a'", "object")[0] ?? "",
    /unknown variable "namespaceObject"/,
  );
  assert.deepEqual(problemsOf("cluster.metadata.generation", "objectName"), [
    "1:17 the expression gives int, expected string",
  ]);
});

const UNREADABLE: Readonly<Record<string, string>> = {
  "": "must not be empty",
  " \n": "must not be empty",
  "cluster.metadata.name = 'a'":
    "not a CEL expression: it cannot be read from here on; = is not an operator, write ==",
  "cluster.?topology == 1": "optional selection (.?) is not supported, use has()",
  "cluster.metadata.labels.`a/b` == ''": 'fields in backticks are not supported, write ["field"]',
  "namespace.metadata.name == 'a'": "namespace is a reserved word, the Namespace is namespaceObject",
  "true and false": "write &&, || and ! instead of and, or and not",
  "{{ .Values.x }}": "{{ … }} is a template, render it first",
  "true & false": "& is not an operator, write &&",
  "size((1, 2)": "not a CEL expression: ( is not closed: write )",
  "has(cluster.topology) && true)": "not a CEL expression: ) closes nothing: remove it",
  "cluster.metadata.name in ['a', 'b'": "not a CEL expression: [ is not closed: write ]",
  "cluster.metadata.name == 'a": "not a CEL expression: the text has no closing '",
  "1 +": "not a CEL expression: it cannot be read from here on",
  ["a".repeat(1025)]: "found 1025 bytes, expected at most 1024: shorten it",
  ["ä".repeat(513)]: "found 1026 bytes, expected at most 1024: shorten it",
  ["(".repeat(41)]: "brackets nest deeper than 40",
  ["1+".repeat(101) + "1 == 1"]: "nests deeper than 100",
};

for (const [source, message] of Object.entries(UNREADABLE)) {
  test(`not readable: ${source.slice(0, 40)}`, () => {
    const [problem] = compileExpression(source, "gate").problems;
    assert.ok(problem?.message.includes(message), problem?.message);
  });
}

const warningsOf = (source: string, use: ExpressionUse = "gate"): readonly string[] => {
  const { warnings, problems } = compileExpression(source, use);
  assert.deepEqual(problems, []);
  return warnings.map(({ message }) => message);
};

const GUARDED: readonly string[] = [
  "has(cluster.topology) && cluster.topology.version == 'a'",
  "cluster.topology.version == 'a' && has(cluster.topology)",
  "!has(cluster.topology) || cluster.topology.version == 'a'",
  "has(cluster.topology) ? cluster.topology.version == 'a' : false",
  "!(has(cluster.topology) && 'a' in cluster.topology.variables) || cluster.topology.variables['a'] == 1",
  "'a' in cluster.metadata.labels && cluster.metadata.labels.a == 'x'",
  "has(cluster.metadata.labels.a) && cluster.metadata.labels['a'] == 'x'",
  "cluster.metadata.labels.all(k, cluster.metadata.labels[k] != 'x')",
  "has(cluster.topology) && cluster.metadata.finalizers.all(f, f != cluster.topology.className)",
  "cluster.status.conditions.exists(c, c.type == 'a')",
];

for (const source of GUARDED)
  test(`nothing to warn of: ${source}`, () => assert.deepEqual(warningsOf(source), []));

const SUSPICIOUS: Readonly<Record<string, string>> = {
  "cluster.topology.version == 'a'":
    "cluster.topology can be missing, and then the expression cannot be evaluated: ask first, as in has(cluster.topology) && …",
  "has(cluster.topology) || cluster.topology.version == 'a'": "cluster.topology can be missing",
  "(has(cluster.topology) || now > now) && cluster.topology.version == 'a'":
    "cluster.topology can be missing",
  "!(has(cluster.topology) && now > now) && cluster.topology.version == 'a'":
    "cluster.topology can be missing",
  "!(!has(cluster.topology) && now > now) && cluster.topology.version == 'a'":
    "cluster.topology can be missing",
  "cluster.metadata.labels.tier == 'a'":
    'cluster.metadata.labels.tier can be missing, and then the expression cannot be evaluated: ask first, as in "tier" in cluster.metadata.labels && …',
  "'a' in cluster.metadata.labels || cluster.metadata.labels['a'] == 'x'":
    'cluster.metadata.labels["a"] can be missing',
  "request.targetVersion == 'a'": "request.targetVersion can be missing",
  true: "the result is always the same: the expression reads none of cluster, namespaceObject, request, now",
};

for (const [source, warning] of Object.entries(SUSPICIOUS)) {
  test(`suspicious: ${source}`, () => {
    const warnings = warningsOf(source);
    assert.equal(warnings.length, 1);
    assert.ok(warnings[0]?.startsWith(warning), warnings[0]);
  });
}

/** The presence of every field is checked, so that only the warning in question remains. */
const ofConditions = (expression: string, spec = "object.spec.x == 1"): readonly string[] =>
  warningsOf(`${spec} && has(object.status) && has(object.status.conditions) && ${expression}`, "object");

const ANY = "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')";

test("suspicious: a condition of an object that can be older than the spec beside it", () => {
  const stale =
    /^a condition can be older than the spec .* c\.observedGeneration == object\.metadata\.generation$/;
  for (const spec of ["object.spec.x == 1", "has(object.spec.x)", "object['spec']['x'] == 1"]) {
    const [warning, ...others] = ofConditions(ANY, spec);
    assert.match(warning ?? "", stale, spec);
    assert.deepEqual(others, [], spec);
  }
});

test("no suspicion of a condition without the spec, or whose generation is asked for", () => {
  const current = "has(object.metadata.generation) && object.status.conditions.exists(c, c.type == 'Ready'";
  assert.deepEqual(ofConditions(ANY, "true"), []);
  for (const asked of ["c.observedGeneration", "c['observedGeneration']"])
    assert.deepEqual(ofConditions(`${current} && ${asked} == object.metadata.generation)`), [], asked);
  assert.deepEqual(
    warningsOf("object.spec.x == 1 && has(object.status) && has(object.status.conditions)", "object"),
    [],
  );
});

test("the status of an object is a field that users forget can be missing", () => {
  assert.match(warningsOf("object.status.phase == 'a'", "object")[0] ?? "", /^object.status can be missing/);
  assert.deepEqual(
    warningsOf("has(object.status) && object.status.phase == 'a' && object.spec.x == 1", "object"),
    [],
  );
});
