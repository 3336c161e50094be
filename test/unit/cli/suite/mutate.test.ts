/** `hookpolicy test --mutate`: the small changes of policies, and whether suites notice them. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import { servedHooks } from "../../../../src/api/hook-catalog.ts";
import { pathBelow, type Steps, valueAt } from "../../../../src/lib/field-path.ts";
import { editsOf } from "../../../../src/cli/suite/mutate/edits.ts";
import { changedExpressions } from "../../../../src/cli/suite/mutate/expression-edits.ts";
import { withEdit, mutatedPolicies } from "../../../../src/cli/suite/mutate/mutants.ts";
import { runMutants } from "../../../../src/cli/suite/mutate/mutation.ts";
import { hourLater, laterSchedules } from "../../../../src/cli/suite/mutate/time-edits.ts";
import { compilePolicy } from "../../../../src/policy/compile.ts";
import { policySpec } from "../../../corpus/world-arbitraries.ts";
import { runs } from "../../../generated.ts";
import { ALL_HOOKS, hookPolicy } from "../../builders.ts";
import { checked, folder } from "../program.ts";
import { hookpolicy, onFiles } from "../resident.ts";
import { APPROVED, CLUSTER, DELETE, load, policy, suite } from "./suites.ts";

function pathText(path: Steps): string {
  return path.reduce<string>(pathBelow, "");
}

const SERVED = servedHooks(14);

/** "path: before → after", of one gate. */
function changes(gate: object, over: object = {}): string[] {
  const object = policy([{ name: "g", ...gate }], over);
  const { spec } = object as { readonly spec: Record<string, unknown> };
  const show = (value: unknown): string => (value === undefined ? "-" : JSON.stringify(value));
  return [...editsOf(spec)]
    .map(({ path, to }) => `${pathText(path)}: ${show(valueAt(object, path))} → ${show(to)}`)
    .filter((text) => text.startsWith("spec.rules[0].until[0]."))
    .map((text) => text.slice("spec.rules[0].until[0].".length));
}

const GATES: Readonly<Record<string, readonly [gate: object, expected: readonly string[]]>> = {
  "the key, the value and what it comes from": [
    { annotation: { key: "k", valueFrom: "ClusterUID" } },
    [
      'annotation.key: "k" → "k-x"',
      'annotation.valueFrom: "ClusterUID" → "ClusterName"',
      'annotation.valueFrom: "ClusterUID" → -',
    ],
  ],
  "where a label is": [
    { label: { key: "k", value: "v", from: "Namespace" } },
    [
      'label.key: "k" → "k-x"',
      'label.value: "v" → "v-x"',
      'label.value: "v" → -',
      'label.from: "Namespace" → "Cluster"',
    ],
  ],
  "hours, days, lengths and zones": [
    { window: { timeZone: "UTC", allow: [{ schedule: "0 23 1 * SUN", duration: "8h" }] } },
    [
      'window.timeZone: "UTC" → "Asia/Tokyo"',
      'window.allow: [{"schedule":"0 23 1 * SUN","duration":"8h"}] → -',
      'window.allow[0].schedule: "0 23 1 * SUN" → "0 0 1 * SUN"',
      'window.allow[0].schedule: "0 23 1 * SUN" → "0 23 2 * SUN"',
      'window.allow[0].schedule: "0 23 1 * SUN" → "0 23 1 * MON"',
      'window.allow[0].duration: "8h" → "4h"',
    ],
  ],
  "the ends of a freeze": [
    {
      window: { timeZone: "UTC", deny: [{ from: "2026-12-20T00:00:00Z", to: "2027-01-06T00:00:00+01:00" }] },
    },
    [
      'window.deny: [{"from":"2026-12-20T00:00:00Z","to":"2027-01-06T00:00:00+01:00"}] → -',
      'window.deny[0].from: "2026-12-20T00:00:00Z" → "2026-12-20T01:00:00Z"',
      'window.deny[0].to: "2027-01-06T00:00:00+01:00" → "2027-01-06T00:00:00Z"',
    ],
  ],
  "the zone of dates": [
    { window: { timeZone: "Europe/Berlin", deny: [{ from: "2026-12-20", to: "2027-01-06T00:00:00Z" }] } },
    [
      'window.timeZone: "Europe/Berlin" → "Asia/Tokyo"',
      'window.deny: [{"from":"2026-12-20","to":"2027-01-06T00:00:00Z"}] → -',
      'window.deny[0].from: "2026-12-20" → "2026-12-20T01:00:00"',
      'window.deny[0].to: "2027-01-06T00:00:00Z" → "2027-01-06T01:00:00Z"',
    ],
  ],
  "the bounds and the minor versions of a range": [
    { version: { range: ">=1.34.2 <1.36" } },
    [
      'version.range: ">=1.34.2 <1.36" → ">1.34.2 <1.36"',
      'version.range: ">=1.34.2 <1.36" → ">=1.34.2 <=1.36"',
      'version.range: ">=1.34.2 <1.36" → ">=1.35.2 <1.36"',
      'version.range: ">=1.34.2 <1.36" → ">=1.34.2 <1.37"',
    ],
  ],
  "what an object gate looks for": [
    { object: { apiVersion: "v1", kind: "ConfigMap", name: "n", namespace: "ns", minCount: 2 } },
    [
      'object.name: "n" → "n-x"',
      'object.namespace: "ns" → "ns-x"',
      "object.minCount: 2 → 3",
      "object.minCount: 2 → 1",
    ],
  ],
  "labels and operators of a selector": [
    {
      object: {
        apiVersion: "v1",
        kind: "ConfigMap",
        selector: {
          matchLabels: { a: "b" },
          matchExpressions: [{ key: "c", operator: "In", values: ["d", "e"] }],
        },
        absent: true,
      },
    },
    [
      'object.selector.matchLabels.a: "b" → -',
      'object.selector.matchLabels.a: "b" → "b-x"',
      'object.selector.matchExpressions: [{"key":"c","operator":"In","values":["d","e"]}] → -',
      'object.selector.matchExpressions[0].key: "c" → "c-x"',
      'object.selector.matchExpressions[0].operator: "In" → "NotIn"',
      'object.selector.matchExpressions[0].values[0]: "d" → -',
      'object.selector.matchExpressions[0].values[1]: "e" → -',
      "object.absent: true → -",
    ],
  ],
  "half the wait": [{ wait: { duration: "1h30m" } }, ['wait.duration: "1h30m" → "45m"']],
};

for (const [name, [gate, expected]] of Object.entries(GATES)) {
  test(`a policy changes in ${name}`, () => assert.deepEqual(changes(gate), expected));
}

test("rules, hooks, gates, conditions, deadlines and modes are dropped and turned", () => {
  const alternatives = {
    name: "either",
    anyOf: [APPROVED, { name: "b", annotation: { key: "b" } }],
  };
  const over = {
    matchConditions: [{ name: "m", expression: "true" }],
    deadline: { after: "2h", onExpiry: "Allow" },
  };
  const { spec } = policy([APPROVED, alternatives], over) as { readonly spec: Record<string, unknown> };
  const texts = [...editsOf(spec)].map(({ path, to }) => `${pathText(path)} → ${JSON.stringify(to)}`);
  for (const expected of [
    'spec.mode → "Audit"',
    'spec.failurePolicy → "Ignore"',
    "spec.rules[0].hooks[0] → undefined",
    "spec.rules[0].until[0] → undefined",
    `spec.rules[0].until[1] → ${JSON.stringify(APPROVED)}`,
    "spec.rules[0].matchConditions → undefined",
    'spec.rules[0].matchConditions[0].expression → "!(true)"',
    "spec.rules[0].deadline → undefined",
    'spec.rules[0].deadline → {"after":"1h","onExpiry":"Allow"}',
    'spec.rules[0].deadline.onExpiry → "KeepBlocking"',
  ])
    assert.ok(texts.includes(expected), `${expected} in ${texts.join("\n")}`);
});

test("tasks are dropped and turned, and their templates are left as they are", () => {
  const template = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a" },
    spec: { value: "x", from: "2026-01-01" },
  };
  const task = {
    name: "t",
    when: "true",
    onFailure: "Proceed",
    succeeded: "object.a == 1",
    create: template,
  };
  const spec = { rules: [{ name: "r", hooks: ["BeforeClusterDelete"], tasks: [task] }] };
  const texts = [...editsOf(spec)].map(({ path, to }) => `${pathText(path)} → ${JSON.stringify(to)}`);
  assert.deepEqual(texts, [
    'spec.mode → "Audit"',
    'spec.failurePolicy → "Ignore"',
    "spec.rules → undefined",
    "spec.rules[0].hooks → undefined",
    "spec.rules[0].tasks → undefined",
    'spec.rules[0].tasks[0].when → "!(true)"',
    'spec.rules[0].tasks[0].when → "false"',
    "spec.rules[0].tasks[0].when → undefined",
    'spec.rules[0].tasks[0].onFailure → "Hold"',
    'spec.rules[0].tasks[0].succeeded → "!(object.a == 1)"',
    'spec.rules[0].tasks[0].succeeded → "object.a != 1"',
    'spec.rules[0].tasks[0].succeeded → "object.a == 2"',
  ]);
});

test("what changes no answer is no mutant", () => {
  const kept = policy([APPROVED], { deadline: { after: "2h", onExpiry: "KeepBlocking" } });
  const { spec } = kept as { readonly spec: Record<string, unknown> };
  const texts = [...editsOf(spec)].map(({ path }) => pathText(path));
  assert.ok(!texts.includes("spec.rules[0].deadline"));
  // An annotation of the Cluster can always be evaluated.
  const named = [...editsOf({ ...spec, failurePolicy: "Fail" })];
  assert.ok(!named.some(({ path }) => path.includes("failurePolicy")));
  const observes = { rules: [{ name: "r", hooks: ["BeforeClusterDelete"] }] };
  for (const modes of [{}, { mode: "Audit", failurePolicy: "Ignore" }])
    assert.ok(
      ![...editsOf({ ...observes, ...modes })].some(({ path }) => /mode|failure/.test(pathText(path))),
    );
});

for (const [name, gate, fails] of [
  ["an annotation of the Namespace", { annotation: { key: "k", from: "Namespace" } }, true],
  ["an annotation with the version", { annotation: { key: "k", valueFrom: "TargetVersion" } }, true],
  ["an annotation of the Cluster", { annotation: { key: "k" } }, false],
  ["an expression", { expression: "true" }, true],
  ["an object", { object: { apiVersion: "v1", kind: "ConfigMap", name: "n" } }, true],
  ["a version", { version: { range: ">=1.34" } }, true],
  ["a wait", { wait: { duration: "1h" } }, false],
] as const) {
  test(`failurePolicy is ${fails ? "" : "not "}turned for ${name}`, () => {
    for (const [failurePolicy, to] of [
      [{}, "Ignore"],
      [{ failurePolicy: "Ignore" }, "Fail"],
    ] as const) {
      const { spec } = policy([{ name: "g", ...gate }]) as { readonly spec: Record<string, unknown> };
      const turned = [...editsOf({ ...spec, ...failurePolicy })].filter(({ path }) =>
        path.includes("failurePolicy"),
      );
      assert.deepEqual(turned, fails ? [{ path: ["spec", "failurePolicy"], to }] : []);
    }
  });
}

test("operators of expressions are turned, and texts and comments passed over", () => {
  const expression = "a < 3 && b.all(x, x == 'p < q') // c && d";
  assert.deepEqual(
    [...changedExpressions(expression)],
    [
      "a <= 3 && b.all(x, x == 'p < q') // c && d",
      "a < 4 && b.all(x, x == 'p < q') // c && d",
      "a < 3 || b.all(x, x == 'p < q') // c && d",
      "a < 3 && b.exists(x, x == 'p < q') // c && d",
      "a < 3 && b.all(x, x != 'p < q') // c && d",
      "a < 3 && b.all(x, x == 'p < q-x') // c && d",
    ],
  );
  const age = "now - timestamp('2026-01-01T00:00:00Z') > duration('1h')";
  assert.deepEqual([...changedExpressions(age)], [age.replace(">", ">=")]);
});

test("schedules without a value of their own stay, and later ones begin again", () => {
  assert.deepEqual(laterSchedules("0 */4 * * *"), []);
  assert.deepEqual(laterSchedules("30 9-17 28 * MON-FRI"), [
    "30 10-17 28 * MON-FRI",
    "30 9-17 1 * MON-FRI",
    "30 9-17 28 * TUE-FRI",
  ]);
});

test("a local time moves on its own clock, whatever the time zone of the machine", () => {
  for (const [moment, later] of [
    ["2026-12-18T18:00", "2026-12-18T19:00:00"],
    ["2026-12-18T23:30:15", "2026-12-19T00:30:15"],
    ["2026-12-18", "2026-12-18T01:00:00"],
    ["2026-12-18T18:00:00+01:00", "2026-12-18T18:00:00Z"],
    ["soon", undefined],
  ] as const)
    assert.equal(hourLater(moment), later);
});

test("every mutant is valid, differs from its policy in its one field, and from all other mutants", async () => {
  const { suite: loaded } = await load(suite({ steps: [{ call: DELETE, expect: { verdict: "Blocked" } }] }));
  assert.ok(loaded !== undefined);
  let count = 0;
  fc.assert(
    fc.property(policySpec, (spec) => {
      const { namespaceSelector: _, ...own } = spec;
      const object = { ...hookPolicy(own) };
      const mutants = mutatedPolicies([{ ...loaded, objects: [object] }], SERVED, () => true);
      count += mutants.length;
      const texts = new Set(
        [object, ...mutants.map((each) => each.object)].map((each) => JSON.stringify(each)),
      );
      assert.equal(texts.size, mutants.length + 1);
      for (const mutant of mutants) {
        const compiled = compilePolicy("HookPolicy", mutant.object as never, ALL_HOOKS);
        assert.deepEqual(compiled.errors, [], mutant.mutant.path);
      }
    }),
    runs(100),
  );
  assert.ok(count > 1000, String(count));
});

test("an edit leaves everything else as it is", () => {
  const object = { a: [{ b: 1 }, { c: 2 }], d: { e: "f" } };
  assert.deepEqual(withEdit(object, { path: ["a", 0] }), { a: [{ c: 2 }], d: { e: "f" } });
  assert.deepEqual(withEdit(object, { path: ["d", "e"], to: "g" }), { a: object.a, d: { e: "g" } });
  assert.deepEqual(withEdit(object, { path: ["d", "x.y/z"], to: 1 }), {
    a: object.a,
    d: { e: "f", "x.y/z": 1 },
  });
  assert.equal(pathText(["spec", "matchLabels", "x.y/z", 0]), "spec.matchLabels[x.y/z][0]");
});

test("when the time is up, the rest is told and counts as nothing", async () => {
  const { suite: loaded } = await load(suite({ steps: [{ call: DELETE, expect: { verdict: "Blocked" } }] }));
  assert.ok(loaded !== undefined);
  const policies = mutatedPolicies([loaded], SERVED, () => true);
  assert.equal(mutatedPolicies([loaded], SERVED, () => false).length, 1, "no more are made");
  let turns = 0;
  const hasTime = (): boolean => (turns += 1) <= 2;
  const result = await runMutants(policies, hasTime, () => undefined);
  assert.deepEqual([result.run, result.mutants > 2], [2, true]);
  const never = await runMutants(
    policies,
    () => false,
    () => undefined,
  );
  assert.equal(never.score, undefined);
});

const STEPS = [{ call: DELETE, expect: { verdict: "Blocked" } }];
const APPROVE = { kind: "Cluster", metadata: { name: "prod-1", annotations: { "example.com/ok": "uid-1" } } };
const only = { hooks: ["BeforeClusterDelete"] };
const FILES = {
  "policies/p.yaml": JSON.stringify(policy([APPROVED], only), undefined, 2),
  "tests/1.yaml": suite({ policies: ["../policies"], clusters: [CLUSTER], steps: STEPS }),
};

test("the changes that no suite notices are listed with their places, and a second suite notices more", async (t) => {
  const cwd = await folder(t, FILES);
  const args = ["test", "tests", "--mutate"];
  const { code, stdout, stderr } = await hookpolicy([...args, "--fail-under", "90"], { cwd });
  assert.equal(
    stdout,
    `No suite noticed:

HookPolicy team-a/protect  policies/p.yaml:19:22
  spec.rules[0].until[0].annotation.key: "example.com/ok" → "example.com/ok-x"

HookPolicy team-a/protect  policies/p.yaml:20:28
  spec.rules[0].until[0].annotation.valueFrom: "ClusterUID" → "ClusterName"

HookPolicy team-a/protect  policies/p.yaml:20:28
  spec.rules[0].until[0].annotation.valueFrom is removed

2 of 5 mutants noticed: 40 %
`,
  );
  assert.deepEqual([code, stderr], [1, "--fail-under 90: 2 of 5 mutants were noticed\n"]);
  assert.equal((await hookpolicy([...args, "--fail-under", "40"], { cwd })).code, 0);
  assert.equal((await hookpolicy(args, { cwd })).code, 0);

  const other = {
    kind: "Cluster",
    metadata: { name: "prod-1", annotations: { "example.com/ok": "prod-1" } },
  };
  const steps = [
    { patch: [other], call: DELETE, expect: { verdict: "Blocked" } },
    { patch: [APPROVE], call: DELETE, expect: { verdict: "Allowed" } },
  ];
  const more = suite({ policies: ["../policies"], clusters: [CLUSTER], steps });
  const better = await folder(t, { ...FILES, "tests/2.yaml": more });
  const all = await hookpolicy([...args, "--fail-under", "100"], { cwd: better });
  assert.deepEqual(all, { code: 0, stdout: "5 of 5 mutants noticed: 100 %\n", stderr: "" });
});

test("--mutate -o json keeps to its schema", async (t) => {
  const { stdout } = await onFiles(t, FILES, ["test", "tests", "--mutate", "-o", "json"]);
  const report = await checked("testmutants", JSON.parse(stdout));
  assert.deepEqual([report.mutants, report.run, report.noticed, report.score], [5, 5, 2, 40]);
  assert.deepEqual(report.survivors[0], {
    policy: "HookPolicy team-a/protect",
    file: "policies/p.yaml",
    line: 19,
    column: 22,
    path: "spec.rules[0].until[0].annotation.key",
    before: '"example.com/ok"',
    after: '"example.com/ok-x"',
  });
});

test("suites that fail are no measure of mutants, nor is the lack of any", async (t) => {
  const wrong = suite({
    policies: ["../policies"],
    steps: [{ call: DELETE, expect: { verdict: "Allowed" } }],
  });
  const cwd = await folder(t, { ...FILES, "tests/2.yaml": wrong });
  const failed = await hookpolicy(["test", "tests", "--mutate"], { cwd });
  assert.equal(failed.code, 1);
  assert.match(failed.stdout, /FAIL {3}BeforeClusterDelete team-a\/prod-1/);
  assert.match(failed.stderr, /^no mutants: every suite has to pass first$/m);
  const none = await hookpolicy(["test", "policies", "--mutate", "--fail-under", "0"], { cwd });
  assert.deepEqual([none.code, none.stdout], [1, "0 of 0 mutants noticed\n"]);
});

test("flags that do not go together are refused", async () => {
  for (const [args, expected] of [
    [["--fail-under", "80"], /--fail-under is for --mutate/],
    [["--mutate", "-o", "junit"], /--mutate has no -o junit: text or json/],
  ] as const) {
    const { code, stderr } = await hookpolicy(["test", "x", ...args]);
    assert.equal(code, 2);
    assert.match(stderr, expected);
  }
});
