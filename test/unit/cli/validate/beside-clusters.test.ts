/** What `hookpolicy validate` says of selectors that select none of the Clusters beside them. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { PolicyKind } from "../../../../src/policy/policy-ref.ts";
import { yaml } from "../program.ts";
import { RAW_POLICIES, rawCluster, rawNamespace, rawRollout } from "../raw.ts";
import { onFiles } from "../resident.ts";

const cluster = (name: string, labels: object, namespace = "team-a"): object =>
  rawCluster({ namespace, name, labels });

const FLEET = [
  rawNamespace({ labels: { team: "a" } }),
  cluster("prod-1", { tier: "production", env: "live" }),
  cluster("dev-1", { tier: "staging" }),
];

function policy(spec: object, metadata: object = {}, kind: PolicyKind = "HookPolicy"): object {
  const until = [{ name: "ok", annotation: { key: "example.com/ok", value: "yes" } }];
  const rules = [{ name: "r", hooks: ["BeforeClusterDelete"], until, message: "ask" }];
  return RAW_POLICIES[kind]({ name: "p", ...metadata }, { ...spec, rules });
}

const rollout = (stages: readonly object[], selectors: object = { namespaceSelector: {} }): object =>
  rawRollout("upgrades", { ...selectors, stages });

async function findings(t: TestContext, ...objects: readonly object[]): Promise<string[]> {
  const { stdout } = await onFiles(t, yaml(...objects), ["validate", "a.yaml"]);
  return stdout
    .split("\n")
    .filter((line) => / warning: |^ {2}help: /.test(line))
    .map((line) => line.replace(/^.* warning: /, "").trim());
}

const CASES: Readonly<Record<string, readonly [object, ...(readonly string[])]>> = {
  "the key of a label has swapped letters": [
    policy({ clusterSelector: { matchLabels: { teir: "production" } } }),
    "spec.clusterSelector: teir=production selects none of the 2 Clusters of namespace team-a, so the policy holds nothing [selects-nothing]",
    'help: did you mean "tier=production"?',
  ],
  "the value of a label is misspelt": [
    policy({
      clusterSelector: { matchExpressions: [{ key: "tier", operator: "In", values: ["prodution"] }] },
    }),
    "spec.clusterSelector: tier in (prodution) selects none of the 2 Clusters of namespace team-a, so the policy holds nothing [selects-nothing]",
    'help: did you mean "tier=production"?',
  ],
  "no label is near": [
    policy({ clusterSelector: { matchLabels: { tier: "gold" } } }),
    "spec.clusterSelector: tier=gold selects none of the 2 Clusters of namespace team-a, so the policy holds nothing: they have tier=production, tier=staging [selects-nothing]",
  ],
  "no Cluster has all of the labels": [
    policy({ clusterSelector: { matchLabels: { tier: "staging", env: "live" } } }),
    "spec.clusterSelector: tier=staging, env=live selects none of the 2 Clusters of namespace team-a, so the policy holds nothing: no Cluster meets all of it [selects-nothing]",
  ],
  "the namespace of the policy is misspelt": [
    policy({}, { namespace: "taem-a" }),
    "metadata.namespace: namespace taem-a has none of the 2 Clusters, which are in team-a, so the policy holds nothing [selects-nothing]",
    'help: did you mean "team-a"?',
  ],
  "a namespaceSelector selects no namespace of Clusters": [
    policy({ namespaceSelector: { matchLabels: { taem: "a" } } }, {}, "ClusterHookPolicy"),
    "spec.namespaceSelector: taem=a selects the namespace of none of the 2 Clusters, so the policy holds nothing [selects-nothing]",
    'help: did you mean "team=a"?',
  ],
  "a rollout selects nothing": [
    rollout([], { namespaceSelector: {}, clusterSelector: { matchLabels: { tire: "production" } } }),
    "spec.clusterSelector: tire=production selects none of the 2 Clusters, so the rollout limits nothing [selects-nothing]",
    'help: did you mean "tier=production"?',
  ],
  "a stage selects nothing, and later ones wait for it": [
    rollout([
      { name: "staging", clusterSelector: { matchLabels: { tier: "stagign" } } },
      { name: "rest", clusterSelector: {} },
    ]),
    "spec.stages[0].clusterSelector: tier=stagign selects none of the 2 Clusters that the rollout may select, so stage staging has no Cluster, and later stages wait until it does [selects-nothing]",
    'help: did you mean "tier=staging"?',
  ],
  "everything is selected": [policy({ clusterSelector: { matchLabels: { tier: "production" } } })],
};

for (const [name, [object, ...expected]] of Object.entries(CASES))
  test(`beside Clusters: ${name}`, async (t) => {
    assert.deepEqual(await findings(t, ...FLEET, object), expected);
  });

const MISSPELT = { clusterSelector: { matchLabels: { teir: "production" } } };

test("nothing is said of selectors without Clusters", async (t) => {
  assert.deepEqual(await findings(t, policy(MISSPELT)), []);
});

test("a Cluster that is a template, or there twice with differences, is told instead of what selectors select", async (t) => {
  const template = cluster("${NAME}", {});
  const [told, ...more] = await findings(t, template, policy(MISSPELT));
  assert.match(
    told ?? "",
    /^metadata\.name: found "\$\{NAME\}", which is a template: .* \[unclear-cluster\]$/,
  );
  const twice = await findings(t, cluster("prod-1", {}), cluster("prod-1", { tier: "x" }), policy(MISSPELT));
  assert.match(
    twice.join("\n"),
    /^metadata\.name: Cluster team-a\/prod-1 is also at \S+:1, and differs, .* \[unclear-cluster\]$/,
  );
  assert.deepEqual(
    [more, await findings(t, template)],
    [[], []],
    "without a policy, no command reads Clusters",
  );
});

test("an unknown namespace may have the labels that are selected", async (t) => {
  const selects = { namespaceSelector: { matchLabels: { team: "b" } } };
  const clusters = FLEET.slice(1);
  const found = await findings(t, ...clusters, policy(selects, {}, "ClusterHookPolicy"));
  assert.match(found.join("\n"), /^[^\n]* \[namespace-missing\]$/);
});

test("without their Namespaces, Clusters are those that a rollout may select", async (t) => {
  const stages = [{ name: "staging", clusterSelector: { matchLabels: { tier: "stagign" } } }];
  const selects = { namespaceSelector: { matchLabels: { team: "b" } } };
  const found = await findings(t, ...FLEET.slice(1), rollout(stages, selects));
  assert.match(
    found.join("\n"),
    /selects none of the 2 Clusters that the rollout may select, so stage staging has no Cluster/,
  );
});

test("that a policy selects nothing yet can be accepted", async (t) => {
  const annotations = { "hookpolicy.dev/accept": "selects-nothing" };
  assert.deepEqual(await findings(t, ...FLEET, policy(MISSPELT, { annotations })), []);
  assert.deepEqual(await findings(t, policy(MISSPELT, { annotations })), []);
});
