/** `hookpolicy test --record`: suites of what the operator's own store answers, by way of its audit log. */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import type { Cluster } from "../../../../src/api/meta.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import type { RequestedChange } from "../../../../src/operations/requested-operation.ts";
import {
  clusterHookPolicy,
  DELETE,
  hookOverride,
  hookPolicy,
  namespace,
  NOW,
  UPGRADE,
} from "../../builders.ts";
import { readAuditLines } from "../../../../src/cli/suite/record/audit-lines.ts";
import { folder } from "../program.ts";
import { rawNamespace, rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import { Operator } from "./recorded-operator.ts";
import { APPROVED, CLUSTER } from "./suites.ts";

const SOAK = { name: "soak", wait: { duration: "1h" } };
const NIGHT = {
  name: "night",
  window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] },
};
const ruled = (until: readonly object[], more: object = {}): PolicyObject =>
  hookPolicy({
    rules: [{ name: "r", hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"], until, ...more }],
  } as never);
const APPROVAL = { annotations: { "example.com/ok": "uid-1" } };

async function recorded(
  t: test.TestContext,
  policy: PolicyObject,
  log: string,
  more: Record<string, string> = {},
) {
  const cwd = await folder(t, {
    "policies/p.yaml": JSON.stringify(policy),
    "fleet/c.yaml": JSON.stringify(CLUSTER),
    "audit.log": log,
    "tests/other.yaml": "{}",
    ...more,
  });
  const args = ["test", "--record", "audit.log", "--write", "tests/r.yaml", "policies", "fleet"];
  return { cwd, ...(await hookpolicy(args, { cwd })) };
}

const DELETION = (before: Cluster): RequestedChange => ({ before });
const upgradeTo =
  (version: string) =>
  (before: Cluster): RequestedChange => ({
    before,
    after: { ...before, ...(before.topology && { topology: { ...before.topology, version } }) },
  });

const STORIES: Readonly<
  Record<string, readonly [policy: PolicyObject, steps: number, log: (operator: Operator) => Operator]>
> = {
  "an approval, withdrawn and given again": [
    ruled([APPROVED]),
    4,
    (operator) =>
      operator
        .change({ deletionTimestamp: NOW.toISOString() })
        .ask(DELETE)
        .pass(5)
        .change(APPROVAL)
        .ask(DELETE)
        .pass(5)
        .change({ annotations: {} })
        .ask(DELETE)
        .pass(1)
        .change(APPROVAL)
        .ask(DELETE),
  ],
  "a window that opens, and a wait that begins with it": [
    ruled([NIGHT, SOAK]),
    4,
    (operator) => operator.ask(UPGRADE).pass(630).ask(UPGRADE).pass(45).ask(UPGRADE).pass(180).ask(UPGRADE),
  ],
  "a wait alone that began before the log": [
    ruled([SOAK]),
    2,
    (operator) =>
      operator
        .change({ deletionTimestamp: NOW.toISOString() })
        .pass(20)
        .ask(DELETE)
        .pass(39)
        .ask(DELETE)
        .pass(1)
        .ask(DELETE),
  ],
  "a deadline that releases": [
    ruled([APPROVED], { deadline: { after: "2h", onExpiry: "Allow" } }),
    2,
    (operator) => operator.ask(UPGRADE).pass(60).ask(UPGRADE).pass(90).ask(UPGRADE),
  ],
  "a deletion that was refused, and approved": [
    ruled([APPROVED], { admission: "Deny" }),
    3,
    (operator) =>
      operator
        .try(DELETION)
        .pass(1)
        .try(DELETION)
        .try(upgradeTo("v1.36.0"))
        .pass(5)
        .change(APPROVAL)
        .try(DELETION)
        .change({ ...APPROVAL, deletionTimestamp: NOW.toISOString() })
        .ask(DELETE),
  ],
  "a creation that was refused": [
    hookPolicy({
      rules: [
        {
          name: "r",
          hooks: ["BeforeClusterCreate"],
          admission: "Deny",
          until: [{ name: "owned", label: { key: "owner" } }],
        },
      ],
    }),
    1,
    (operator) =>
      operator.try((cluster) => ({
        after: { ...cluster, metadata: { ...cluster.metadata, uid: "refused" } },
      })),
  ],
  "a policy in mode Audit": [
    hookPolicy({ ...ruled([APPROVED]).spec, mode: "Audit" }),
    2,
    (operator) => operator.ask(UPGRADE).pass(1).change(APPROVAL).ask(UPGRADE),
  ],
};

for (const [name, [policy, steps, story]] of Object.entries(STORIES)) {
  test(`the recorded suite passes with the same policies: ${name}`, async (t) => {
    const { log } = story(new Operator([policy]));
    const { cwd, code, stderr } = await recorded(t, policy, log);
    assert.deepEqual([code, stderr], [0, "wrote tests/r.yaml\n"]);
    const { stdout } = await hookpolicy(["test", "tests/r.yaml"], { cwd });
    assert.match(stdout, new RegExp(`^${steps} passed; 1 suite$`, "m"));
  });
}

test("the recorded suite fails with a policy that answers otherwise", async (t) => {
  const { log } = new Operator([ruled([APPROVED])]).ask(UPGRADE);
  const { cwd } = await recorded(t, ruled([APPROVED]), log);
  await writeFile(
    join(cwd, "policies/p.yaml"),
    JSON.stringify(hookPolicy({ ...ruled([APPROVED]).spec, mode: "Audit" })),
  );
  const { code, stdout } = await hookpolicy(["test", "tests/r.yaml"], { cwd });
  assert.equal(code, 1);
  assert.match(stdout, /! verdict +Blocked +WouldBlock/);
});

test("operations are recorded with a Cluster that shows by now that they are over", async (t) => {
  const mark = { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" };
  const over = {
    ...CLUSTER,
    metadata: { ...CLUSTER.metadata, generation: 2, annotations: mark },
    spec: { ...CLUSTER.spec, controlPlaneRef: { kind: "KubeadmControlPlane", name: "prod-1" } },
    status: { conditions: [{ type: "TopologyReconciled", status: "True", observedGeneration: 2 }] },
  };
  const rules = [{ name: "r", hooks: ["BeforeClusterCreate", "BeforeClusterUpgrade"], until: [APPROVED] }];
  const policy = hookPolicy({ rules } as never);
  const operator = new Operator([policy]).ask({ hook: "BeforeClusterCreate" }).ask(UPGRADE);
  const more = { "fleet/c.yaml": JSON.stringify(over) };
  const { cwd, ...result } = await recorded(t, policy, operator.log, more);
  assert.deepEqual(result, { code: 0, stdout: "", stderr: "wrote tests/r.yaml\n" });
  assert.equal((await hookpolicy(["test", "tests/r.yaml"], { cwd })).code, 0);
});

test("a deadline that ran before the log is recorded with its begin", async (t) => {
  const policy = ruled([APPROVED], { deadline: { after: "2h", onExpiry: "Allow" } });
  const operator = new Operator([policy]).ask(UPGRADE).pass(60);
  const lines = operator
    .change({ annotations: { other: "x" } })
    .pass(70)
    .ask(UPGRADE)
    .log.split("\n");
  // Only the release is left, and what it says of the deadline.
  const { cwd, code } = await recorded(t, policy, lines.slice(1).join("\n"));
  assert.equal(code, 0);
  assert.match(await readFile(join(cwd, "tests/r.yaml"), "utf8"), /blockedSince: "?2026-/);
});

test("an override is created when the log first knows it", async (t) => {
  const policy = ruled([APPROVED]);
  const operator = new Operator([policy]).ask(UPGRADE).pass(5);
  const override = hookOverride({ hooks: ["BeforeClusterUpgrade"] });
  const { log } = operator.override(override).ask(UPGRADE);
  const { cwd, code, stderr } = await recorded(t, policy, log, { "fleet/o.yaml": JSON.stringify(override) });
  assert.deepEqual([code, stderr], [0, "wrote tests/r.yaml\n"]);
  assert.match((await hookpolicy(["test", "tests/r.yaml"], { cwd })).stdout, /^2 passed; 1 suite$/m);
});

test("what the log does not contain is not expected, and told with the reason", async (t) => {
  const healthy = {
    name: "healthy",
    expression: "has(cluster.metadata.annotations) && 'x' in cluster.metadata.annotations",
  };
  const policy = ruled([healthy]);
  const { log } = new Operator([policy])
    .ask(UPGRADE)
    .pass(5)
    .change({ annotations: { x: "y" } })
    .ask(UPGRADE);
  const { cwd, code, stderr } = await recorded(t, policy, log);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^\S+Z BeforeClusterUpgrade team-a\/prod-1 is not repeated: verdict Allowed, but here Blocked$/m,
  );
  assert.match((await hookpolicy(["test", "tests/r.yaml"], { cwd })).stdout, /^1 passed; 1 suite$/m);
});

test("a policy that is not given is named, and nothing is kept that no policy looks at", async (t) => {
  const policy = ruled([APPROVED]);
  const object = { apiVersion: "velero.io/v1", kind: "Backup", name: "any" };
  const looks = { name: "looks", hooks: ["BeforeClusterCreate"], until: [{ name: "backup", object }] };
  const spec = { rules: [...policy.spec.rules, looks] };
  const second = hookPolicy(spec as never, { name: "z", uid: "uid-z" });
  const { log } = new Operator([policy, second]).ask(UPGRADE).pass(5).change(APPROVAL).ask(UPGRADE);
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s", namespace: "team-a" },
    data: { a: "c2VjcmV0" },
  };
  const other = { ...CLUSTER, metadata: { ...CLUSTER.metadata, name: "prod-2", uid: "uid-2" } };
  const backup = { apiVersion: "velero.io/v2", kind: "Backup", metadata: { name: "b", namespace: "team-a" } };
  const files = { s: secret, 2: other, b: backup };
  const more = Object.fromEntries(
    Object.entries(files).map(([name, each]) => [`fleet/${name}.json`, JSON.stringify(each)]),
  );
  const { cwd, code, stderr } = await recorded(t, second, log, more);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^\S+Z BeforeClusterUpgrade team-a\/prod-1 is not repeated: there is no policy "HookPolicy team-a\/\w+"/m,
  );
  const text = await readFile(join(cwd, "tests/r.yaml"), "utf8");
  assert.doesNotMatch(text, /Secret|c2VjcmV0|prod-2/);
  assert.match(text, /kind: Backup/);
});

test("an answer is told to rest on a Namespace that is not given, or on a rollout", async (t) => {
  const namespaceSelector = { matchLabels: { env: "prod" } };
  const rules = [{ name: "r", hooks: ["BeforeClusterUpgrade"], until: [APPROVED] }];
  const policy = clusterHookPolicy({ namespaceSelector, rules } as never);
  const labels = { env: "prod" };
  const { log } = new Operator([policy], namespace({ labels }))
    .ask(UPGRADE)
    .pass(5)
    .change(APPROVAL)
    .ask(UPGRADE);
  const [first = "", last = ""] = log.split("\n");
  const alone = await recorded(t, policy, log);
  assert.match(
    alone.stderr,
    /^\S+Z BeforeClusterUpgrade team-a\/prod-1 is not repeated: verdict Blocked, but here NotEvaluable.*: the Cluster's Namespace is not known, /m,
  );
  const held = { ...JSON.parse(last), verdict: "Blocked" };
  held.decision.rollout = { name: "upgrades", reason: "NoFreeSlot", stage: "rest" };
  const given = JSON.stringify(rawNamespace({ labels }));
  const slot = await recorded(t, policy, `${first}\n${JSON.stringify(held)}`, { "fleet/n.json": given });
  assert.match(
    slot.stderr,
    /is not repeated: verdict Blocked, but here Allowed: HookRollout upgrades held it$/m,
  );
});

test("answers of two replicas that say the same are one step, and lines that are no answers are counted", async (t) => {
  const policy = ruled([APPROVED]);
  const { log } = new Operator([policy]).ask(UPGRADE);
  const other = JSON.parse(log);
  const foreign = { ...other, cluster: { ...other.cluster, name: "prod-2" } };
  const { decision: _, ...undecided } = { ...other, verdict: "NotConfirmed" };
  const all = [other, foreign, undecided, { level: "info" }].map((line) => JSON.stringify(line));
  const { cwd, code, stderr } = await recorded(t, policy, `${log}${all.join("\n")}\n{"torn`);
  assert.equal(code, 0);
  assert.equal(
    stderr,
    `left out lines about other Clusters than the given ones, or without spec.topology (1)
left out lines that rest on no decision, such as NotConfirmed, or are neither answers nor refusals (3)
wrote tests/r.yaml
`,
  );
  assert.match((await hookpolicy(["test", "tests/r.yaml"], { cwd })).stdout, /^1 passed; 1 suite$/m);
});

test("a request that the given Cluster cannot make any more is left out, and the others stay", async (t) => {
  const policy = ruled([APPROVED], { admission: "Deny" });
  const { log } = new Operator([policy]).try(upgradeTo("v1.36.0")).pass(1).try(DELETION);
  const after = { ...CLUSTER, spec: { topology: { classRef: { name: "lab" }, version: "v1.36.0" } } };
  const { cwd, code, stderr } = await recorded(t, policy, log, { "fleet/c.yaml": JSON.stringify(after) });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^\S+Z admission: Upgrade team-a\/prod-1 is not repeated: .*has the version v1\.36\.0 already$/m,
  );
  assert.match((await hookpolicy(["test", "tests/r.yaml"], { cwd })).stdout, /^1 passed; 1 suite$/m);
});

test("a rollout is left out, and the command says so", async (t) => {
  const policy = ruled([APPROVED]);
  const { log } = new Operator([policy]).ask(UPGRADE);
  const rollout = rawRollout("upgrades");
  const { cwd, code, stderr } = await recorded(t, policy, log, { "fleet/r.json": JSON.stringify(rollout) });
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^left out HookRollouts, because the log does not tell which Clusters had a slot \(1\)$/m,
  );
  assert.doesNotMatch(await readFile(join(cwd, "tests/r.yaml"), "utf8"), /rollouts/);
});

test("answers of several replicas are in the order of time", () => {
  const { log } = new Operator([ruled([APPROVED])]).ask(UPGRADE);
  const later = { ...JSON.parse(log), time: "2027-01-01T00:00:00.000Z" };
  const times = readAuditLines(`${JSON.stringify(later)}\n${log}`).answers.map(({ time }) => time);
  assert.deepEqual(times, [NOW.toISOString(), later.time]);
});

test("a line that lacks what an answer has is none, whatever it lacks", () => {
  const { log } = new Operator([ruled([APPROVED])]).ask(UPGRADE);
  const whole = JSON.parse(log);
  const { decision } = whole;
  const [policy] = decision.policies;
  const [rule] = policy.rules;
  const withPolicy = (changed: unknown): unknown => ({
    ...whole,
    decision: { ...decision, policies: [changed] },
  });
  for (const line of [
    { ...whole, decision: { ...decision, inputs: {} } },
    { ...whole, decision: { ...decision, policies: "x" } },
    withPolicy(null),
    withPolicy({ ...policy, name: 1 }),
    withPolicy({ ...policy, rules: undefined }),
    withPolicy({ ...policy, rules: [null] }),
    withPolicy({ ...policy, rules: [{ ...rule, gates: [{}] }] }),
    { ...whole, time: "soon" },
    { ...whole, hook: "BeforeLunch" },
    { ...whole, kind: "Refusal", hook: "AfterClusterUpgrade" },
    { ...whole, kind: "Other" },
    { ...whole, cluster: "c" },
    [],
  ])
    assert.deepEqual(readAuditLines(JSON.stringify(line)).answers, [], JSON.stringify(line));
  assert.equal(readAuditLines(log).answers.length, 1);
});

test("a log without the Clusters, a missing log, and a file that is there are errors that say so", async (t) => {
  const { log } = new Operator([ruled([APPROVED])]).ask(UPGRADE);
  const foreign = await recorded(t, ruled([APPROVED]), log.replaceAll("prod-1", "prod-9"));
  assert.equal(foreign.code, 2);
  assert.match(
    foreign.stderr,
    /audit\.log holds neither an answer nor a refusal about a Cluster of policies, fleet/,
  );
  const { cwd } = await recorded(t, ruled([APPROVED]), log);
  const again = await hookpolicy(
    ["test", "--record", "audit.log", "--write", "tests/r.yaml", "policies", "fleet"],
    { cwd },
  );
  assert.equal(again.code, 2);
  assert.match(again.stderr, /tests\/r\.yaml: .*EEXIST/);
  const missing = await hookpolicy(["test", "--record", "none.log", "policies"], { cwd });
  assert.deepEqual([missing.code, missing.stderr.includes("none.log: no such file")], [2, true]);
  const printed = await hookpolicy(["test", "--record", "audit.log", "policies", "fleet"], { cwd });
  assert.match(printed.stdout, /^apiVersion: cli\.hookpolicy\.dev\/v1alpha1\nkind: HookPolicyTest\n/);
  const { code, stderr } = await hookpolicy(["test", "--record", "a", "--mutate", "x"], { cwd });
  assert.deepEqual([code, /--record writes a suite, and runs none/.test(stderr)], [2, true]);
});
