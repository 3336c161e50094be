/** What expressions see, and what they give. */

import assert from "node:assert/strict";
import test from "node:test";
import { compileExpression, type ExpressionUse } from "../../../../src/policy/cel/expression.ts";
import type { ExpressionVariables } from "../../../../src/policy/cel/view.ts";
import { viewCluster } from "../../../../src/views/cluster.ts";
import { cluster, namespace, NOW } from "../../builders.ts";

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
  "cluster.metadata.labels['owner'] == 'a'": 'cluster.metadata.labels has no key "owner"',
  "cluster.metadata.labels.owner == 'a'": 'cluster.metadata.labels has no field "owner"',
  "cluster.metadata.labels[cluster.metadata.name] == 'a'":
    "cluster.metadata.labels lacks a key or element that is looked at",
  // Every JavaScript object has it.
  "cluster.metadata.annotations['constructor'] != 'a'":
    'cluster.metadata.annotations has no key "constructor"',
  "request.kubernetesVersion == 'v1'": 'request has no field "kubernetesVersion"',
  "cluster.topology.variables.network.name == 'a'": 'cluster.topology.variables.network has no field "name"',
  "cluster.topology.variables.replicas.x == 'a'": 'cluster.topology.variables.replicas has no field "x"',
  "cluster.status.conditions[5].type == 'a'":
    "cluster.status.conditions lacks a key or element that is looked at",
  "cluster.topology.variables.zones.exists(z, z.name == 'a')": 'z has no field "name"',
  "cluster.topology.variables.replicas + 'a' == 'b'":
    "cluster.topology.variables.replicas: + does not take (int, string)",
  "cluster.topology.variables.replicas.startsWith('a')":
    "cluster.topology.variables.replicas: startsWith() does not take int.(string)",
  "cluster.topology.variables.replicas && true": "one side of && is int, expected bool",
  "int(cluster.metadata.annotations.empty) == 0":
    'int() cannot read cluster.metadata.annotations.empty, expected an integer such as "3"',
  "double(cluster.metadata.annotations.empty) < 1.0":
    'double() cannot read cluster.metadata.annotations.empty, expected a number such as "0.5"',
  "int(cluster.metadata.annotations.date) == 0":
    'int() cannot read cluster.metadata.annotations.date, expected an integer such as "3"',
  "timestamp(cluster.metadata.annotations.empty) < now":
    'timestamp() cannot read cluster.metadata.annotations.empty, expected a time such as "2026-11-21T12:00:00Z"',
  "cluster.metadata.name.satisfies('>=1.0.0')": "satisfies() has no result for what it is given",
  "cluster.topology.version.satisfies(cluster.metadata.annotations.empty)":
    "satisfies() has no result for what it is given",
  "semver(cluster.metadata.name).major() == 1":
    'semver() cannot read cluster.metadata.name, expected a version such as "v1.34.0"',
  "1 / (cluster.metadata.generation - 4) == 1": "/ has no result for what it is given",
};

for (const [source, problem] of Object.entries(WITHOUT_RESULT)) {
  test(`without a result, told without a value that was observed: ${source}`, () =>
    assert.equal(evaluate(source), `problem: ${problem}`));
}

test("text is a number or a time only as a whole", () => {
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

test("reports what is not known of the world, unless the other side decides", () => {
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

test("a version that workers come from is unknown, and not absent, once the workers are gone", () => {
  const call = { hook: "BeforeWorkersUpgrade", toKubernetesVersion: "v1.34.2" } as const;
  assert.equal(
    evaluate("!has(request.fromKubernetesVersion)", "gate", { ...WORLD, call }),
    "problem: the Cluster does not show request.fromKubernetesVersion, only calls of Cluster API have it, while there are workers",
  );
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
  const world = {
    cluster: cluster(),
    call: { hook: "BeforeClusterDelete", settings: {} } as const,
    now: NOW,
  };
  const empty =
    "size(request.settings) + size(cluster.metadata.labels) + size(cluster.metadata.annotations) + size(cluster.metadata.finalizers) + size(cluster.topology.variables) == 0";
  assert.equal(evaluate(empty, "gate", world), true);
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

test("what was compiled just now is another expression for another use", () => {
  const source = "'remembered' == cluster.metadata.name";
  const first = compileExpression(source, "gate");
  const condition = compileExpression(source, "objectName");
  assert.notEqual(condition, first);
  assert.equal(condition.expression, undefined);
});
