/** What the API server takes as text only, and a file has as a number or boolean, is an error with its place. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const CLUSTER = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: { namespace: team-a, name: c1, labels: { ring: "1" } }
spec: { topology: { classRef: { name: lab }, version: v1.34.0 } }
`;
const NAMESPACE = `apiVersion: v1
kind: Namespace
metadata: { name: team-a, labels: { tier: prod } }
`;
const POLICY = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: { namespace: team-a, name: p, labels: { by: us } }
spec:
  rules:
    - name: r
      hooks: [BeforeClusterDelete]
      until: [{ name: g, object: { apiVersion: v1, kind: ConfigMap, name: c, minCount: 1 } }]
`;
const CONFIG = `apiVersion: v1
kind: ConfigMap
metadata: { namespace: team-a, name: c, labels: { of: c1 } }
`;
const FILES = { "cluster.yaml": CLUSTER, "ns.yaml": NAMESPACE, "policy.yaml": POLICY, "config.yaml": CONFIG };

const CASES: readonly (readonly [file: keyof typeof FILES, before: string, after: string, said: RegExp])[] = [
  [
    "cluster.yaml",
    `"1"`,
    "1",
    /cluster\.yaml:3:58: metadata\.labels\[ring\]: found the number 1, expected a string: write it in quotes/,
  ],
  ["cluster.yaml", "v1.34.0", "1.30", /cluster\.yaml:4:55: spec\.topology\.version: found the number 1\.3, /],
  [
    "cluster.yaml",
    "name: c1,",
    "name: c1, uid: 12,",
    /cluster\.yaml:3:47: metadata\.uid: found the number 12,/,
  ],
  [
    "cluster.yaml",
    "name: c1,",
    "name: c1, annotations: { ok: yes },",
    /3:61: metadata\.annotations\[ok\]: found the boolean true, /,
  ],
  ["ns.yaml", "tier: prod", "tier: 1", /ns\.yaml:3:43: metadata\.labels\[tier\]: /],
  ["policy.yaml", "by: us", "by: on", /policy\.yaml:3:55: metadata\.labels\[by\]: found the boolean true, /],
  ["config.yaml", "of: c1", "of: 1", /config\.yaml:3:55: metadata\.labels\[of\]: /],
];

for (const [file, before, after, said] of CASES) {
  test(`${after} in ${file} is refused by the commands that read it`, async (t) => {
    const text = FILES[file].replace(before, after);
    assert.notEqual(text, FILES[file]);
    const cwd = await folder(t, { ...FILES, [file]: text });
    const explained = await hookpolicy(["explain", "team-a/c1", "--hook", "BeforeClusterDelete", "-f", "."], {
      cwd,
    });
    assert.equal(explained.code, 2);
    assert.match(explained.stderr, said);
    const simulated = await hookpolicy(["simulate", "-f", "policy.yaml", "--against", "."], { cwd });
    assert.equal(simulated.code, 2);
    assert.match(simulated.stderr, said);
    if (file === "config.yaml") return;
    const validated = await hookpolicy(["validate", file], { cwd });
    assert.equal(validated.code, 1);
    assert.match(validated.stdout.replace("error: ", ""), said);
  });
}

test("nothing is said about the files as they are", async (t) => {
  const cwd = await folder(t, FILES);
  const { code, stdout, stderr } = await hookpolicy(["simulate", "-f", "policy.yaml", "--against", "."], {
    cwd,
  });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.match(stdout, / operations of 1 Cluster at /);
});

test("a suite with such objects is an error, which names its files as the user did", async (t) => {
  const suite = `apiVersion: cli.hookpolicy.dev/v1alpha1
kind: HookPolicyTest
metadata: { name: s }
spec:
  at: "2026-11-25T12:00:00Z"
  policies: [policy.yaml]
  clusters:
    - { apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: { namespace: team-a, name: c1, labels: { a: 1 } } }
  namespaces: [ns.yaml]
  steps:
    - patch: [{ kind: Cluster, metadata: { name: c1, labels: { a: true } } }]
`;
  const cwd = await folder(t, {
    "suites/s.yaml": suite,
    "suites/ns.yaml": NAMESPACE.replace("prod", "1"),
    "suites/policy.yaml": POLICY,
  });
  const { code, stdout } = await hookpolicy(["test", "suites"], { cwd });
  assert.equal(code, 1);
  assert.match(
    stdout,
    /suites\/s\.yaml:8:116: spec\.clusters\[0\]\.metadata\.labels\[a\]: found the number 1,/,
  );
  assert.match(stdout, /suites\/s\.yaml:11:67: spec\.steps\[0\]\.patch\[0\]\.metadata\.labels\[a\]: /);
  assert.match(stdout, / suites\/ns\.yaml:3:43: metadata\.labels\[tier\]: /);
});
