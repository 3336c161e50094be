/** Expressions, versions and what gates compare, under the real Cluster API; and Audit beside Enforce. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { DecisionRow, GateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { Ref } from "../controlplane/client.ts";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  NEXT_VERSION,
  provision,
  topologyMessage,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import {
  APPROVED,
  applyPolicy,
  approvalRule,
  approve,
  conditionIs,
  policyRow,
  noRow,
  policyIsReady,
  policyRef,
  resultOf,
  statusOf,
  storePolicy,
} from "../controlplane/policies.ts";
import { isCreated, isNotCreated, sharedFleet, topologySays } from "./fleet.ts";

const CREATE = "BeforeClusterCreate";
const UPGRADE = "BeforeClusterUpgrade";
const DELETE = "BeforeClusterDelete";

function rule(hook: HookName, until: readonly GateSpec[], more: Partial<RuleSpec> = {}): RuleSpec {
  return { name: "rule", hooks: [hook], until: [...until], retryAfterSeconds: 5, ...more };
}

const approved: GateSpec = { name: "approved", annotation: { key: APPROVED } };

/** Ten to the sixth turns. */
const HOSTILE = ["a", "b", "c", "d", "e", "f"].reduceRight(
  (inner, name) => `[1,2,3,4,5,6,7,8,9,10].all(${name}, ${inner})`,
  "cluster.metadata.name != ''",
);

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => cp.stop());

describe("the policy language", { concurrency: true }, () => {
  async function applied(namespace: string, ...rules: readonly RuleSpec[]): Promise<Ref> {
    const ref = policyRef(namespace, "p");
    await applyPolicy(cp, ref, { rules });
    return ref;
  }

  /** The row once the policy waits for that gate. */
  async function waitsFor(
    ref: Ref,
    gate: string,
    hook: HookName = CREATE,
    cluster = "c1",
  ): Promise<DecisionRow> {
    return await cp.waitFor(`${ref.name} to wait for ${gate}`, async () => {
      const row = await policyRow(cp, ref, cluster, hook);
      return row.gate === gate && row;
    });
  }

  test("a rule speaks only about Clusters for which its match conditions are true", async () => {
    const matchConditions = [
      { name: "of-the-class", expression: "cluster.topology.className == 'lab'" },
      { name: "not-a-canary", expression: "!cluster.metadata.name.startsWith('canary-')" },
    ];
    const ref = await applied("matched", rule(CREATE, [approved], { matchConditions }));
    await createCluster(cp, { namespace: "matched", name: "canary-1" });
    await createCluster(cp, { namespace: "matched", name: "c1" });
    await isCreated(cp, "matched", "canary-1");
    assert.equal((await policyRow(cp, ref, "c1", CREATE)).verdict, "Blocked");
    await isNotCreated(cp, "matched", "c1");
    const status = statusOf(await cp.get(ref));
    assert.deepEqual([status.matchedClusters, status.blocked, status.recent], [2, 1, undefined]);
    await approve(cp, "matched", "c1");
    await isCreated(cp, "matched", "c1");
  });

  test("expressions see labels, topology, variables, the call and settings", async () => {
    const gates: GateSpec[] = [
      { name: "settings", expression: "request.settings.region == 'eu'" },
      { name: "request", expression: "request.hook == 'BeforeClusterCreate' && !has(request.targetVersion)" },
      { name: "topology", expression: "has(cluster.topology) && cluster.topology.version.startsWith('v1.')" },
      { name: "variable", expression: "cluster.topology.variables.tier == 'gold'" },
      {
        name: "label",
        expression: "'size' in cluster.metadata.labels && int(cluster.metadata.labels.size) > 2",
      },
    ];
    const ref = await applied("seen", rule(CREATE, gates));
    await createCluster(cp, { namespace: "seen", name: "c1", tier: "bronze", labels: { size: "2" } });
    const row = await waitsFor(ref, "variable");
    assert.deepEqual([row.verdict, row.reason], ["Blocked", "ExpressionFalse"]);
    await topologySays(cp, "seen", "c1", /gate variable waits for its expression to be true/);
    const variables = [{ name: "tier", value: "gold" }];
    await cp.patch(clusterRef("seen", "c1"), { spec: { topology: { variables } } });
    await waitsFor(ref, "label");
    await cp.patch(clusterRef("seen", "c1"), { metadata: { labels: { size: "3" } } });
    await noRow(cp, ref, "c1", CREATE); // without a call
    await isCreated(cp, "seen", "c1");
  });

  test("expressions see the status that hook requests do not carry", async () => {
    const expression = "cluster.status.conditions.exists(c, c.type == 'Checked' && c.status == 'True')";
    const ref = await applied("status", rule(CREATE, [{ name: "checked", expression }]));
    await createCluster(cp, { namespace: "status", name: "c1" });
    assert.equal((await waitsFor(ref, "checked")).reason, "ExpressionFalse");
    await topologySays(cp, "status", "c1", /gate checked waits for/);
    const lastTransitionTime = new Date().toISOString();
    const value = { type: "Checked", status: "True", reason: "Checked", message: "", lastTransitionTime };
    const add = [{ op: "add", path: "/status/conditions/-", value }];
    await cp.patch(clusterRef("status", "c1"), add, { type: "json", subresource: "status" });
    await noRow(cp, ref, "c1", CREATE);
    await isCreated(cp, "status", "c1");
  });

  test("a field that is missing makes the rule not evaluable, is named in the message without advice in CEL, and heals", async () => {
    const expression = "namespaceObject.metadata.labels.environment == 'dev'";
    const ref = await applied("missing", rule(CREATE, [{ name: "dev", expression }]));
    await createCluster(cp, { namespace: "missing", name: "c1" });
    const row = await waitsFor(ref, "dev");
    assert.deepEqual([row.verdict, row.reason], ["NotEvaluable", "ExpressionError"]);
    assert.match(row.message, /namespaceObject\.metadata\.labels has no field "environment"\)/);
    await topologySays(cp, "missing", "c1", /rule rule is not evaluable: gate dev cannot be evaluated/);
    await isNotCreated(cp, "missing", "c1");
    await cp.kubectl("label", "namespace", "missing", "environment=dev");
    await isCreated(cp, "missing", "c1");
    assert.equal((await resultOf(cp, ref, "c1")).verdict, "Allowed");
  });

  test("a policy that is not valid holds and says where, and no other policy feels it", async () => {
    const broken = policyRef("invalid", "broken");
    const expression = "cluster.metadata.nam == 'c1'";
    const mine = { clusterSelector: { matchLabels: { of: "broken" } } };
    await storePolicy(cp, broken, { ...mine, rules: [rule(CREATE, [{ name: "typo", expression }])] });
    const other = await applied("invalid", approvalRule(CREATE));
    const { status, message } = await conditionIs(cp, broken, "Ready", "InvalidSpec");
    assert.equal(status, "False");
    assert.match(
      message,
      /^spec\.rules\[0\]\.until\[0\]\.expression: column 17: cluster\.metadata\.nam: unknown field/,
    );
    assert.match(message, /did you mean "name"\?/);
    assert.equal((await conditionIs(cp, broken, "Stalled", "InvalidSpec")).status, "True");
    await createCluster(cp, { namespace: "invalid", name: "c1", labels: { of: "broken" } });
    await createCluster(cp, { namespace: "invalid", name: "c2" });
    for (const name of ["c1", "c2"]) await policyRow(cp, other, name, CREATE);
    for (const name of ["c1", "c2"]) await approve(cp, "invalid", name);
    await isCreated(cp, "invalid", "c2");
    await noRow(cp, other, "c1", CREATE);
    const row = await policyRow(cp, broken, "c1", CREATE);
    assert.deepEqual([row.verdict, row.reason], ["NotEvaluable", "InvalidSpec"]);
    await topologySays(cp, "invalid", "c1", /HookPolicy invalid\/broken, rule rule is not evaluable/);
    await isNotCreated(cp, "invalid", "c1");
    const fixed = { name: "typo", expression: expression.replace("nam ", "name ") };
    await policyIsReady(cp, await storePolicy(cp, broken, { ...mine, rules: [rule(CREATE, [fixed])] }));
    await isCreated(cp, "invalid", "c1");
  });

  test("an expression that would run for ever holds its own Clusters and nobody else's", async () => {
    const hostile = await applied("hostile", rule(CREATE, [{ name: "loop", expression: HOSTILE }]));
    await createCluster(cp, { namespace: "hostile", name: "c1" });
    const row = await waitsFor(hostile, "loop");
    assert.equal(row.verdict, "NotEvaluable");
    assert.match(row.message, /HookPolicies of namespace hostile together need more than \d+ steps/);
    const ref = await applied("peaceful", approvalRule(CREATE));
    await createCluster(cp, { namespace: "peaceful", name: "c1" });
    await policyRow(cp, ref, "c1", CREATE);
    await approve(cp, "peaceful", "c1");
    await isCreated(cp, "peaceful", "c1");
    await isNotCreated(cp, "hostile", "c1");
  });

  test("a version gate lets only versions in its range go", async () => {
    const gate: GateSpec = { name: "tested", version: { range: ">=1.35.1 <1.36.0 || 1.37.x" } };
    const matchConditions = [
      { name: "an-upgrade", expression: "semver(request.toKubernetesVersion).isLessThan(semver('v2.0.0'))" },
    ];
    const ref = await applied("version", rule(UPGRADE, [gate], { matchConditions }));
    await createCluster(cp, { namespace: "version", name: "c1" });
    await provision(cp, "version", "c1");
    await upgrade(cp, "version", "c1", NEXT_VERSION);
    const row = await waitsFor(ref, "tested", UPGRADE);
    assert.deepEqual([row.reason, row.targetVersion], ["VersionNotInRange", NEXT_VERSION]);
    await topologySays(
      cp,
      "version",
      "c1",
      /a Kubernetes version in the range ">=1\.35\.1 <1\.36\.0 \|\| 1\.37\.x"/,
    );
    // Cluster API's webhook lets nobody take another version as soon as one was asked for, held or not.
    await assert.rejects(upgrade(cp, "version", "c1", "v1.35.1"), /version cannot be changed/);
    const unsafe = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
    await cp.patch(clusterRef("version", "c1"), { metadata: { annotations: { [unsafe]: "" } } });
    await upgrade(cp, "version", "c1", "v1.35.1");
    const result = await resultOf(cp, ref, "c1");
    assert.deepEqual([result.verdict, result.targetVersion], ["Allowed", "v1.35.1"]);
    await noRow(cp, ref, "c1", UPGRADE);
  });

  test("a range with commas is refused when it is applied", async () => {
    const ref = policyRef("comma", "p");
    const gate: GateSpec = { name: "tested", version: { range: ">=1.34.0, <1.36.0" } };
    await assert.rejects(storePolicy(cp, ref, { rules: [rule(UPGRADE, [gate])] }), /comma/);
  });

  test("an approval can be bound to the version of one upgrade", async () => {
    const key = "example.com/upgrade-to";
    const ref = await applied(
      "bound",
      rule(UPGRADE, [{ name: "version", annotation: { key, valueFrom: "TargetVersion" } }]),
    );
    await createCluster(cp, { namespace: "bound", name: "c1", annotations: { [key]: "v1.34.1" } });
    await provision(cp, "bound", "c1");
    await upgrade(cp, "bound", "c1", NEXT_VERSION);
    const row = await waitsFor(ref, "version", UPGRADE);
    assert.match(
      row.message,
      new RegExp(`annotation ${key}=${NEXT_VERSION} on Cluster bound/c1 .*--overwrite`),
    );
    const command = /\((kubectl annotate [^)]+)\)/.exec(row.message)?.[1] ?? "";
    await cp.kubectl(...command.split(" ").slice(1));
    assert.equal((await resultOf(cp, ref, "c1")).targetVersion, NEXT_VERSION);
  });

  test("one gate of anyOf is enough, also one on the Namespace", async () => {
    const anyOf: GateSpec["anyOf"] = [
      { name: "past", window: { allow: [{ from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" }] } },
      { name: "team", annotation: { key: APPROVED, from: "Namespace" } },
      { name: "cluster", annotation: { key: APPROVED } },
    ];
    const ref = await applied("any", rule(CREATE, [{ name: "any", anyOf }]));
    await createCluster(cp, { namespace: "any", name: "c1" });
    const row = await waitsFor(ref, "any");
    assert.equal(row.reason, "NoneHolds");
    const message = await topologySays(cp, "any", "c1", /gate any waits for one of: /);
    assert.match(message, /; or annotation \S+ on Namespace any \(no command: [^)]+\); or /);
    await isNotCreated(cp, "any", "c1");
    await cp.kubectl("annotate", "namespace", "any", `${APPROVED}=true`);
    await isCreated(cp, "any", "c1");
    assert.equal((await resultOf(cp, ref, "c1")).reason, "GatesHold");
  });

  test("Audit tells what it would do, and changes nothing of what Enforce does beside it", async () => {
    const { operator } = fleet;
    const audit = policyRef("audit", "would");
    const deadline = { after: "1h", onExpiry: "Allow" } as const;
    await applyPolicy(cp, audit, {
      mode: "Audit",
      rules: [
        { ...approvalRule(CREATE, "example.com/audit"), deadline, message: "never-seen" },
        { ...approvalRule(DELETE, "example.com/audit"), name: "delete" },
      ],
    });
    const enforce = policyRef("audit", "p");
    await applyPolicy(cp, enforce, {
      clusterSelector: { matchLabels: { tier: "production" } },
      rules: [approvalRule(CREATE)],
    });
    const audited = await operator.metric("hookpolicy_hook_calls_total", 'verdict="WouldBlock"');
    await createCluster(cp, { namespace: "audit", name: "c1", labels: { tier: "production" } });
    assert.equal((await policyRow(cp, enforce, "c1", CREATE)).verdict, "Blocked");
    assert.equal((await policyRow(cp, audit, "c1", CREATE)).verdict, "WouldBlock");
    const status = statusOf(await cp.get(audit));
    assert.deepEqual([status.blocked, status.wouldBlock], [0, 1]);
    await topologySays(cp, "audit", "c1", /HookPolicy audit\/p/);
    assert.doesNotMatch(await topologyMessage(cp, "audit", "c1"), /would|never-seen/);
    assert.equal(await operator.metric("hookpolicy_deadlines", 'namespace="audit"'), 0);

    // Only Audit speaks about this one.
    await createCluster(cp, { namespace: "audit", name: "c2" });
    await isCreated(cp, "audit", "c2");
    assert.equal((await resultOf(cp, audit, "c2")).verdict, "WouldBlock");
    assert.ok((await operator.metric("hookpolicy_hook_calls_total", 'verdict="WouldBlock"')) > audited);
    await isNotCreated(cp, "audit", "c1");
    await deleteCluster(cp, "audit", "c2");
    await waitUntilGone(cp, "audit", "c2");
    await cp.waitFor("the result of the deletion", async () =>
      statusOf(await cp.get(audit)).recent?.some(
        ({ hook, verdict }) => hook === DELETE && verdict === "WouldBlock",
      ),
    );

    await approve(cp, "audit", "c1");
    await isCreated(cp, "audit", "c1");
    assert.equal((await resultOf(cp, enforce, "c1")).verdict, "Allowed");
    assert.equal((await resultOf(cp, audit, "c1")).verdict, "WouldBlock");
    await cp.waitFor("no Cluster to be counted", async () => statusOf(await cp.get(audit)).wouldBlock === 0);
  });
});
