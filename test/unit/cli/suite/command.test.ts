/** `hookpolicy test` as a person runs it. */

import assert from "node:assert/strict";
import test from "node:test";
import { CLUSTER, DELETE, policy, runSteps, suite, UPGRADE } from "./suites.ts";
import { checked, folder } from "../program.ts";
import { rawPolicy, rawRollout } from "../raw.ts";
import { hookpolicy, onFiles } from "../resident.ts";

const APPROVED = { name: "approved", annotation: { key: "example.com/ok" } };
const POLICY = JSON.stringify(policy([APPROVED]));
const SPEC = { policies: ["policy.yaml"], clusters: ["fleet"] };
const blocked = { name: "held <&> kept", call: DELETE, expect: { verdict: "Blocked", gate: "approved" } };
const wrong = { name: "goes on", call: DELETE, expect: { verdict: "Allowed", reason: "GatesHold" } };
const PASSING = suite({ ...SPEC, steps: [blocked] });
const FAILING = suite({ ...SPEC, steps: [blocked, wrong] });
const FILES = { "t/policy.yaml": POLICY, "t/fleet/c.json": JSON.stringify(CLUSTER) };

test("suites are found in folders, with files beside them, and other kinds are passed over", async (t) => {
  const cwd = await folder(t, { ...FILES, "t/suite.yaml": PASSING, "values.yaml": "a: 1\n" });
  assert.deepEqual(await hookpolicy(["test", "."], { cwd }), {
    code: 0,
    stdout: "suite  t/suite.yaml\n  ok     held <&> kept\n\n1 passed; 1 suite\n",
    stderr: "",
  });
});

test("a failure for a Namespace that the suite lacks says where to add it", async (t) => {
  const team = { name: "team", label: { key: "team", from: "Namespace" } };
  const step = { call: DELETE, expect: { verdict: "Allowed" } };
  const lacking = suite({ policies: [policy([team])], steps: [step] });
  const { stdout } = await onFiles(t, { "suite.yaml": lacking }, ["test", "."]);
  assert.match(stdout, /^ +help: add the Namespace team-a, with its labels, to spec\.namespaces$/m);
});

test("a failure shows what was expected beside what was found, and the whole trace", async (t) => {
  const { code, stdout } = await onFiles(t, { ...FILES, "t/suite.yaml": FAILING }, ["test", "t"]);
  assert.equal(code, 1);
  assert.equal(
    stdout,
    `suite  t/suite.yaml
  ok     held <&> kept
  FAIL   goes on
         t/suite.yaml:1: BeforeClusterDelete team-a/prod-1 at 2026-11-21T12:00:00Z
                               EXPECTED    ACTUAL
         ! verdict             Allowed     Blocked
           policy                          HookPolicy team-a/protect
           rule                            confirmed
           gate                            approved
         ! reason              GatesHold   WaitingForAnnotation
           retryAfterSeconds               10
           message                         HookPolicy team-a/protect, rule confirmed: gate approved waits for annotation example.com/ok on Cluster team-a/prod-1 (kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 example.com/ok=true)
           nextChange                      Never

         HookPolicy team-a/protect: Blocked
           rule confirmed: Blocked (WaitingForAnnotation)
             gate approved waits: annotation example.com/ok on Cluster team-a/prod-1; absent

1 passed, 1 failed; 1 suite
`,
  );
});

test("an error of a suite has its file, line and column, and exits 1", async (t) => {
  const text = FAILING.replace('"spec"', '\n"spec"').replace('"GatesHold"', '"x","rulee":"a"');
  const { code, stdout } = await onFiles(t, { ...FILES, "t/suite.yaml": text }, ["test", "t/suite.yaml"]);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^ {2}ERROR {2}t\/suite\.yaml:2:\d+: spec\.steps\[1\]\.expect\.rulee: unknown field "rulee".*did you mean "rule"\?$/m,
  );
  assert.match(stdout, /^0 passed, 1 error; 1 suite$/m);
});

test("files that cannot be read exit 2, also those that a suite names as an error of it", async (t) => {
  const cwd = await folder(t, { ...FILES, "t/suite.yaml": PASSING, "broken.yaml": "a: [" });
  const broken = await hookpolicy(["test", "t", "broken.yaml", "none.yaml"], { cwd });
  assert.equal(broken.code, 2);
  assert.equal(broken.stderr, "");
  assert.match(broken.stdout, /^broken\.yaml\n {2}ERROR {2}broken\.yaml:1:\d+: /m);
  assert.match(broken.stdout, /^none\.yaml\n {2}ERROR {2}none\.yaml: no such file or folder$/m);
  assert.match(broken.stdout, /^1 passed, 2 errors; 1 suite$/m);
  const missing = suite({ ...SPEC, policies: ["none.yaml"], steps: [blocked] });
  const named = await hookpolicy(["test", "-"], { cwd, stdin: missing });
  assert.equal(named.code, 1);
  assert.match(named.stdout, /ERROR {2}none\.yaml: no such file or folder/);
});

test("a folder without a suite passes, unless tests are required", async (t) => {
  const cwd = await folder(t, FILES);
  const none = await hookpolicy(["test", "t"], { cwd });
  assert.deepEqual(none, { code: 0, stdout: "", stderr: "no HookPolicyTest in t\n" });
  assert.equal((await hookpolicy(["test", "--require-tests", "t"], { cwd })).code, 1);
});

test("a file without a suite is a mistake, unless another file has one", async (t) => {
  const cwd = await folder(t, { ...FILES, "t/suite.yaml": PASSING });
  assert.deepEqual(await hookpolicy(["test", "t/fleet", "t/policy.yaml"], { cwd }), {
    code: 2,
    stdout: "",
    stderr:
      "no HookPolicyTest in t/fleet, t/policy.yaml\nerror: name the files of suites, or folders with them\n",
  });
  assert.equal((await hookpolicy(["test", "--require-tests", "t/policy.yaml"], { cwd })).code, 1);
  assert.equal((await hookpolicy(["test", "t/policy.yaml", "t/suite.yaml"], { cwd })).code, 0);
});

/** What took time differs from run to run. */
const untimed = (junit: string): string => junit.replaceAll(/ time="\d+\.\d{3}"/g, "");

test("JUnit has a line for each case, counts every step once, and escapes what stands in names", async (t) => {
  const cwd = await folder(t, { ...FILES, "t/suite.yaml": FAILING });
  const { code, stdout } = await hookpolicy(["test", "t", "-o", "junit"], { cwd });
  assert.equal(code, 1);
  const lines = untimed(stdout).split("\n");
  assert.deepEqual(lines.slice(0, 5), [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites name="hookpolicy" tests="2" failures="1" errors="0" skipped="0">`,
    `  <testsuite name="suite" file="t/suite.yaml" tests="2" failures="1" errors="0" skipped="0">`,
    `    <testcase name="1. held &lt;&amp;&gt; kept" classname="suite" file="t/suite.yaml" line="1"/>`,
    `    <testcase name="2. goes on" classname="suite" file="t/suite.yaml" line="1">`,
  ]);
  assert.equal(
    lines[5],
    `      <failure message="verdict: expected Allowed, found Blocked; reason: expected GatesHold, found WaitingForAnnotation">t/suite.yaml:1: BeforeClusterDelete team-a/prod-1 at 2026-11-21T12:00:00Z`,
  );
  assert.ok(lines.includes("! verdict             Allowed     Blocked"), stdout);
  assert.deepEqual(lines.slice(-5), [
    "    gate approved waits: annotation example.com/ok on Cluster team-a/prod-1; absent</failure>",
    "    </testcase>",
    "  </testsuite>",
    "</testsuites>",
    "",
  ]);
});

test("JUnit says how long the suites and each step took", async (t) => {
  const cwd = await folder(t, { ...FILES, "t/suite.yaml": FAILING });
  const { stdout } = await hookpolicy(["test", "t", "-o", "junit"], { cwd });
  assert.equal(stdout.match(/<test(?:suites|suite|case) [^>]* time="\d+\.\d{3}"/g)?.length, 4);
});

test("every format counts the same errors: one for a suite that could not be run, one for an unreadable file", async (t) => {
  const broken = suite({ ...SPEC, policies: ["none.yaml", "gone.yaml"], steps: [blocked] });
  const unknown = { call: DELETE, expect: { rule: "none" } };
  const stopped = suite({ ...SPEC, steps: [blocked, unknown, blocked] });
  const cwd = await folder(t, {
    ...FILES,
    "t/1.yaml": broken,
    "t/2.yaml": stopped,
    "t/3.yaml": "kind: HookPolicyTest\na: [",
  });
  const report = async (format: string): Promise<string> =>
    (await hookpolicy(["test", "t", "-o", format], { cwd })).stdout;
  assert.match(await report("text"), /^1 passed, 3 errors, 1 skipped; 2 suites$/m);
  assert.match(await report("markdown"), /^1 passed, 3 errors, 1 skipped; 2 suites$/m);
  const { totals } = JSON.parse(await report("json"));
  assert.deepEqual(totals, { suites: 2, passed: 1, failed: 0, errors: 3, skipped: 1 });
  const junit = await report("junit");
  assert.match(junit, /<testsuites name="hookpolicy" tests="5" failures="0" errors="3" skipped="1"/);
  assert.equal(junit.match(/<testcase /g)?.length, 5);
  assert.equal(junit.match(/<error /g)?.length, 3);
});

test("Markdown has the totals, then the text of each suite", async (t) => {
  const { stdout } = await onFiles(t, { ...FILES, "t/suite.yaml": FAILING }, ["test", "t", "-o", "markdown"]);
  assert.match(
    stdout,
    /^### HookPolicy tests: failed\n\n```\n1 passed, 1 failed; 1 suite\n\nsuite {2}t\/suite\.yaml\n/,
  );
  assert.match(stdout, /^ {2}FAIL {3}goes on\n {9}t\/suite\.yaml:1: /m);
});

test("-o json keeps to its schema, with the decision of every call and everything that can be wrong", async (t) => {
  const steps = [
    { name: "held", call: DELETE, expect: { verdict: "Blocked", gate: "approved" } },
    wrong,
    { advance: "1h" },
    { timeline: { ...DELETE, to: "2026-12-01T00:00:00Z", expect: [{ verdict: "Blocked" }] } },
    { call: DELETE, expect: { rule: "none" } },
    { call: DELETE, expect: { verdict: "Blocked" } },
  ];
  const cwd = await folder(t, {
    ...FILES,
    "t/1.yaml": suite({ ...SPEC, steps }),
    "t/2.yaml": suite({ ...SPEC, policies: ["none.yaml"], steps }),
  });
  const { stdout } = await hookpolicy(["test", "t", "-o", "json"], { cwd });
  const report = await checked("test", JSON.parse(stdout));
  assert.deepEqual(report.totals, { suites: 2, passed: 2, failed: 1, errors: 2, skipped: 1 });
  const [first, second] = report.suites;
  assert.deepEqual([first.status, first.file, first.steps[1].line], ["error", "t/1.yaml", 1]);
  assert.equal(first.steps[1].decision.trace[0].rules[0].gates[0].reason, "WaitingForAnnotation");
  assert.equal(second.problems[0].file, "t/none.yaml");
});

test("-o json keeps to its schema where there is no command, and where a stage's gate is not evaluable", async () => {
  const reserved = { name: "ready", label: { key: "example.k8s.io/ready", value: "yes" } };
  const backup = { name: "backup", object: { apiVersion: "v1", kind: "ConfigMap", name: "backup" } };
  const held = { name: "held", hooks: ["BeforeClusterDelete"], until: [reserved, backup] };
  const lab = { name: "lab", expression: "cluster.metadata.labels['lab'] == 'a'" };
  const steps = await runSteps({
    policies: [rawPolicy("protect", { rules: [held] })],
    rollouts: [rawRollout("upgrades", { stages: [{ name: "all", until: [lab] }] })],
    steps: [
      { call: DELETE, expect: { gate: "ready" } },
      { call: { ...UPGRADE, toKubernetesVersion: "v1.36.0" }, expect: { rollout: "upgrades" } },
    ],
  });
  const [deletion, upgrade] = steps.map(({ decision }) => decision);
  assert.equal(typeof deletion?.trace[0]?.rules[0]?.gates[0]?.withheld, "string");
  assert.deepEqual(upgrade?.rollout, { rollout: "upgrades", reason: "GateOpen", stage: "all" });
});

test("what stands in objects and suites cannot steer a terminal", async (t) => {
  const text = "\u001B[2J\nnext";
  const steps = [{ name: text, call: DELETE, expect: { verdict: "Allowed", message: "a\u001Bb" } }];
  const annotated = {
    ...CLUSTER,
    metadata: { ...CLUSTER.metadata, annotations: { "example.com/ok": text } },
  };
  const bound = { name: "approved", annotation: { key: "example.com/ok", value: `other${text}` } };
  const cwd = await folder(t, {
    "t/suite.yaml": suite({ policies: [policy([bound])], clusters: [annotated], steps }),
  });
  const { stdout } = await hookpolicy(["test", "t"], { cwd });
  assert.match(stdout, /^ {2}FAIL {3}\\u001b\[2J\\nnext$/m);
  assert.doesNotMatch(stdout, /[^\P{Cc}\n]|^next/mu);
});

test("a wrong format is told with the one that was meant", async () => {
  const { code, stderr } = await hookpolicy(["test", "-o", "jnit", "x"]);
  assert.equal(code, 2);
  assert.match(stderr, /did you mean junit\?/);
});

test("a file that cannot be read is an error in every report that stands for itself", async (t) => {
  const cwd = await folder(t, { ...FILES, "t/suite.yaml": PASSING });
  const markdown = await hookpolicy(["test", "t", "gone.yaml", "-o", "markdown"], { cwd });
  assert.equal(markdown.code, 2);
  assert.match(markdown.stdout, /^### HookPolicy tests: failed\n/);
  const { stdout } = await hookpolicy(["test", "t", "gone.yaml", "-o", "junit"], { cwd });
  assert.match(stdout, /errors="1".*<error message="gone\.yaml: no such file or folder">/s);
});
