/** What expressions see and give, and what is found wrong with them before they are evaluated. */

import assert from "node:assert/strict";
import test from "node:test";
import {
  compileExpression,
  type ExpressionUse,
  type ExpressionVariables,
} from "../../../src/policy/expression.ts";
import { viewCluster } from "../../../src/policy/cluster.ts";
import { cluster, namespace, NOW } from "../builders.ts";

const CLUSTER = viewCluster({
  metadata: {
    name: "prod-1",
    namespace: "team-a",
    uid: "uid-prod-1",
    resourceVersion: "7",
    generation: 4,
    creationTimestamp: "2026-11-01T00:00:00Z",
    deletionTimestamp: "2026-11-21T11:00:00Z",
    labels: { tier: "production", constructor: "a", toString: "b" },
    annotations: { replicas: "3", empty: "", date: "2026-11-21T10:00:00Z", ["__proto__"]: "c" },
    finalizers: ["cluster.cluster.x-k8s.io"],
  },
  spec: {
    topology: {
      classRef: { name: "lab" },
      version: "v1.34.2+k3s1",
      variables: [
        { name: "replicas", value: 3 },
        { name: "ratio", value: 0.5 },
        { name: "zones", value: ["a", "b"] },
        { name: "network", value: { cidr: "10.0.0.0/8", mtu: null } },
        { name: "__proto__", value: "d" },
      ],
    },
  },
  status: {
    phase: "Provisioned",
    conditions: [
      {
        type: "Available",
        status: "True",
        reason: "Available",
        lastTransitionTime: "2026-11-21T09:00:00Z",
        message: "secret",
      },
    ],
    initialization: { controlPlaneInitialized: true },
  },
});

const WORLD: ExpressionVariables = {
  cluster: CLUSTER,
  namespace: namespace({ labels: { team: "a" } }),
  call: {
    hook: "BeforeClusterUpgrade",
    fromKubernetesVersion: "v1.33.4",
    toKubernetesVersion: "v1.34.2",
    settings: { strict: "yes" },
  },
  object: {
    metadata: { name: "final", labels: { of: "prod-1" }, creationTimestamp: "2026-11-21T10:00:00Z" },
    spec: { ttl: "24h", copies: 2, ratio: 1.5, paused: null },
    status: { phase: "Completed", errors: [] },
  },
  now: NOW,
};

function evaluate(source: string, use: ExpressionUse = "gate", world: ExpressionVariables = WORLD): unknown {
  const { expression, problems } = compileExpression(source, use);
  assert.deepEqual(problems, [], source);
  const result = expression?.evaluate(world);
  return result?.ok === true ? result.value : `problem: ${result?.problem}`;
}

/** The path and what is wrong, as one line for each problem. */
function problemsOf(source: string, use: ExpressionUse = "gate"): string[] {
  const { problems, expression } = compileExpression(source, use);
  assert.equal(expression === undefined, problems.length > 0);
  return problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const TRUE: readonly string[] = [
  "cluster.metadata.name == 'prod-1' && cluster.metadata.namespace == 'team-a' && cluster.metadata.uid == 'uid-prod-1'",
  "cluster.metadata.generation + 1 == 5 && cluster.metadata.generation % 2 == 0",
  "cluster.metadata.labels['tier'] == 'production' && cluster.metadata.labels.tier.startsWith('prod')",
  "'tier' in cluster.metadata.labels && !('other' in cluster.metadata.labels) && has(cluster.metadata.labels.tier)",
  "cluster.metadata.finalizers.exists(f, f.endsWith('cluster.x-k8s.io'))",
  "cluster.metadata.creationTimestamp < now && now - cluster.metadata.deletionTimestamp == duration('1h')",
  "cluster.topology.className == 'lab' && cluster.topology.version == 'v1.34.2+k3s1'",
  "cluster.topology.variables.replicas * 2 == 6 && cluster.topology.variables.ratio < 1.0",
  "'b' in cluster.topology.variables.zones && size(cluster.topology.variables) == 5",
  "cluster.topology.variables.network.cidr.startsWith('10.') && cluster.topology.variables.network.mtu == null",
  "cluster.status.phase == 'Provisioned' && cluster.status.initialization.controlPlaneInitialized",
  "!has(cluster.status.initialization.infrastructureProvisioned)",
  "cluster.status.conditions.exists(c, c.type == 'Available' && c.status == 'True' && c.reason == 'Available')",
  "cluster.status.conditions.all(c, now - c.lastTransitionTime >= duration('3h'))",
  "namespaceObject.metadata.name == 'team-a' && namespaceObject.metadata.labels.team == 'a' && size(namespaceObject.metadata.annotations) == 0",
  "request.hook == 'BeforeClusterUpgrade' && request.settings.strict == 'yes'",
  "request.targetVersion == request.toKubernetesVersion && !has(request.kubernetesVersion)",
  "now == timestamp('2026-11-21T12:00:00Z') && now.getFullYear() == 2026 && now.getDayOfWeek() == 6",
  // Names that every JavaScript object has are ordinary keys.
  "cluster.metadata.labels.constructor == 'a' && cluster.metadata.labels['toString'] == 'b'",
  "cluster.metadata.annotations['__proto__'] == 'c' && cluster.topology.variables['__proto__'] == 'd'",
  "!('constructor' in cluster.metadata.annotations) && !has(cluster.metadata.annotations.hasOwnProperty)",
  // Numbers and times in text.
  "int(cluster.metadata.annotations.replicas) == 3 && double('1.5') == 1.5 && uint('7') == 7u && int('-4') == -4",
  "timestamp(cluster.metadata.annotations.date) < now && int(timestamp(5)) == 5",
  "timestamp('2026-11-21T13:30:00.5+01:00') == timestamp('2026-11-21T12:30:00.500Z')",
  // Text.
  "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'a,b'.split(',') == ['a', 'b'] && 'äb'.split('') == ['ä', 'b']",
  "'aaa'.replace('a', 'b') == 'bbb' && 'aaa'.replace('a', 'b', 2) == 'bba' && 'aa'.replace('a', 'b', -1) == 'bb'",
  "'ab'.replace('', '-') == '-a-b-' && 'ab'.replace('', '-', 2) == '-a-b' && 'ab'.replace('x', 'y') == 'ab'",
  "'%s-%d'.format(['a', 5]) == 'a-5' && ['a', 'b'].join('/') == 'a/b' && 'Ab'.lowerAscii() == 'ab'",
  "cluster.metadata.name.matches('^[a-z]+-[0-9]{1,3}$') && !'x\\ny'.matches('^x.y$')",
  // Lists.
  "[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6] && [1, 2] + [3] == [1, 2, 3] && [3, 1].map(x, x > 1, x) == [3]",
  "[[1], [2, 3]].map(x, x.map(y, y + 1)) == [[2], [3, 4]] && [1, 2].exists_one(x, x == 2)",
  // Versions.
  "isSemver('v1.34.0') && !isSemver('1.34') && semver('v1.34.2').minor() == 34",
  "semver(cluster.topology.version).isGreaterThan(semver('1.34.1')) && semver('1.2.3').isLessThan(semver('1.10.0'))",
  "semver('1.2.3+a').compareTo(semver('v1.2.3')) == 0 && semver('1.2.3').major() + semver('1.2.3').patch() == 4",
  "cluster.topology.version.satisfies('>=1.34.0 <1.35.0') && !'v1.34.0-rc.1'.satisfies('>=1.30.0')",
  "'1.34.0'.satisfies(request.hook == '' ? '*' : '1.x')",
  // Time.
  "now.getHours('Europe/Berlin') == 13 && now.getMinutes('Asia/Kathmandu') == 45 && now.getHours('-03:30') == 8",
  "timestamp('2026-03-29T01:30:00Z').getHours('Europe/Berlin') == 3 && timestamp('2026-10-25T00:30:00Z').getHours('Europe/Berlin') == 2",
  "timestamp('2026-12-31T23:30:00Z').getFullYear('Europe/Berlin') == 2027 && now.getDayOfYear() == 324",
  "timestamp('2026-01-01T23:00:00Z').getHours('Europe/Berlin') == 0 && timestamp('2026-01-01T23:00:00Z').getDate('Europe/Berlin') == 2",
  "now.inWindow('0 13 * * SAT', '1h', 'Europe/Berlin') && !now.inWindow('0 14 * * SAT', '1h', 'Europe/Berlin')",
];

for (const source of TRUE) test(`true: ${source}`, () => assert.equal(evaluate(source), true));

const OF_OBJECT: readonly string[] = [
  "object.status.phase == 'Completed' && object.spec.copies + 1 == 3 && object.spec.ratio == 1.5",
  "object.metadata.name == 'final' && object.metadata.labels.of == cluster.metadata.name",
  "now - object.metadata.creationTimestamp < duration(object.spec.ttl) && size(object.metadata.annotations) == 0",
  "timestamp(object.metadata.creationTimestamp) < now && object.spec.paused == null && object.status.errors == []",
];

for (const source of OF_OBJECT)
  test(`of an object: ${source}`, () => assert.equal(evaluate(source, "object"), true));

test("a name is computed as text", () => {
  assert.equal(evaluate("cluster.metadata.name + '-final'", "objectName"), "prod-1-final");
});

test("an expression that gives something else than what is wanted has no result", () => {
  assert.equal(
    evaluate("cluster.topology.variables.replicas"),
    "problem: the expression gives int, expected bool",
  );
  assert.equal(
    evaluate("cluster.topology.variables.replicas", "objectName"),
    "problem: the expression gives int, expected string",
  );
});

const WITHOUT_RESULT: Readonly<Record<string, string>> = {
  "cluster.metadata.labels['owner'] == 'a'":
    'cluster.metadata.labels has no key "owner"; ask first, as in "owner" in cluster.metadata.labels && …',
  "cluster.metadata.labels.owner == 'a'":
    'cluster.metadata.labels has no field "owner"; ask first, as in has(cluster.metadata.labels.owner) && …',
  "cluster.metadata.labels[cluster.metadata.name] == 'a'":
    "cluster.metadata.labels lacks a key or element that is looked at",
  "request.kubernetesVersion == 'v1'":
    'request has no field "kubernetesVersion"; ask first, as in has(request.kubernetesVersion) && …',
  "cluster.topology.variables.network.name == 'a'":
    'cluster.topology.variables.network has no field "name"; ask first, as in has(cluster.topology.variables.network.name) && …',
  "cluster.topology.variables.replicas.x == 'a'":
    'cluster.topology.variables.replicas has no field "x"; ask first, as in has(cluster.topology.variables.replicas.x) && …',
  "cluster.status.conditions[5].type == 'a'":
    "cluster.status.conditions lacks a key or element that is looked at",
  "cluster.topology.variables.zones.exists(z, z.name == 'a')":
    'z has no field "name"; ask first, as in has(z.name) && …',
  "cluster.topology.variables.replicas + 'a' == 'b'": "+ does not take (int, string)",
  "cluster.topology.variables.replicas.startsWith('a')": "startsWith() does not take int.(string)",
  "cluster.topology.variables.replicas && true": "&&: expected bool, got int",
  "int(cluster.metadata.annotations.empty) == 0": "int() has no result for what it is given",
  "double(cluster.metadata.annotations.empty) < 1.0": "double() has no result for what it is given",
  "int(cluster.metadata.annotations.date) == 0": "int() has no result for what it is given",
  "timestamp(cluster.metadata.annotations.empty) < now": "timestamp() has no result for what it is given",
  "cluster.metadata.name.satisfies('>=1.0.0')": "satisfies() has no result for what it is given",
  "cluster.topology.version.satisfies(cluster.metadata.annotations.empty)":
    "satisfies() has no result for what it is given",
  "semver(cluster.metadata.name).major() == 1": "semver() has no result for what it is given",
  "1 / (cluster.metadata.generation - 4) == 1": "/ has no result for what it is given",
};

for (const [source, problem] of Object.entries(WITHOUT_RESULT)) {
  test(`without a result, told without a value that was observed: ${source}`, () =>
    assert.equal(evaluate(source), `problem: ${problem}`));
}

test("text is no number and no time unless it is one whole", () => {
  const strict = ["int", "uint", "double", "timestamp", "semver"].flatMap((name) =>
    ["", " 5", "0x10", "5 ", "1e", "+", "2026-02-30T00:00:00Z", "2026-02-28T24:00:00Z", "1.2"].map(
      (text) => [name, text] as const,
    ),
  );
  for (const [name, text] of strict) {
    const { problems } = compileExpression(`${name}('${text}') == ${name}('${text}')`, "gate");
    assert.equal(problems.length > 0, !(name === "double" && text === "1.2"), `${name}('${text}')`);
  }
});

test("what is not known of the world is told, unless the other side decides", () => {
  const { namespace: _n, call: _c, ...alone } = WORLD;
  const { object: _o, ...unseen } = WORLD;
  const known = "cluster.metadata.name == 'prod-1'";
  assert.equal(
    evaluate("namespaceObject.metadata.name == 'a'", "gate", alone),
    "problem: the Namespace of the Cluster is not known",
  );
  assert.equal(evaluate("request.hook == 'a'", "gate", alone), "problem: the hook call is not known");
  assert.equal(evaluate("object.spec == 1", "object", unseen), "problem: the object is not known");
  assert.equal(evaluate(`${known} || has(namespaceObject.metadata.labels.a)`, "gate", alone), true);
  assert.equal(evaluate(known, "gate", alone), true);
});

test("a status that is not known is not an empty one", () => {
  const { status: _, ...unknown } = CLUSTER;
  const source = "!cluster.status.conditions.exists(c, c.type == 'Paused')";
  assert.equal(evaluate(source), true);
  assert.match(
    String(evaluate(source, "gate", { ...WORLD, cluster: unknown })),
    /^problem: cluster has no field "status"/,
  );
});

test("a call without settings, and a Cluster with nothing optional, have empty maps and lists", () => {
  const world = { cluster: cluster(), call: { hook: "BeforeClusterDelete" } as const, now: NOW };
  const empty =
    "size(request.settings) + size(cluster.metadata.labels) + size(cluster.metadata.annotations) + size(cluster.metadata.finalizers) + size(cluster.topology.variables) == 0";
  assert.equal(evaluate(empty, "gate", world), true);
});

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
    "1:28 startsWith() does not take int.(string), expected string.(string)",
  "cluster.metadata.generation == '4'": "1:29 int == string: they are never equal",
  "cluster.metadata.name != null":
    "1:23 string != null_type: they are never equal: whether a field is there is asked with has()",
  "4 in cluster.metadata.finalizers": "1:2 int in a list of string: it is never there",
  "cluster.metadata.labels[1] == 'a'": "1:24 the keys of cluster.metadata.labels are strings, found int",
  "cluster.metadata.finalizers['a'] == 'a'": "1:28 a list is indexed by int, found string",
  "cluster.metadata.name": "1:17 the expression gives string, expected bool",
  "cluster.metadata.name && true": "1:17 each side of && must be a bool, found string",
  "cluster.metadata.name ? true : false": "1:17 the condition of ?: must be a bool, found string",
  "!cluster.metadata.name": "1:1 ! does not take (string), expected (bool)",
  "cluster.metadata.name.exists(x, true)": "1:22 found string, expected a list or a map to go through",
  "cluster.metadata.finalizers.exists(cluster, true)":
    '1:28 the variable "cluster" is there already, take another name',
  "cluster.metadata.finalizers.exists(x, x)": "1:39 the condition must be a bool, found string",
  "cluster.metadata.finalizers.exists('x', true)":
    "1:28 exists() takes a variable and a condition, as in list.exists(x, x == 'a')",
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
    "1:16 < does not take (semver, semver), expected (bool, bool) or (bytes, bytes)",
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
  "cluster.metadata.name = 'a'": `not a CEL expression: it cannot be read from "= 'a'" on; = is not an operator, write ==`,
  "cluster.?topology == 1": "optional selection (.?) is not supported, use has()",
  "cluster.metadata.labels.`a/b` == ''": 'fields in backticks are not supported, write ["field"]',
  "namespace.metadata.name == 'a'": "namespace is a reserved word, the Namespace is namespaceObject",
  "true and false": "write &&, || and ! instead of and, or and not",
  "true & false": "& is not an operator, write &&",
  "1 +": `not a CEL expression: it cannot be read from "+" on`,
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
  return warnings;
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
    "cluster.topology can be missing, and then the rule cannot be evaluated: ask first, as in has(cluster.topology) && …",
  "has(cluster.topology) || cluster.topology.version == 'a'": "cluster.topology can be missing",
  "cluster.metadata.labels.tier == 'a'":
    'cluster.metadata.labels.tier can be missing, and then the rule cannot be evaluated: ask first, as in "tier" in cluster.metadata.labels && …',
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

test("of an object, the status is the field that everybody forgets can be missing", () => {
  assert.match(warningsOf("object.status.phase == 'a'", "object")[0] ?? "", /^object.status can be missing/);
  assert.deepEqual(
    warningsOf("has(object.status) && object.status.phase == 'a' && object.spec.x == 1", "object"),
    [],
  );
});

test("an expression tells whether it reads the clock", () => {
  const usesNow = (source: string): boolean | undefined =>
    compileExpression(source, "gate").expression?.usesNow;
  assert.equal(usesNow("cluster.metadata.creationTimestamp < timestamp('2026-01-01T00:00:00Z')"), false);
  assert.equal(usesNow("[1].all(x, cluster.metadata.creationTimestamp < now)"), true);
});

test("an expression tells whether metadata of the object is enough", () => {
  const whole = (source: string): boolean | undefined =>
    compileExpression(source, "object").expression?.readsWholeObject;
  assert.equal(whole("object.metadata.name == cluster.metadata.name"), false);
  assert.equal(
    whole("has(object.metadata.deletionTimestamp) && object.metadata.labels.exists(k, k == 'a')"),
    false,
  );
  assert.equal(whole("object.metadata.ownerReferences.exists(o, true)"), true);
  assert.equal(whole("has(object.metadata.ownerReferences)"), true);
  assert.equal(whole("object.metadata == object.metadata"), true);
  assert.equal(whole("object.data.x == 'a'"), true);
  assert.equal(whole("[object].exists(o, o.metadata.name == 'a')"), true);
});

test("an object of which only metadata is watched gives the same as the whole one", () => {
  const source = "object.metadata.labels.of == 'prod-1' && object.metadata.creationTimestamp < now";
  const { metadata } = WORLD.object as { metadata: unknown };
  assert.equal(evaluate(source, "object"), true);
  assert.equal(evaluate(source, "object", { ...WORLD, object: { metadata } }), true);
});
