import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { checked, folder, MAIN } from "../program.ts";
import { stringify } from "yaml";
import { invalidCorpus } from "../../../corpus/corpus.ts";
import { hookpolicy, onFiles } from "../resident.ts";

interface ValidationJson {
  readonly valid: boolean;
  readonly findings: readonly { readonly line: number; readonly object: { readonly name: string } }[];
  readonly problems: readonly object[];
  readonly suites: number;
  readonly others: number;
}

const GOOD = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: {name: good, namespace: team-a}
spec:
  rules:
    - name: confirmed
      hooks: [BeforeClusterDelete]
      until:
        - {name: approved, annotation: {key: a, valueFrom: ClusterUID}}
`;
const MISSPELT = GOOD.replace("BeforeClusterDelete", "BeforeClusterDelet");
const SUSPICIOUS = GOOD.replace(", valueFrom: ClusterUID", "");
const CEL = GOOD.replace(
  "annotation: {key: a, valueFrom: ClusterUID}",
  "expression: cluster.metadata.nam == 'a'",
);
const OTHERS = `---
apiVersion: v1
kind: ConfigMap
---
apiVersion: cli.hookpolicy.dev/v1alpha1
kind: HookPolicyTest
`;

test("files without errors are counted, and what is not looked at is told", async (t) => {
  const cwd = await folder(t, { "a.yaml": GOOD + OTHERS, "values.yaml": "a: 1\n" });
  assert.deepEqual(await hookpolicy(["validate", "."], { cwd }), {
    code: 0,
    stdout:
      "1 HookPolicy: no errors; 1 suite left to `hookpolicy test`; 1 object of other kinds ignored; 1 document without a Kubernetes object ignored\n",
    stderr: "",
  });
});

test("an error has its file, line and column, a frame and a suggestion, and exits 1", async (t) => {
  const { code, stdout, stderr } = await onFiles(t, `# one line\n${MISSPELT}`, ["validate", "a.yaml"]);
  assert.deepEqual({ code, stderr }, { code: 1, stderr: "" });
  const expected = `  7 |     - name: confirmed
> 8 |       hooks: [BeforeClusterDelet]
    |               ^
  9 |       until:
  help: did you mean "BeforeClusterDelete"?

1 HookPolicy: 1 error
`;
  assert.match(
    stdout,
    /^a\.yaml:8:15: error: spec\.rules\[0\]\.hooks\[0\]: found "BeforeClusterDelet", expected one of/,
  );
  assert.equal(stdout.slice(stdout.indexOf("\n") + 1), expected);
});

test("an error in an expression says where in the expression", async (t) => {
  const block = GOOD.replace(
    "{name: approved, annotation: {key: a, valueFrom: ClusterUID}}",
    "name: approved\n          expression: |\n            cluster.metadata.name == 'a' &&\n            cluster.foo == 'a'",
  );
  const { stdout } = await onFiles(t, { "a.yaml": CEL, "b.yaml": block }, ["validate", "a.yaml", "b.yaml"]);
  assert.match(
    stdout,
    /^a\.yaml:9:40: error: \S+expression: column 17: cluster\.metadata\.nam: unknown field/m,
  );
  assert.match(
    stdout,
    /^b\.yaml:10:23: error: \S+expression: line 2, column 8: cluster\.foo: unknown field/m,
  );
});

test("an unknown field is marked at its name, and a wrong value at the value", async (t) => {
  const cwd = await folder(t, { "a.yaml": GOOD.replace("spec:", "spec:\n  moode: Audit\n  mode: audit") });
  const { stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
  assert.match(stdout, /^a\.yaml:5:3: error: spec\.moode: unknown field/m);
  assert.match(stdout, /^a\.yaml:6:9: error: spec\.mode: found "audit"/m);
});

test("a warning exits 0, and 1 with --strict", async (t) => {
  const cwd = await folder(t, { "a.yaml": SUSPICIOUS });
  const { code, stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
  assert.equal(code, 0);
  assert.match(stdout, /^a\.yaml:9:28: warning: .*stays an approval.* \[unbound-approval\]$/m);
  assert.match(stdout, /1 HookPolicy: no errors, 1 warning\n$/);
  assert.equal((await hookpolicy(["validate", "--strict", "a.yaml"], { cwd })).code, 1);
});

test("an approval whose value is null is an error", async (t) => {
  const cwd = await folder(t, { "a.yaml": GOOD.replace("valueFrom: ClusterUID", "value: null") });
  const { code, stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
  assert.equal(code, 1);
  assert.match(stdout, /annotation\.value: found null, which means any value/);
  assert.match(stdout, /1 HookPolicy: 1 error, 1 warning\n$/);
});

test("a warning that the policy accepts is none, and an accept that matches none is one", async (t) => {
  const accepting = (what: string): string =>
    SUSPICIOUS.replace("metadata: {", `metadata:\n  {annotations: {hookpolicy.dev/accept: "${what}"}, `);
  const cwd = await folder(t, {
    "a.yaml": accepting("confirmed/unbound-approval"),
    "b.yaml": accepting("confirmed/unbound-approval, confirmed/mid-upgrade"),
  });
  const accepted = await hookpolicy(["validate", "--strict", "a.yaml"], { cwd });
  assert.deepEqual([accepted.code, accepted.stdout], [0, "1 HookPolicy: no errors\n"]);
  const unused = await hookpolicy(["validate", "--strict", "b.yaml"], { cwd });
  assert.equal(unused.code, 1);
  assert.match(unused.stdout, /^b\.yaml:4:\d+: warning: metadata\.annotations\[hookpolicy\.dev\/accept\]: /);
  assert.match(unused.stdout, /mid-upgrade" accepts no warning of this policy: .* \[unused-accept\]/);
});

const UNKNOWN = {
  "an unknown kind of the group": [
    GOOD.replace("HookPolicy", "HookPolcy"),
    /:2:7: error: kind: .*\n.*\n.*\n.*\n.*\n {2}help: did you mean "HookPolicy"/,
  ],
  "a kind of ours in another group": [
    GOOD.replace("hookpolicy.dev", "hookpolicy.io"),
    /:1:13: error: apiVersion: .*expected hookpolicy\.dev\/v1alpha1 for a HookPolicy/,
  ],
} as const;
for (const [name, [text, says]] of Object.entries(UNKNOWN)) {
  test(`${name} exits 2`, async (t) => {
    const { code, stdout } = await onFiles(t, text, ["validate", "a.yaml"]);
    assert.equal(code, 2);
    assert.match(stdout, says);
  });
}

test("a hook by half its name, and a field in another place, are told what is meant", async (t) => {
  const text = GOOD.replace(
    "[BeforeClusterDelete]",
    "[onDelete, AfterUpgrade]\n      clusterSelector: {}\n      deadline: {after: 1h, onExpiry: block}",
  );
  const { stdout } = await onFiles(t, text, ["validate", "a.yaml"]);
  const helps = stdout.split("\n").filter((line) => line.startsWith("  help: "));
  assert.deepEqual(helps, [
    '  help: did you mean "BeforeClusterDelete"?',
    '  help: did you mean "AfterClusterUpgrade"?',
    "  help: it belongs in spec",
    '  help: did you mean "KeepBlocking"?',
  ]);
});

test("what cannot be read is one line each on stderr, a file with an error has a frame, and both exit 2", async (t) => {
  const cwd = await folder(t, { "a.yaml": MISSPELT, "b.yaml": "a: b: c" });
  const { code, stdout, stderr } = await hookpolicy(["validate", "a.yaml", "b.yaml", "c.yaml", "-"], { cwd });
  assert.equal(code, 2);
  assert.match(stdout, /1 HookPolicy: 4 errors\n$/);
  assert.match(
    stdout,
    /^b\.yaml:1:4: error: a text with ": " needs quotes; [^\n]+\n> 1 \| a: b: c\n {4}\| {4}\^\n\n/,
  );
  assert.deepEqual(stderr.split("\n"), [
    "c.yaml: error: no such file or folder",
    "standard input: error: is empty",
    "",
  ]);
});

test("standard input is read", async () => {
  const { code, stdout } = await hookpolicy(["validate", "-"], { stdin: GOOD });
  assert.deepEqual({ code, stdout }, { code: 0, stdout: "1 HookPolicy: no errors\n" });
});

test("-o github prints workflow commands only", async (t) => {
  const cwd = await folder(t, { "a,b.yaml": MISSPELT + "---\n" + SUSPICIOUS.replace("good", "other") });
  const { stdout } = await hookpolicy(["validate", "-o", "github", "a,b.yaml", "no%.yaml"], { cwd });
  const [problem, error, warning, ...rest] = stdout.split("\n");
  assert.equal(problem, "::error file=no%25.yaml::no such file or folder");
  assert.match(
    error ?? "",
    /^::error file=a%2Cb\.yaml,line=7,col=15::HookPolicy team-a\/\S+: spec\..*; did you mean "BeforeClusterDelete"\?$/,
  );
  assert.match(warning ?? "", /^::warning file=a%2Cb\.yaml,line=19,col=28::/);
  assert.deepEqual(rest, [""]);
});

test("-o json keeps to its schema, with everything that can be in it", async (t) => {
  const cwd = await folder(t, { "a.yaml": MISSPELT + "---\n" + SUSPICIOUS + OTHERS, "b.yaml": "" });
  const { code, stdout } = await hookpolicy(["validate", "-o", "json", "a.yaml", "b.yaml"], { cwd });
  assert.equal(code, 2);
  const report: ValidationJson = await checked("validate", JSON.parse(stdout));
  const [finding] = report.findings;
  assert.deepEqual(
    [report.valid, report.suites, report.others, report.problems.length, finding?.line, finding?.object.name],
    [false, 1, 1, 1, 7, "good"],
  );
});

test("--capi-version checks that the hooks are called", async (t) => {
  const cwd = await folder(t, {
    "a.yaml": GOOD.replace("BeforeClusterDelete", "BeforeWorkersUpgrade").replace(
      "ClusterUID",
      "TargetVersion",
    ),
  });
  assert.equal((await hookpolicy(["validate", "a.yaml"], { cwd })).code, 0);
  const { code, stdout } = await hookpolicy(["validate", "a.yaml", "--capi-version=1.11"], { cwd });
  assert.equal(code, 1);
  assert.match(
    stdout,
    /error: spec\.rules\[0\]\.hooks\[0\]: Cluster API 1\.11 does not call BeforeWorkersUpgrade/,
  );
});

test("an override that has expired is a warning", async (t) => {
  const text = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookOverride
metadata: {name: o}
spec:
  clusterRef: {namespace: team-a, name: prod-1}
  hooks: [BeforeClusterDelete]
  reason: because
  expiresAt: "2020-01-01T00:00:00Z"
`;
  const { code, stdout } = await onFiles(t, text, ["validate", "a.yaml"]);
  assert.equal(code, 0);
  assert.match(stdout, /^a\.yaml:8:14: warning: spec\.expiresAt: has passed/);
});

const USAGE: Record<string, { args: string[]; says: string }> = {
  "no path": {
    args: [],
    says: "error: missing required argument 'path'; see 'hookpolicy validate --help'\n",
  },
  "a format that does not exist": {
    args: ["-o", "jsn", "."],
    says: "error: option '-o, --output <format>' argument 'jsn' is invalid. Allowed: text, json, github, sarif (did you mean json?); see 'hookpolicy validate --help'\n",
  },
  "a Cluster API version that makes no sense": {
    args: ["--capi-version=two", "."],
    says: `error: --capi-version is "two"; allowed: 1.10 or newer, such as 1.12, v1.12 or 1.12.3; see 'hookpolicy validate --help'\n`,
  },
};
for (const [name, { args, says }] of Object.entries(USAGE)) {
  test(`${name} is one line and exits 2`, async () => {
    assert.deepEqual(await hookpolicy(["validate", ...args]), { code: 2, stdout: "", stderr: says });
  });
}

test("each invalid object of the corpus has an error at its path", async (t) => {
  const corpus = invalidCorpus();
  const cwd = await folder(
    t,
    Object.fromEntries(
      corpus.map(({ name, object }) => [`${name}.yaml`, stringify(object, { version: "1.1" })]),
    ),
  );
  const { stdout } = await hookpolicy(["validate", "-o", "json", "."], { cwd });
  const { findings }: { findings: { file: string; severity: string; path: string }[] } = JSON.parse(stdout);
  for (const { name, path } of corpus) {
    const errors = findings.filter(({ file, severity }) => file === `${name}.yaml` && severity === "error");
    assert.ok(
      errors.some((error) => error.path === path),
      `${name}: ${path}`,
    );
  }
});

test("the plugin of kubectl calls itself so, in usage, examples and errors", async (t) => {
  const dir = await folder(t, {});
  await symlink(MAIN, join(dir, "kubectl-hookpolicy"));
  const run = async (...args: string[]): Promise<string> =>
    await new Promise((done) => {
      execFile(process.execPath, [join(dir, "kubectl-hookpolicy"), ...args], (_error, stdout, stderr) =>
        done(stdout + stderr),
      );
    });
  const help = await run("validate", "-h");
  assert.match(help, /^Usage: kubectl hookpolicy validate \[options\] <path\.\.\.>/);
  assert.match(help, /\| kubectl hookpolicy validate -\n/);
  assert.match(await run("validate"), /see 'kubectl hookpolicy validate --help'/);
  assert.match(await run("-h"), /^ {2}kubectl hookpolicy validate policies\//m);
});

test("metadata and status are read as strictly as by the API server", async (t) => {
  const metadata =
    "{name: good, namespace: team-a, lables: {a: b}, labels: {x: yes}, annotations: {count: 1}}";
  const text = `${GOOD.replace("{name: good, namespace: team-a}", metadata)}status: {blockd: 1}\n`;
  const { code, stdout } = await onFiles(t, text, ["validate", "a.yaml"]);
  assert.equal(code, 1);
  for (const says of [
    /^a\.yaml:3:\d+: error: metadata\.lables: unknown field$/m,
    /help: did you mean "labels"\?/,
    /^a\.yaml:3:\d+: error: metadata\.labels\[x\]: found the boolean true, expected a string/m,
    /^a\.yaml:3:\d+: error: metadata\.annotations\[count\]: found the number 1, expected a string/m,
    /^a\.yaml:10:10: error: status\.blockd: unknown field$/m,
  ]) {
    assert.match(stdout, says);
  }
});

test("a name that is no text is one error", async (t) => {
  const { code, stdout } = await onFiles(t, GOOD.replace("name: good", "name: y"), ["validate", "a.yaml"]);
  assert.equal(code, 1);
  assert.equal(stdout.match(/error: metadata\.name: found the boolean true, expected a string/g)?.length, 1);
  assert.match(stdout, /\n1 HookPolicy: 1 error\n$/);
});

test("what the API server and the operator have written is no error", async (t) => {
  const written = {
    uid: "u",
    resourceVersion: "1",
    generation: 2,
    creationTimestamp: "2026-11-21T12:00:00Z",
    managedFields: [{ manager: "hookpolicy", fieldsV1: { "f:spec": {} } }],
    ownerReferences: [],
    finalizers: ["hookpolicy.dev/held-deletions"],
    annotations: null,
  };
  const metadata = JSON.stringify({ name: "good", namespace: "team-a", ...written });
  const row = '{"namespace":"team-a","cluster":"a","clusterUID":"u","hook":"BeforeClusterDelete"}';
  const status = `status: {observedGeneration: 2, blocked: 1, conditions: [{type: Ready, status: "True"}], decisions: [${row}]}\n`;
  const cwd = await folder(t, {
    "a.yaml": GOOD.replace("{name: good, namespace: team-a}", metadata) + status,
  });
  assert.equal((await hookpolicy(["validate", "a.yaml"], { cwd })).stdout, "1 HookPolicy: no errors\n");
});

test("a message that a comment cuts short is a warning, in quotes it is none", async (t) => {
  const said = (text: string): string => `${GOOD}      message: ${text}\n`;
  const cwd = await folder(t, {
    "a.yaml": said("ask #platform"),
    "b.yaml": said('"ask #platform" # here') + "---\n" + said("a#b").replace("good", "other"),
  });
  const { code, stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
  assert.equal(code, 0);
  assert.match(stdout, /^a\.yaml:10:16: warning: spec\.rules\[0\]\.message: ends before "#platform"/m);
  assert.match((await hookpolicy(["validate", "b.yaml"], { cwd })).stdout, /no errors\n$/);
});

test("so is the message of a gate, of a member and of a stage's gate, and the reason of an override", async (t) => {
  const gate = (text: string): string => GOOD.replace(/- \{name: approved, (.*)\}\n/, text);
  const rollout = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookRollout
metadata: {name: r}
spec:
  operation: Upgrade
  namespaceSelector: {}
  progressDeadline: 6h
  stages:
    - name: all
      clusterSelector: {}
      until:
        - annotation: {key: a}
          name: approved
          message: ask #4
`;
  const override = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookOverride
metadata: {name: o}
spec:
  clusterRef: {namespace: team-a, name: prod-1}
  hooks: [BeforeClusterDelete]
  reason: lost region #5
  expiresAt: "2020-01-01T00:00:00Z"
`;
  const cwd = await folder(t, {
    "gate.yaml": gate("- $1\n          name: approved\n          message: ask #1\n"),
    "member.yaml": gate(
      "- name: any\n          anyOf:\n            - $1\n              name: a\n              message: ask #2\n",
    ),
    "flow.yaml": gate("- {name: approved, $1, message: ask} #3\n"),
    "rollout.yaml": rollout,
    "override.yaml": override,
  });
  const { stdout } = await hookpolicy(["validate", "-o", "json", "."], { cwd });
  const { findings } = JSON.parse(stdout);
  const cut = findings.filter(({ id }: { id: string }) => id === "message-cut");
  assert.deepEqual(
    cut.map(({ path, message }: { path: string; message: string }) => [path, /"(.*)"/.exec(message)?.[1]]),
    [
      ["spec.rules[0].until[0].message", "#1"],
      ["spec.rules[0].until[0].anyOf[0].message", "#2"],
      ["spec.reason", "#5"],
      ["spec.stages[0].until[0].message", "#4"],
    ],
  );
});

test("two documents without --- between them are told apart, with a frame", async (t) => {
  const { code, stdout } = await onFiles(t, GOOD + GOOD, ["validate", "a.yaml"]);
  assert.equal(code, 2);
  assert.match(
    stdout,
    /^a\.yaml:10:1: error: duplicate key "apiVersion" in a mapping: two documents without --- between them\?\n.*\n> 10 \| apiVersion: .*\n {5}\| \^\n/,
  );
});

test("one error hides none of another rule", async (t) => {
  const second =
    "\n    - {name: second, hooks: [BeforeClusterDelete], until: [{name: e, expression: cluster.foo == 'a'}]}";
  const cwd = await folder(t, {
    "a.yaml": `${GOOD.replace("annotation: {key: a,", "annotation: {kye: a,").trimEnd()}${second}\n`,
  });
  const { stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
  assert.match(
    stdout,
    /^a\.yaml:9:\d+: error: spec\.rules\[0\]\.until\[0\]\.annotation\.kye: unknown field/m,
  );
  assert.match(
    stdout,
    /^a\.yaml:10:82: error: spec\.rules\[1\]\.until\[0\]\.expression: column 8: cluster\.foo: unknown field/m,
  );
});
