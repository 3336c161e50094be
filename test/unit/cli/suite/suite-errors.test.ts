/** What is wrong with a suite is an error that says where, never a pass. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { rawCluster, rawNamespace, rawOverride, rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import { APPROVED, CLUSTER, DELETE, policy, problemOf, run, runSteps, suite, UPGRADE } from "./suites.ts";

const expect = { verdict: "Blocked" };
const step = (over: object): string => suite({ steps: [{ call: DELETE, expect, ...over }] });
const withSpec = (over: object): string => suite({ steps: [{ call: DELETE, expect }], ...over });
const override = (expiresAt: string): object =>
  rawOverride("let-go", { clusterRef: { namespace: "a", name: "b" }, expiresAt });
const clusterWith = (spec: object): object => ({ ...CLUSTER, spec });
const clusterAs = (metadata: object): object => ({
  ...CLUSTER,
  metadata: { ...CLUSTER.metadata, ...metadata },
});
const NOW = "2026-11-21T12:00:00Z";
const atVersion = {
  ...clusterAs({ generation: 2 }),
  status: { conditions: [{ type: "TopologyReconciled", status: "True", observedGeneration: 2 }] },
};
const asked = { ...DELETE, firstAsked: "2026-11-21T12:00:00Z" };

const CASES: Readonly<Record<string, readonly [string, RegExp]>> = {
  "a Cluster that is not there": [
    step({ call: { ...DELETE, cluster: "team-a/prod-2" } }),
    /^spec\.steps\[0\]\.call\.cluster: there is no Cluster team-a\/prod-2; did you mean "team-a\/prod-1"\?$/,
  ],
  "a policy that is not there": [
    step({ expect: { policy: "protekt" } }),
    /^spec\.steps\[0\]\.expect\.policy: there is no policy "protekt"; did you mean "protect"\?$/,
  ],
  "a rule that is not there": [
    step({ expect: { rule: "confirmd" } }),
    /^spec\.steps\[0\]\.expect\.rule: no policy has a rule "confirmd"; did you mean "confirmed"\?$/,
  ],
  "a rule that the policy does not have": [
    step({ expect: { policy: "protect", rule: "other" } }),
    /protect has no rule "other"$/,
  ],
  "a gate that is not there": [
    step({ expect: { gate: "aproved" } }),
    /^spec\.steps\[0\]\.expect\.gate: no rule has a gate "aproved"; did you mean "approved"\?$/,
  ],
  "a rule of what was asked": [
    withSpec({ asked: [{ ...asked, timers: [{ policy: "protect", rule: "other" }] }] }),
    /^spec\.asked\[0\]\.timers\[0\]\.rule: protect has no rule "other"$/,
  ],
  "what was asked later": [
    withSpec({ asked: [{ ...asked, firstAsked: "2026-11-21T12:00:01Z" }] }),
    /^spec\.asked\[0\]\.firstAsked: lies ahead of spec\.at$/,
  ],
  "an unknown field": [
    step({ expectt: expect }),
    /^spec\.steps\[0\]\.expectt: unknown field.*did you mean "expect"/,
  ],
  "an unknown verdict": [
    step({ expect: { verdict: "blocked" } }),
    /expect\.verdict: .*did you mean "Blocked"/,
  ],
  "an unknown hook": [
    step({ call: { ...DELETE, hook: "BeforeClusterDelet" } }),
    /call\.hook: .*did you mean "BeforeClusterDelete"/,
  ],
  "nothing to expect": [
    step({ expect: {} }),
    /^spec\.steps\[0\]\.expect: found too few entries, expected at least 1$/,
  ],
  "an expectation without a call": [
    suite({ steps: [{ expect }] }),
    /^spec\.steps\[0\]: must have property call when property expect is present$/,
  ],
  "no expectation at all": [
    suite({ steps: [{ call: DELETE }] }),
    /^spec\.steps: no step has expect, events, metrics, rollouts, tasks, timeline, so that nothing is tested$/,
  ],
  "a clock without a zone": [
    withSpec({ at: "2026-11-21T12:00:00" }),
    /^spec\.at: found .*, expected an instant/,
  ],
  "a day that does not exist": [withSpec({ at: "2026-02-30T12:00:00Z" }), /^spec\.at: found/],
  "a clock that goes back": [
    step({ at: "2026-11-21T11:59:59Z" }),
    /steps\[0\]\.at: the clock is at 2026-11-21T12:00:00Z already/,
  ],
  "two ways to move the clock": [
    step({ at: "2026-11-22T12:00:00Z", advance: "1h" }),
    /`at` and `advance` both move the clock/,
  ],
  "days as a duration": [
    step({ advance: "7d" }),
    /steps\[0\]\.advance: found "7d", expected a duration such as "90s", "1h30m" or "168h"$/,
  ],
  "an object in the place of a list": [
    step({ delete: { kind: "Cluster" } }),
    /steps\[0\]\.delete: found an object, expected a list: begin each item with "- "$/,
  ],
  "a number in quotes": [
    step({ expect: { retryAfterSeconds: "10" } }),
    /retryAfterSeconds: found "10", expected an integer: write it without quotes$/,
  ],
  "a message that is no regular expression": [
    step({ expect: { message: "(" } }),
    /expect\.message: found "\(", expected a regular expression \(RE2\)/,
  ],
  "a change at no instant": [
    step({ expect: { nextChange: "soon" } }),
    /expect\.nextChange: found "soon", expected an instant, "Never" or "Unknown"$/,
  ],
  "a policy that is not valid": [
    withSpec({ policies: [policy([{ name: "a", expression: "cluster.metadata.nam" }])] }),
    /^spec: HookPolicy team-a\/protect is not valid: spec\.rules\[0\]\.until\[0\]\.expression: /,
  ],
  "an override that has no effect": [
    withSpec({ overrides: [override("2027-11-21T12:00:00Z")] }),
    /^spec: HookOverride let-go is not valid: lasts longer than 168h/,
  ],
  "an object in the wrong list": [
    withSpec({ policies: [CLUSTER] }),
    /^spec\.policies\[0\]\.kind: found cluster\.x-k8s\.io\/v1beta2 Cluster, expected a HookPolicy or ClusterHookPolicy; HookRollouts belong in spec\.rollouts$/,
  ],
  "two of one name": [withSpec({ clusters: [CLUSTER, CLUSTER] }), /Cluster team-a\/prod-1 is there already/],
  "a patch of nothing": [
    step({ patch: [{ kind: "Cluster", metadata: { name: "prod-11" } }] }),
    /^spec\.steps\[0\]\.patch: Cluster prod-11 is not there/,
  ],
  "a patch that the API server refuses": [
    suite({
      overrides: [override("2026-11-21T13:00:00Z")],
      steps: [
        {
          patch: [
            {
              kind: "HookOverride",
              metadata: { name: "let-go" },
              spec: { expiresAt: "2026-11-21T18:00:00Z" },
            },
          ],
          call: DELETE,
          expect,
        },
      ],
    }),
    /^spec\.steps\[0\]\.patch: HookOverride let-go: spec\.expiresAt: can only become earlier than 2026-11-21T13:00:00Z\./,
  ],
  "a deletion of nothing": [
    step({ delete: [{ kind: "ConfigMap", name: "a" }] }),
    /^spec\.steps\[0\]\.delete: ConfigMap a is not there$/,
  ],
  "a call that Cluster API does not make at that version": [
    suite({ capiVersion: "1.11", steps: [{ call: { ...UPGRADE, hook: "BeforeWorkersUpgrade" }, expect }] }),
    /^spec\.steps\[0\]\.call\.hook: Cluster API 1\.11 does not call BeforeWorkersUpgrade/,
  ],
  "one at a version that no operator supports": [
    suite({ capiVersion: "1.05", steps: [{ call: { ...UPGRADE, hook: "BeforeWorkersUpgrade" }, expect }] }),
    /^spec\.steps\[0\]\.call\.hook: Cluster API 1\.5 does not call BeforeWorkersUpgrade/,
  ],
  "a call for a Cluster without topology": [
    withSpec({ clusters: [clusterWith({})] }),
    /has no spec\.topology: Cluster API calls no hook for it/,
  ],
  "a call for a Cluster that is paused": [
    withSpec({ clusters: [clusterWith({ ...CLUSTER.spec, paused: true })] }),
    /is paused: Cluster API calls no hook for it/,
  ],
  "the creation of a Cluster that has its references": [
    suite({
      clusters: [
        clusterWith({ ...CLUSTER.spec, infrastructureRef: { kind: "DockerCluster", name: "prod-1" } }),
      ],
      steps: [{ call: { ...DELETE, hook: "BeforeClusterCreate" }, expect }],
    }),
    /call\.hook: Cluster API does not call BeforeClusterCreate: team-a\/prod-1 shows that the operation has begun or ended/,
  ],
  "another hook than BeforeClusterDelete of a Cluster with a deletionTimestamp": [
    suite({ clusters: [clusterAs({ deletionTimestamp: NOW })], steps: [{ call: UPGRADE, expect }] }),
    /call\.hook: Cluster API does not call BeforeClusterUpgrade: team-a\/prod-1 shows/,
  ],
  "the deletion of a Cluster whose deletion was released": [
    suite({
      clusters: [
        clusterAs({
          deletionTimestamp: NOW,
          annotations: { "runtime.cluster.x-k8s.io/ok-to-delete": "" },
        }),
      ],
      steps: [{ call: DELETE, expect }],
    }),
    /call\.hook: Cluster API does not call BeforeClusterDelete: team-a\/prod-1 shows/,
  ],
  "an upgrade of a Cluster that is at its version": [
    suite({ clusters: [atVersion], steps: [{ call: UPGRADE, expect }] }),
    /BeforeClusterUpgrade: team-a\/prod-1 shows .*, by its version, /,
  ],
  "an upgrade that has begun": [
    suite({
      clusters: [
        clusterAs({ annotations: { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" } }),
      ],
      steps: [{ timeline: { ...UPGRADE, to: "2026-11-22T12:00:00Z", expect: [expect] } }],
    }),
    /timeline\.hook: Cluster API does not call BeforeClusterUpgrade: .* shows that the operation has begun/,
  ],
  "a version that the hook does not have": [
    step({ call: { ...DELETE, toKubernetesVersion: "v1.35.0" } }),
    /call\.toKubernetesVersion: BeforeClusterDelete has no such field/,
  ],
  "a version by the name of another hook's": [
    step({ call: { ...UPGRADE, kubernetesVersion: "v1.36.0" } }),
    /call\.kubernetesVersion: BeforeClusterUpgrade has no such field: write toKubernetesVersion$/,
  ],
  "an upgrade to what is no version": [
    step({ call: { ...UPGRADE, toKubernetesVersion: "v1.36" } }),
    /call\.toKubernetesVersion: found "v1\.36", expected a version in full, such as "v1\.36\.0"/,
  ],
  "a timeline that ends before it begins": [
    suite({ steps: [{ timeline: { ...DELETE, to: "2026-11-21T12:00:00Z", expect: [expect] } }] }),
    /^spec\.steps\[0\]\.timeline\.to: the clock is at/,
  ],
  "another version of the kind": [
    step({}).replace("cli.hookpolicy.dev/v1alpha1", "cli.hookpolicy.dev/v1"),
    /^apiVersion: found "cli\.hookpolicy\.dev\/v1", expected cli\.hookpolicy\.dev\/v1alpha1/,
  ],
};

for (const [name, [text, expected]] of Object.entries(CASES)) {
  test(`${name} is an error`, async () => {
    assert.match(await problemOf(text), expected);
  });
}

test("a path of rollouts among the policies is an error", async (t) => {
  const rollout = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookRollout", metadata: { name: "a" } };
  const cwd = await folder(t, {
    "fleet.json": JSON.stringify(rollout),
    "suite.yaml": withSpec({ policies: ["fleet.json"] }),
  });
  const { code, stdout } = await hookpolicy(["test", "suite.yaml"], { cwd });
  assert.equal(code, 1);
  assert.match(stdout, /"fleet\.json" holds no HookPolicy or ClusterHookPolicy; HookRollouts belong in/m);
});

test("Clusters of files that are templates, parts, or two of one name are errors with their places", async (t) => {
  const cluster = (name: string, version: string, topology: object = { classRef: { name: "s" } }): string =>
    JSON.stringify({ ...rawCluster(name), spec: { topology: { ...topology, version } } });
  const cwd = await folder(t, {
    "a.json": cluster("prod-1", "v1.34.0"),
    "b.json": cluster("prod-1", "v1.35.0"),
    "part.json": cluster("prod-2", "v1.35.0", {}),
    "template.json": cluster("${NAME}", "v1.35.0"),
    "suite.yaml": withSpec({ clusters: ["a.json", "b.json", "part.json", "template.json"] }),
  });
  const { code, stdout } = await hookpolicy(["test", "suite.yaml"], { cwd });
  assert.equal(code, 1);
  assert.match(
    stdout,
    /b\.json:1:\d+: metadata\.name: Cluster team-a\/prod-1 is also at a\.json:1, and differs/,
  );
  assert.match(stdout, /part\.json:1:\d+: spec\.topology: names no ClusterClass/);
  assert.match(stdout, /template\.json:1:\d+: metadata\.name: found "\$\{NAME\}", which is a template/);
});

test("a kustomization beside a suite is named from here", async (t) => {
  const cwd = await folder(t, {
    "in/prod/clusters.json": JSON.stringify(CLUSTER),
    "in/prod/kustomization.yaml": "namePrefix: x-\nresources: [clusters.json]",
    "in/prod/suite.yaml": withSpec({ clusters: ["."] }),
  });
  const { stdout } = await hookpolicy(["test", "in"], { cwd });
  assert.match(stdout, /in\/prod\/kustomization\.yaml:1:\d+: namePrefix: .* kubectl kustomize in\/prod$/m);
});

test("a path that gives nothing of what it is for is an error", async (t) => {
  const cwd = await folder(t, {
    "clusters.json": JSON.stringify(CLUSTER),
    "1.yaml": withSpec({ namespaces: ["clusters.json"] }),
    "2.yaml": withSpec({ namespaces: ["none.json"] }),
  });
  const { stdout } = await hookpolicy(["test", "1.yaml", "2.yaml"], { cwd });
  assert.match(stdout, /1\.yaml:1:\d+: spec\.namespaces\[0\]: "clusters\.json" holds no Namespace$/m);
  assert.match(stdout, /none\.json: no such file or folder$/m);
});

test("steps behind one that could not be run are skipped, and the clock of the suite stays", async () => {
  const steps = [
    { call: DELETE, expect },
    { advance: "1h", call: DELETE, expect: { rule: "none" } },
    { advance: "1h", call: DELETE, expect },
  ];
  const result = await run(suite({ policies: [policy([APPROVED])], steps }));
  assert.equal(result.status, "error");
  assert.deepEqual(
    result.steps.map(({ status, at }) => [status, at]),
    [
      ["passed", "2026-11-21T12:00:00Z"],
      ["error", "2026-11-21T13:00:00Z"],
      ["skipped", "2026-11-21T13:00:00Z"],
    ],
  );
});

test("no regular expression takes more than the length of the message", async () => {
  const call = { hook: "BeforeClusterDelete", cluster: "team-a/prod-1" };
  const spec = { steps: [{ call, expect: { message: "^((((.+)+)+)+)+!$" } }] };
  assert.equal((await run(suite(spec))).status, "failed");
});

for (const name of ["protect", "team-a/protect", "HookPolicy team-a/protect", "HookPolicy/protect"])
  test(`a policy can be named ${name}`, async () => {
    const before = [
      { ...DELETE, firstAsked: "2026-11-21T10:00:00Z", timers: [{ policy: name, rule: "confirmed" }] },
    ];
    const steps = [{ call: DELETE, expect: { verdict: "Blocked", policy: name } }];
    const [only] = await runSteps({ asked: before, steps });
    assert.equal(only?.status, "passed");
  });

test("a policy of another kind is not the one that is named", async () => {
  const steps = [{ call: DELETE, expect: { policy: "ClusterHookPolicy/protect" } }];
  const { problems, steps: ran } = await run(suite({ steps }));
  assert.match(JSON.stringify([problems, ran]), /there is no policy \\+"ClusterHookPolicy\/protect/);
});

test("a rollout that selects by namespace needs the Namespaces of its Clusters", async () => {
  const env = { namespaceSelector: { matchLabels: { env: "prod" } } };
  const namespaces = [rawNamespace({ labels: { env: "prod" } })];
  const limit = { labelKey: "env", from: "Namespace", maxConcurrency: 1 };
  const staged = { stages: [{ name: "pilot", ...env }, { name: "rest" }] };
  for (const own of [env, staged, { spread: [limit] }]) {
    const rollout = rawRollout("all", own);
    const given = { rollouts: [rollout], steps: [{ call: DELETE, expect }] };
    assert.equal(
      await problemOf(suite(given)),
      "spec: HookRollout all selects by namespace: add Namespace team-a, with its labels, to spec.namespaces",
    );
    assert.equal((await run(suite({ ...given, namespaces }))).status, "passed");
  }
});

test("a rollout needs no Namespace of a Cluster whose stage is known without it, or that has no topology", async () => {
  const rollout = rawRollout("all", {
    stages: [
      { name: "canary", clusterSelector: { matchLabels: { tier: "canary" } } },
      { name: "rest", namespaceSelector: { matchLabels: { env: "prod" } } },
    ],
  });
  const labelled = { ...CLUSTER, metadata: { ...CLUSTER.metadata, labels: { tier: "canary" } } };
  const steps = [{ call: DELETE, expect }];
  const old = { ...CLUSTER, metadata: { namespace: "team-b", name: "old" }, spec: {} };
  const given = { rollouts: [rollout], steps };
  const clusters = [labelled, old];
  assert.equal((await run(suite({ ...given, clusters }))).status, "passed");
  const free = { matchExpressions: [{ key: "frozen", operator: "DoesNotExist" }] };
  for (const namespaceSelector of [{ matchLabels: { env: "prod" } }, free]) {
    const spec = { ...rollout.spec, stages: [{ name: "first", namespaceSelector }, { name: "rest" }] };
    const unknown = { ...given, rollouts: [{ ...rollout, spec }] };
    assert.match(await problemOf(suite(unknown)), /add Namespace team-a/);
  }
});
