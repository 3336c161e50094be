/** What `hookpolicy validate` says of rollouts beside each other and beside policies. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { PolicyKind } from "../../../../src/policy/policy-ref.ts";
import { folder } from "../program.ts";
import { RAW_POLICIES, rawPolicy, rawRollout } from "../raw.ts";
import { hookpolicy, onFiles } from "../resident.ts";

function rollout(name: string, spec: object = {}): string {
  return `${JSON.stringify(rawRollout(name, spec))}\n`;
}

function policy(hook: string, spec: object = {}, kind: PolicyKind = "HookPolicy"): string {
  const until = [{ name: "tested", annotation: { key: "a", value: "b" } }];
  const rules = [{ name: "r", hooks: [hook], until }];
  return `${JSON.stringify(RAW_POLICIES[kind]("p", { rules, ...spec }))}
`;
}

/** Without what is said of a policy by itself. */
async function warnings(t: TestContext, ...documents: string[]): Promise<string[]> {
  const { stdout } = await onFiles(t, documents.join("---\n"), ["validate", "a.yaml"]);
  return stdout.split("\n").filter((line) => / warning: spec/.test(line) && line.includes("HookRollout"));
}

test("a rollout is checked, and an error has its place", async (t) => {
  const text = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookRollout
metadata: {name: upgrades}
spec:
  operation: Upgrade
  namespaceSelector: {}
  progressDeadline: 6h
  healthyWhen:
    - {name: available, expression: "cluster.metadata.nam == 'a'"}
`;
  const cwd = await folder(t, { "a.yaml": text, "b.yaml": text.replace("metadata.nam ", "metadata.name ") });
  const { code, stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
  assert.equal(code, 1);
  assert.match(stdout, /^a\.yaml:9:37: error: spec\.healthyWhen\[0\]\.expression: .*unknown field/m);
  assert.equal((await hookpolicy(["validate", "b.yaml"], { cwd })).stdout, "1 HookRollout: no errors\n");
});

const windowed = (name: string, allow: string, spec: object = {}, namespace = "team-a"): string => {
  const window = { timeZone: "UTC", allow: [{ schedule: allow, duration: "8h" }] };
  const rules = [{ name: "r", hooks: ["BeforeClusterUpgrade"], until: [{ name: "open", window }] }];
  return `${JSON.stringify(rawPolicy({ name, namespace }, { rules, ...spec }))}\n`;
};

test("windows of two policies for the same Clusters that never meet are a warning", async (t) => {
  const run = async (...documents: string[]): Promise<string> => {
    return (await onFiles(t, documents.join("---\n"), ["validate", "a.yaml"])).stdout;
  };
  const tier = (value: string): object => ({ clusterSelector: { matchLabels: { tier: value } } });
  const night = windowed("night", "0 22 * * FRI");
  assert.match(
    await run(night, windowed("day", "0 8 * * MON")),
    /^a\.yaml:3:\d+: warning: spec\.rules\[0\]\.until\[0\]\.window: is never open at the same time as window open of HookPolicy team-a\/night \(a\.yaml:1\).*waits at BeforeClusterUpgrade until then.* \[windows-conflict\]$/m,
  );
  for (const other of [
    windowed("late", "0 23 * * FRI"),
    windowed("day", "0 8 * * MON", { mode: "Audit" }),
    windowed("day", "0 8 * * MON", {}, "team-b"),
  ])
    assert.doesNotMatch(await run(night, other), /windows-conflict/);
  const apart = [windowed("a", "0 22 * * FRI", tier("a")), windowed("b", "0 8 * * MON", tier("b"))];
  assert.doesNotMatch(await run(...apart), /windows-conflict/);
});

test("so are windows of a policy and of a stage", async (t) => {
  const window = { timeZone: "UTC", allow: [{ schedule: "0 22 * * FRI", duration: "8h" }] };
  const tier = (value: string): object => ({ clusterSelector: { matchLabels: { tier: value } } });
  const staged = (over: object, spec: object = {}): string =>
    rollout("upgrades", { stages: [{ name: "a", until: [{ name: "night", window }], ...over }], ...spec });
  const day = windowed("day", "0 8 * * MON", tier("a"));
  const conflicts = async (document: string): Promise<string[]> => {
    const { stdout } = await onFiles(t, `${day}---\n${document}`, ["validate", "a.yaml"]);
    return stdout.split("\n").filter((line) => line.includes("[windows-conflict]"));
  };
  const [found = "", ...more] = await conflicts(staged(tier("a")));
  assert.match(
    found,
    /^a\.yaml:3:\d+: warning: spec\.stages\[0\]\.until\[0\]\.window: is never open at the same time as window open of HookPolicy team-a\/day \(a\.yaml:1\).*waits at BeforeClusterUpgrade until then.* \[windows-conflict\]$/,
  );
  assert.deepEqual(more, []);
  for (const other of [
    staged(tier("b")),
    staged({}, tier("b")),
    staged(tier("a"), { mode: "Audit" }),
    staged(
      {},
      {
        stages: [
          { name: "first", ...tier("a") },
          { name: "rest", until: [{ name: "night", window }] },
        ],
      },
    ),
  ])
    assert.deepEqual(await conflicts(other), [], other);
});

test("two rollouts that may select one Cluster for the same operation are a warning", async (t) => {
  const [found = "", ...more] = await warnings(t, rollout("a"), rollout("b", { clusterSelector: {} }));
  assert.match(
    found,
    /^a\.yaml:3:\d+: warning: spec\.namespaceSelector: selects Clusters that HookRollout a \(a\.yaml:1\) may select for Upgrade, too.* \[shared-clusters\]$/,
  );
  assert.deepEqual(more, []);
});

test("rollouts of other operations, in mode Audit, or of other Clusters are none", async (t) => {
  const of = (tier: string): object => ({ clusterSelector: { matchLabels: { tier } } });
  assert.deepEqual(await warnings(t, rollout("a"), rollout("b", { operation: "Delete" })), []);
  assert.deepEqual(await warnings(t, rollout("a"), rollout("b", { mode: "Audit" })), []);
  assert.deepEqual(await warnings(t, rollout("a", of("prod")), rollout("b", of("test"))), []);
  assert.deepEqual(await warnings(t, rollout("a"), rollout("a")), []);
});

test("a rule that holds a running upgrade keeps a slot of the rollout beside it", async (t) => {
  const [found = "", ...more] = await warnings(t, rollout("a"), policy("AfterClusterUpgrade"));
  assert.match(
    found,
    /^a\.yaml:3:\d+: warning: spec\.rules\[0\]\.hooks\[0\]: a Cluster that this rule holds at AfterClusterUpgrade keeps its slot of HookRollout a \(a\.yaml:1\), and counts as failed after progressDeadline, 6h.* \[kept-slot\]$/,
  );
  assert.deepEqual(more, []);
});

test("a rule that only observes keeps none", async (t) => {
  const rules = [{ name: "r", hooks: ["AfterClusterUpgrade"] }];
  assert.deepEqual(await warnings(t, rollout("a"), policy("AfterClusterUpgrade", { rules })), []);
});

test("a rule before the upgrade, of another operation or for other Clusters keeps none", async (t) => {
  const own = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "team-b" } } };
  const after = policy("AfterClusterUpgrade");
  assert.deepEqual(await warnings(t, rollout("a"), policy("BeforeClusterUpgrade")), []);
  assert.deepEqual(await warnings(t, rollout("a", { operation: "Create" }), after), []);
  assert.deepEqual(await warnings(t, rollout("a", own), after), []);
  assert.deepEqual(await warnings(t, rollout("a"), policy("AfterClusterUpgrade", { mode: "Audit" })), []);
  const fleet = policy("AfterClusterUpgrade", own, "ClusterHookPolicy");
  assert.equal((await warnings(t, rollout("a"), fleet)).length, 1);
});

test("what another object makes of a policy or rollout can be accepted", async (t) => {
  const accepting = (document: string, accept: string): string =>
    document.replace('"metadata":{', `"metadata":{"annotations":{"hookpolicy.dev/accept":"${accept}"},`);
  const kept = accepting(policy("AfterClusterUpgrade"), "r/kept-slot");
  assert.deepEqual(await warnings(t, rollout("a"), kept), []);
  assert.deepEqual(await warnings(t, rollout("a"), accepting(rollout("b"), "shared-clusters")), []);
});
