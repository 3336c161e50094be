/** What a kustomization of the files changes is not what is applied: every command that reads it there refuses it. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { stringify } from "yaml";
import { folder } from "../program.ts";
import { rawCluster, rawNamespace, rawPolicy, rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const cluster = (name: string, labels: object = {}): object => ({
  ...rawCluster({ name, labels }),
  spec: { topology: { classRef: { name: "s" }, version: "v1.34.0" } },
});
const rule = {
  name: "d",
  hooks: ["BeforeClusterDelete"],
  until: [{ name: "a", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } }],
};
const policy = (name = "p", extra: object = {}): object =>
  rawPolicy({ name, labels: { for: "deletion" } }, { rules: [rule], ...extra });
const ROLLOUT = rawRollout("r", { progressDeadline: "1h", stages: [{ name: "all" }] });
const SUITE = {
  apiVersion: "cli.hookpolicy.dev/v1alpha1",
  kind: "HookPolicyTest",
  metadata: { name: "s" },
  spec: {
    at: "2026-11-25T12:00:00Z",
    policies: ["in/"],
    rollouts: ["in/"],
    clusters: [cluster("c")],
    namespaces: [rawNamespace()],
    steps: [{ call: { hook: "BeforeClusterDelete", cluster: "team-a/c" }, expect: { verdict: "Blocked" } }],
  },
};
const OBSERVE = { mode: "Audit" };
const JSON_PATCH = '[{ "op": "add", "path": "/spec/mode", "value": "Audit" }]';

/** The policy and the rollout, and the kustomization of a folder beside or above them. */
const files = (kustomization: object, more: Record<string, object> = {}): Record<string, string> => ({
  "in/base/kustomization.yaml": stringify({ resources: ["p.yaml", "r.yaml"] }),
  "in/base/p.yaml": stringify(policy()),
  "in/base/r.yaml": stringify(ROLLOUT),
  "in/prod/kustomization.yaml": stringify({ resources: ["../base"], ...kustomization }),
  "fleet.yaml": stringify(cluster("c")),
  "suite.yaml": stringify(SUITE),
  ...Object.fromEntries(Object.entries(more).map(([name, object]) => [name, stringify(object)])),
});

const COMMANDS = [
  ["simulate", "-f", "in", "--against", "fleet.yaml"],
  ["explain", "team-a/c", "-f", "in", "-f", "fleet.yaml"],
  ["windows", "-f", "in"],
  ["rollout", "plan", "-f", "in", "-f", "fleet.yaml", "--duration", "1h"],
  ["test", "suite.yaml"],
];

const CHANGED: Readonly<Record<string, Record<string, string>>> = {
  "a patch in a file": files(
    { patches: [{ path: "loose.yaml" }] },
    { "in/prod/loose.yaml": rawPolicy("p", { ...OBSERVE, rules: [] }) },
  ),
  "a patch in the kustomization": files({ patches: [{ patch: stringify(rawPolicy("p", OBSERVE)) }] }),
  "a JSON patch with a target": files({
    patches: [{ target: { kind: "Hook(Policy|Rollout)" }, patch: JSON_PATCH }],
  }),
  "a JSON patch for labels": files({
    patches: [{ target: { labelSelector: "for=deletion" }, patch: JSON_PATCH }],
  }),
  patchesStrategicMerge: files({ patchesStrategicMerge: [stringify(rawPolicy("p", OBSERVE))] }),
  patchesJson6902: files({
    patchesJson6902: [
      {
        target: { group: "hookpolicy.dev", version: "v1alpha1", kind: "HookPolicy", name: "p" },
        path: "x.json",
      },
    ],
  }),
  replacements: files({
    replacements: [
      {
        source: { kind: "ConfigMap", name: "c" },
        targets: [{ select: { kind: "HookPolicy" }, fieldPaths: ["spec.mode"] }],
      },
    ],
  }),
  "a component": files(
    { components: ["../loose"] },
    {
      "in/loose/kustomization.yaml": {
        apiVersion: "kustomize.config.k8s.io/v1alpha1",
        kind: "Component",
        patches: [{ target: { kind: "HookPolicy" }, patch: JSON_PATCH }],
      },
    },
  ),
  "a component from elsewhere": files({ components: ["https://example.com/loose"] }),
  "a transformer": files({ transformers: ["loose.yaml"] }),
  "another namespace": files({ namespace: "team-b" }),
};
const MODE = { patches: [{ patch: stringify(rawPolicy("p", OBSERVE)) }] };

for (const name of ["kustomization.yml", "Kustomization"]) {
  test(`kustomize also takes a file with the name ${name}`, async (t) => {
    const { "in/prod/kustomization.yaml": content = "", ...others } = files(MODE);
    const cwd = await folder(t, { ...others, [`in/prod/${name}`]: content });
    const { code, stderr } = await hookpolicy(["windows", "-f", "in"], { cwd });
    assert.equal(code, 2, stderr);
    assert.match(stderr, /can change 1 HookPolicy/);
  });
}

describe("a policy is refused by every command that reads it if it is changed by", () => {
  for (const [name, given] of Object.entries(CHANGED)) {
    test(name, async (t) => {
      const cwd = await folder(t, given);
      for (const args of COMMANDS) {
        const { code, stdout, stderr } = await hookpolicy(args, { cwd });
        const text = `${stdout}${stderr}`;
        assert.equal(code, args[0] === "test" ? 1 : 2, `${args[0]}: ${text}`);
        assert.match(text, /in\/prod\/kustomization\.yaml:\d+:\d+: \w+: can change 1 HookPolicy/, args[0]);
        assert.match(text, /build it first, and use the output: kubectl kustomize in\/prod\b/, args[0]);
      }
    });
  }
});

test("a rollout is refused as well", async (t) => {
  const cwd = await folder(t, files({ patches: [{ target: { kind: "HookRollout" }, patch: JSON_PATCH }] }));
  const { code, stderr } = await hookpolicy(COMMANDS[3] ?? [], { cwd });
  assert.equal(code, 2);
  assert.match(stderr, /patches: can change 1 HookRollout \(r\)/);
});

const UNCHANGED: Readonly<Record<string, object>> = {
  "patches another kind": { patches: [{ target: { kind: "Deployment" }, patch: JSON_PATCH }] },
  "patches another name": { patches: [{ target: { name: "p.+" }, patch: JSON_PATCH }] },
  "patches other objects": {
    patchesStrategicMerge: [stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "p" } })],
  },
  "gives labels and annotations": { commonLabels: { a: "b" }, commonAnnotations: { c: "d" } },
  "names the namespace that the policy has": { namespace: "team-a" },
  "has images and generators": { images: [{ name: "x", newTag: "y" }], configMapGenerator: [{ name: "x" }] },
};

describe("a policy is taken as the file has it if the kustomization", () => {
  for (const [name, given] of Object.entries(UNCHANGED)) {
    test(name, async (t) => {
      const cwd = await folder(t, files(given));
      for (const args of COMMANDS) {
        const { code, stdout, stderr } = await hookpolicy(args, { cwd });
        assert.notEqual(code, 2, `${args[0]}: ${stdout}${stderr}`);
        if (args[0] === "test") assert.equal(code, 0, stdout);
      }
    });
  }
});

test("windows lists nothing of a policy that is not what is applied", async (t) => {
  const until = [
    { name: "w", window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "8h" }] } },
  ];
  const given = files(
    { patches: [{ patch: stringify(rawPolicy("p", OBSERVE)) }] },
    { "in/base/p.yaml": policy("p", { rules: [{ name: "d", hooks: ["BeforeClusterDelete"], until }] }) },
  );
  const cwd = await folder(t, given);
  for (const more of [[], ["-o", "json"]]) {
    const { code, stdout, stderr } = await hookpolicy(["windows", "-f", "in", ...more], { cwd });
    assert.deepEqual({ code, stdout }, { code: 2, stdout: "" });
    assert.match(stderr, /^error: in\/prod\/kustomization\.yaml:3:1: patches: can change 1 HookPolicy .*\n$/);
  }
});

test("one line names how many Clusters a patch is for, and no others", async (t) => {
  const names = [...Array.from({ length: 5 }, (_, index) => `c-${index}`), "other"];
  const cwd = await folder(t, {
    "fleet/clusters.yaml": names.map((name) => stringify(cluster(name))).join("---\n"),
    "fleet/kustomization.yaml": stringify({
      resources: ["clusters.yaml"],
      patches: [{ target: { kind: "Cluster", name: "c-.*" }, patch: JSON_PATCH }],
    }),
    "p.yaml": stringify(policy()),
  });
  const { code, stderr } = await hookpolicy(["simulate", "-f", "p.yaml", "--against", "fleet"], { cwd });
  assert.equal(code, 2);
  assert.equal(
    stderr,
    "error: fleet/kustomization.yaml:3:1: patches: can change 5 Clusters (team-a/c-0, team-a/c-1, team-a/c-2 and 2 more), so that the files are not what is applied: build it first, and use the output: kubectl kustomize fleet\n",
  );
});

test("validate warns of it, and fails with --strict", async (t) => {
  const cwd = await folder(t, files({ patches: [{ patch: stringify(rawPolicy("p", OBSERVE)) }] }));
  const { code, stdout } = await hookpolicy(["validate", "in"], { cwd });
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /^in\/prod\/kustomization\.yaml:3:1: warning: patches: can change 1 HookPolicy .*\[not-built\]$/m,
  );
  const strict = await hookpolicy(["validate", "in", "--strict", "-o", "json"], { cwd });
  assert.equal(strict.code, 1);
});

test("validate checks no patch as if it were a policy, but what is applied as well", async (t) => {
  const patches = { patches: [{ path: "patch.yaml" }] };
  const patch = { "in/prod/patch.yaml": rawPolicy("p", OBSERVE) };
  const alone = await hookpolicy(["validate", "in"], { cwd: await folder(t, files(patches, patch)) });
  assert.equal(alone.code, 0, alone.stdout);
  assert.match(alone.stdout, /not-built/);
  assert.match(alone.stdout, /1 HookPolicy, 1 HookRollout/);
  const both = files({ resources: ["../base", "patch.yaml"], ...patches }, patch);
  const applied = await hookpolicy(["validate", "in"], { cwd: await folder(t, both) });
  assert.equal(applied.code, 1);
  assert.match(applied.stdout, /patch\.yaml:6:1: error: spec\.rules: required field is missing/);
});
