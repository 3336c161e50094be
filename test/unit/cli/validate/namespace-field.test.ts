/** A policy in another namespace than its author means protects nothing: that is told, by every command on files. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const policy = (metadata: string, kind = "HookPolicy"): string => `apiVersion: hookpolicy.dev/v1alpha1
kind: ${kind}
metadata: ${metadata}
spec:
  ${kind === "HookPolicy" ? "mode: Enforce" : "namespaceSelector: {}"}
  rules:
    - name: confirmed
      hooks: [BeforeClusterDelete]
      until:
        - {name: approved, annotation: {key: a, valueFrom: ClusterUID}}
`;

const ERRORS: Readonly<Record<string, { readonly text: string; readonly says: RegExp }>> = {
  "a template that YAML reads as a map": {
    text: policy("{name: a, namespace: {{ .Values.team }}}"),
    says: /found \{\{ … \}\}, which is a template: render it first/,
  },
  "a template in quotes": {
    text: policy('{name: a, namespace: "{{ .Release.Namespace }}"}'),
    says: /found "\{\{ \.Release\.Namespace \}\}", which is a template/,
  },
  "a variable": {
    text: policy("{name: a, namespace: '${TEAM}'}"),
    says: /found "\$\{TEAM\}", which is a template/,
  },
  "a map": { text: policy("{name: a, namespace: {team: a}}"), says: /found an object, expected a string/ },
  "a number": {
    text: policy("{name: a, namespace: 42}"),
    says: /found the number 42, expected a string: write it in quotes/,
  },
  "a name that no namespace has": {
    text: policy("{name: a, namespace: Team_A}"),
    says: /found "Team_A", expected the name of a namespace/,
  },
  "a number on a ClusterHookPolicy": {
    text: policy("{name: a, namespace: 42}", "ClusterHookPolicy"),
    says: /found the number 42/,
  },
};

for (const [name, { text, says }] of Object.entries(ERRORS)) {
  test(`${name} is an error at its place, and no command goes on as if it were "default"`, async (t) => {
    const cwd = await folder(t, { "a.yaml": text });
    const { code, stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
    assert.equal(code, 1);
    assert.match(stdout, /^a\.yaml:3:\d+: error: metadata\.namespace: /);
    assert.match(stdout, says);
    for (const args of [["windows"], ["simulate"], ["explain", "team-a/prod-1"]]) {
      const run = await hookpolicy([...args, "-f", "a.yaml"], { cwd });
      assert.equal(run.code, 2, args[0]);
      assert.match(run.stderr, says, args[0]);
    }
  });
}

const WARNINGS: Readonly<Record<string, { readonly text: string; readonly says: RegExp }>> = {
  "a missing namespace": { text: policy("{name: a}"), says: /is missing, so that kubectl chooses it/ },
  "a namespace of a ClusterHookPolicy": {
    text: policy("{name: a, namespace: team-a}", "ClusterHookPolicy"),
    says: /a ClusterHookPolicy has no namespace, and the API server drops it: it is about what its spec selects/,
  },
  "a namespace of a HookRollout": {
    text: `apiVersion: hookpolicy.dev/v1alpha1
kind: HookRollout
metadata: {name: a, namespace: team-a}
spec: {operation: Upgrade, namespaceSelector: {}, progressDeadline: 6h}
`,
    says: /a HookRollout has no namespace, and the API server drops it: it is about what its spec selects/,
  },
};

for (const [name, { text, says }] of Object.entries(WARNINGS)) {
  test(`${name} is a warning`, async (t) => {
    const cwd = await folder(t, { "a.yaml": text });
    const { code, stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
    assert.equal(code, 0);
    assert.match(stdout, /^a\.yaml:3:\d+: warning: metadata\.namespace: /);
    assert.match(stdout, says);
    const windows = await hookpolicy(["windows", "-f", "a.yaml"], { cwd });
    assert.equal(windows.code, 0);
    assert.match(windows.stderr, says);
  });
}

test("a namespace of a policy, and none of a ClusterHookPolicy, say nothing", async (t) => {
  const cwd = await folder(t, {
    "a.yaml": policy("{name: a, namespace: team-a}"),
    "b.yaml": policy("{name: b}", "ClusterHookPolicy"),
  });
  assert.match((await hookpolicy(["validate", "."], { cwd })).stdout, /: no errors\n$/);
});
