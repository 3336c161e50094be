/** What `hookpolicy rollout plan` says besides the times: pauses, Clusters that it leaves out, and what cannot be so. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { rawNamespace, rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import { clusterOf, FLEET, plan, rolloutOf } from "./planned-fleet.ts";

const policyOf = (name: string, rule: object): object =>
  rawPolicy(`fleet/${name}`, { rules: [{ name, hooks: ["BeforeClusterUpgrade"], ...rule }] });

test("a rollout of mode Audit holds nothing", async (t) => {
  const { stdout } = await plan(t, [...FLEET, rolloutOf("upgrades", { mode: "Audit" })]);
  assert.match(stdout, /^The rollout is of mode Audit and holds nothing: /);
});

test("names the weekend that follows a freeze", async (t) => {
  const held = (name: string, window: object): object => policyOf(name, { until: [{ name, window }] });
  const { stdout } = await plan(t, [
    ...FLEET,
    rolloutOf("upgrades"),
    held("freeze", { timeZone: "UTC", deny: [{ from: "2026-12-01", to: "2026-12-03" }] }),
    held("weekend", { timeZone: "UTC", allow: [{ schedule: "0 0 * * TUE,SAT", duration: "24h" }] }),
  ]);
  assert.match(
    stdout,
    /^From 2026-12-01T08:00Z to 2026-12-05T00:00Z, whatever slots are free: waiting for HookPolicy fleet\/freeze, rule freeze, gate freeze; then HookPolicy fleet\/weekend, rule weekend, gate weekend \(1 Cluster\)$/m,
  );
});

test("an approval that is still to be given does not hide a freeze beside it", async (t) => {
  const held = (name: string, until: object): object => policyOf(name, { until: [{ name, ...until }] });
  const { stdout } = await plan(t, [
    ...FLEET,
    rolloutOf("upgrades"),
    held("approved", { annotation: { key: "example.com/approved" } }),
    held("freeze", { window: { timeZone: "UTC", deny: [{ from: "2026-12-01", to: "2026-12-03" }] } }),
  ]);
  assert.match(
    stdout,
    /2026-12-01T08:00Z to 2026-12-03T00:00Z, whatever slots are free: waiting for HookPolicy fleet\/freeze/,
  );
  assert.match(stdout, /^canary .*2026-12-03T00:00Z/m);
  assert.match(stdout, /must be released by an action first/);
});

test("tasks take no time, and hide no window beside them", async (t) => {
  const tasks = [
    { name: "backup", create: { apiVersion: "velero.io/v1", kind: "Backup" }, succeeded: "true" },
  ];
  const policyWithTasks = (rule: object): object =>
    rawPolicy("fleet/backup", {
      serviceAccountName: "tasks",
      rules: [{ name: "backup", hooks: ["BeforeClusterUpgrade"], tasks, ...rule }],
    });
  const alone = await plan(t, [...FLEET, rolloutOf("upgrades"), policyWithTasks({})]);
  assert.doesNotMatch(alone.stdout, /action first/);
  assert.match(alone.stdout, /^canary .*2026-12-01T08:00Z/m);
  const window = { timeZone: "UTC", allow: [{ schedule: "0 0 * * SAT", duration: "24h" }] };
  const rule = policyWithTasks({ until: [{ name: "weekend", window }] });
  const { stdout, code } = await plan(t, [...FLEET, rolloutOf("upgrades"), rule]);
  assert.equal(code, 0);
  assert.match(stdout, /^canary .*2026-12-05T00:00Z/m);
});

test("fits into a narrow terminal", async (t) => {
  const objects = [...FLEET, rolloutOf("upgrades")].map((object) => JSON.stringify(object));
  const cwd = await folder(t, { "fleet.yaml": objects.join("\n---\n") });
  const args = ["rollout", "plan", "--duration", "40m", "--from", "2026-12-01T08:00:00Z", "-f", "fleet.yaml"];
  const { stdout } = await hookpolicy(args, { cwd, env: { NO_COLOR: "1" }, columns: 60 });
  assert.match(stdout, /^canary\n {2}clusters {3}1\n {2}succeeded {2}0\n {2}begins {5}2026-12-01T08:00Z\n/m);
  const long = stdout.split("\n").filter((line) => line.length > 60);
  assert.deepEqual(long, []);
});

test("names every Cluster that it leaves out", async (t) => {
  const canary = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } };
  const outside = { ...clusterOf("out", "none"), metadata: { namespace: "other", name: "out" } };
  const plain = { ...clusterOf("plain", "canary"), spec: {} };
  const deletionTimestamp = "2026-12-01T07:00:00Z";
  const leaving = { ...outside, metadata: { ...outside.metadata, name: "leaving", deletionTimestamp } };
  const only = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "fleet" } } };
  const other = rawNamespace("other");
  const objects = [
    ...FLEET,
    outside,
    leaving,
    other,
    plain,
    rolloutOf("upgrades", { ...only, stages: [canary] }),
  ];
  const { stdout } = await plan(t, objects);
  assert.match(stdout, /^The only Cluster that begins is done at \S+, after 40m; 1 other does not begin\.$/m);
  assert.match(stdout, /^Selected by no stage, so never begun: fleet\/a$/m);
  assert.match(stdout, /^In no upgrade rollout, so would begin without a slot: other\/out$/m);
  assert.match(stdout, /^Without spec\.topology, so Cluster API asks nothing about them: fleet\/plain$/m);
});

test("Clusters without a status have no version: the plan says so, and counts those as succeeded that ask for its version", async (t) => {
  const objects = [...FLEET, rolloutOf("upgrades")];
  const next = await plan(t, objects);
  assert.match(next.stdout, /^The plan is about the next upgrade, .*--to-version .*: fleet\/a, fleet\/b\.$/m);
  const same = await plan(t, objects, "--to-version", "v1.34.0");
  assert.match(
    same.stdout,
    /^v1\.34\.0 is in spec\.topology already, .*so no upgrade begins there .*: fleet\/a, fleet\/b\.$/m,
  );
  assert.match(same.stdout, /^canary +1 +1 +- +- /m);
  assert.match(same.stdout, /^Every Cluster has succeeded\.$/m);
  assert.equal(same.code, 0);
  const one = [clusterOf("a", "rest"), clusterOf("b", "canary", "v1.35.0"), ...FLEET.slice(2)];
  const half = await plan(t, [...one, rolloutOf("upgrades")], "--to-version", "v1.35.0");
  assert.match(half.stdout, /^v1\.35\.0 is in spec\.topology already, .*: fleet\/b\.$/m);
  assert.match(half.stdout, /^canary +1 +1 +- +- +2026-12-01T09:00Z$/m);
  assert.match(half.stdout, /^rest +1 +0 +2026-12-01T09:00Z/m);
});

test("a rollout that selects nothing has no plan: the nearest label comes first, and the exit code is 1", async (t) => {
  const clusterSelector = { matchLabels: { wave: "canry" } };
  const whole = await plan(t, [...FLEET, rolloutOf("upgrades", { clusterSelector })]);
  assert.match(
    whole.stdout,
    /^HookRollout upgrades selects no Cluster with spec\.topology, so there is no plan\.\n.*did you mean "wave=canary"\?\n/,
  );
  assert.doesNotMatch(whole.stdout, /has succeeded|STAGE/);
  assert.equal(whole.code, 1);
  const json = await plan(t, [...FLEET, rolloutOf("upgrades", { clusterSelector })], "-o", "json");
  assert.match(json.stdout, /"impossible": \[\n *"HookRollout upgrades selects no Cluster/);
  assert.equal(json.code, 1);
  const stages = [{ name: "canary", clusterSelector }, { name: "rest" }];
  const stage = await plan(t, [...FLEET, rolloutOf("upgrades", { stages })]);
  assert.match(stage.stdout, /^spec\.stages\[0\]\.clusterSelector: .*did you mean "wave=canary"\?\n/);
  assert.equal(stage.code, 1);
  const last = [
    { name: "every", clusterSelector: { matchExpressions: [{ key: "wave", operator: "Exists" }] } },
    { name: "canary", clusterSelector },
  ];
  assert.equal((await plan(t, [...FLEET, rolloutOf("upgrades", { stages: last })])).code, 0);
});

test("without its Namespace, the stage of a Cluster is unknown: nothing is said to have succeeded", async (t) => {
  const stages = ["canary", "rest"].map((tier) => ({
    name: tier,
    namespaceSelector: { matchLabels: { tier } },
  }));
  const { code, stdout } = await plan(t, [...FLEET.slice(0, 2), rolloutOf("upgrades", { stages })]);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^The Namespace of Clusters is not among the objects: fleet; what HookRollout upgrades selects of them is unknown .* Add it, with its labels, to the files\.$/m,
  );
  assert.match(stdout, /^No Cluster begins at a time that is known\.$/m);
  assert.match(stdout, /^In an unknown stage, without their Namespaces, .*: fleet\/a, fleet\/b$/m);
  assert.doesNotMatch(stdout, /has succeeded|by no stage|never|Never/);
});

test("a rollout that is not in the files is looked for there alone", async (t) => {
  const { code, stderr } = await plan(t, [...FLEET, rolloutOf("upgrades")], "upgrade");
  assert.equal(code, 2);
  assert.match(stderr, /there is no HookRollout upgrade in the files \(did you mean upgrades\?\)/);
  assert.match((await plan(t, FLEET, "upgrade")).stderr, /upgrade in the files, and no other/);
});

test("files without Clusters are told to add them where no API server answers", async (t) => {
  const { code, stderr } = await plan(t, [rolloutOf("upgrades")]);
  assert.equal(code, 2);
  assert.match(stderr, /The files have no Cluster, .*: add Clusters with -f to plan without it\n$/);
});

test("says what cannot be so: the duration, and versions that Cluster API refuses", async (t) => {
  const objects = [...FLEET, rolloutOf("upgrades", { progressDeadline: "30m" })];
  const { code, stdout } = await plan(t, objects, "--to-version", "v1.33.0");
  assert.equal(code, 1);
  assert.match(stdout, /^No Cluster begins\.$/m);
  assert.match(stdout, /^40m is longer than progressDeadline, 30m: each Cluster would count as failed/m);
  assert.match(stdout, /^Cluster API refuses to go to a lower version: fleet\/a, fleet\/b\.$/m);
  const far = await plan(t, [...FLEET, rolloutOf("upgrades")], "--to-version", "v1.36.0");
  assert.equal(far.code, 0);
  assert.match(far.stdout, /^Cluster API refuses to skip a minor version, unless .*: fleet\/a, fleet\/b\.$/m);
  const next = await plan(t, objects, "--to-version", "v1.35.0");
  assert.doesNotMatch(next.stdout, /Cluster API refuses|already/);
});

test("an approval of a stage that is still to be given hides no window of a policy", async (t) => {
  const until = [{ name: "promoted", annotation: { key: "example.com/promoted" } }];
  const { stdout } = await plan(t, [
    ...FLEET,
    rolloutOf("upgrades", { stages: [{ name: "all", until }] }),
    policyOf("night", { until: [NIGHT] }),
  ]);
  assert.match(stdout, /^all +2 +0 +2026-12-01T20:00Z/m);
  assert.match(stdout, /^2 Clusters must be released by an action first/m);
});

test("when a Cluster begins is unknown if its windows are not found open together, and never if one is past", async (t) => {
  const day = {
    name: "day",
    window: { timeZone: "UTC", allow: [{ schedule: "0 8 * * *", duration: "2h" }] },
  };
  const { code, stdout } = await plan(t, [
    ...FLEET,
    rolloutOf("upgrades", { stages: [{ name: "all" }] }),
    policyOf("day", { until: [day] }),
    policyOf("night", { until: [NIGHT] }),
  ]);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^Not begun within the next 100 changes of windows, which are never open together until then: fleet\/\S+, fleet\/\S+ \(HookPolicy fleet\/night, rule night, gate night; /m,
  );
  assert.match(stdout, /^all +2 +0 +unknown +unknown +unknown$/m);
  assert.match(stdout, /^No Cluster begins at a time that is known\.$/m);
  assert.doesNotMatch(stdout, /released by an action|Never begun/);
  const behind = await plan(t, [
    ...FLEET,
    rolloutOf("upgrades"),
    policyOf("day", { until: [day] }),
    policyOf("night", { until: [NIGHT] }),
  ]);
  assert.match(behind.stdout, /^rest +1 +0 +unknown +unknown +unknown$/m);
  assert.match(behind.stdout, /^Waiting for an earlier stage: fleet\/a$/m);
  assert.doesNotMatch(behind.stdout, /Never begun/);
  const past = {
    name: "once",
    window: { timeZone: "UTC", allow: [{ from: "2026-11-01", to: "2026-11-02" }] },
  };
  const over = await plan(t, [
    ...FLEET,
    rolloutOf("upgrades", { stages: [{ name: "all" }] }),
    policyOf("once", { until: [past] }),
  ]);
  assert.equal(over.code, 1);
  assert.match(over.stdout, /^Never begun, because a window does not open again: fleet.* gate once/m);
  assert.match(over.stdout, /^all +2 +0 +never +never +never$/m);
  assert.match(over.stdout, /^No Cluster begins\.$/m);
});

test("a Cluster that is unhealthy at the version halts a new rollout, unless its failure is tolerated", async (t) => {
  const shown = (name: string, version: string, available = "True"): object => {
    const given = clusterOf(name, name === "a" ? "rest" : "canary", version) as { metadata: object };
    const conditions = [
      { type: "TopologyReconciled", status: "True", observedGeneration: 1 },
      { type: "Available", status: available },
    ];
    return { ...given, metadata: { ...given.metadata, generation: 1 }, status: { conditions } };
  };
  const fleet = [shown("c1", "v1.35.0", "False"), ...["c2", "c3", "c4", "a"].map((c) => shown(c, "v1.34.0"))];
  const run = async (over: object, status: object = {}, ...args: readonly string[]) => {
    const canary = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } };
    const stages = [{ ...canary, minSucceeded: "50%", ...over }, { name: "rest" }];
    const object = { ...rolloutOf("upgrades", { stages }), status };
    return await plan(t, [...fleet, FLEET[2]!, object], "--to-version", "v1.35.0", ...args);
  };
  const { code, stdout } = await run({});
  assert.equal(code, 1);
  assert.match(stdout, /^More Clusters of stage canary are unhealthy .* the rollout halts: fleet\/c1\.$/m);
  assert.match(stdout, /^canary +4 +0 +unknown +unknown +unknown$/m);
  assert.match(stdout, /^Waiting for that: fleet\/c2, fleet\/c3, fleet\/c4, fleet\/a$/m);
  assert.doesNotMatch(stdout, /The rollout is halted/);
  const tolerated = await run({ maxFailures: 1 });
  assert.equal(tolerated.code, 0);
  assert.match(tolerated.stdout, /^canary +4 +0 +2026-12-01T08:00Z/m);
  const counts = { notAsked: 3, waiting: 1, running: 0, succeeded: 0, failed: 0, passed: false };
  const targets = [{ version: "v1.35.0", stages: [{ name: "canary", members: 4, ...counts }] }];
  assert.equal((await run({}, { targets })).code, 0);
  const who = { namespace: "fleet", name: "c1", uid: "c1", target: "v1.35.0", stage: "canary" };
  const failure = { ...who, reason: "Unhealthy", time: "2026-12-01T07:00:00Z", message: "" };
  const known = await run({}, { targets, failed: [failure] }, "--context", "prod");
  assert.equal(known.code, 0);
  assert.match(
    known.stdout,
    /^The rollout is halted, so nothing begins: hookpolicy rollout status upgrades --context prod$/m,
  );
});

test("percentages of deletions are of all members, not of those that wait", async (t) => {
  const deletionTimestamp = "2026-12-01T07:00:00Z";
  const clusters = Array.from({ length: 10 }, (_, index) => clusterOf(`c${index}`, "rest"));
  const gone = clusters.slice(0, 2).map((each) => {
    const { metadata, ...rest } = each as { readonly metadata: object };
    return { ...rest, metadata: { ...metadata, deletionTimestamp } };
  });
  const limits = { operation: "Delete", stages: [], maxConcurrency: "20%" };
  const { stdout } = await plan(t, [...gone, ...clusters.slice(2), rolloutOf("deletions", limits)]);
  assert.match(stdout, /^all +2 +0 +2026-12-01T08:00Z +2026-12-01T08:40Z/m);
  assert.match(stdout, /^The last Cluster is done at 2026-12-01T08:40Z, after 40m\.$/m);
});

const NIGHT = {
  name: "night",
  window: { timeZone: "UTC", allow: [{ schedule: "0 20 * * *", duration: "8h" }] },
};
const APPROVED = { name: "approved", annotation: { key: "example.com/approved" } };

test("a deadline counts from the first call on, so it releases once", async (t) => {
  const deadline = { after: "72h", onExpiry: "Allow" };
  const { stdout } = await plan(t, [
    ...FLEET,
    rolloutOf("upgrades"),
    policyOf("approved", { until: [APPROVED], deadline }),
  ]);
  assert.match(stdout, /^canary +1 +0 +2026-12-04T08:00Z +2026-12-04T08:40Z +2026-12-04T09:40Z$/m);
  assert.match(
    stdout,
    /^From 2026-12-01T08:00Z to 2026-12-04T08:00Z, whatever slots are free: waiting for the deadline of HookPolicy fleet\/approved, rule approved \(1 Cluster\)$/m,
  );
  // Its deadline ran while it had no slot.
  assert.match(stdout, /^rest +1 +0 +2026-12-04T09:40Z +2026-12-04T10:20Z/m);
  assert.doesNotMatch(stdout, /must be released by an action/);
});

test("a wait counts from the first call on, and from the opening of the window beside it", async (t) => {
  const soak = { name: "soak", wait: { duration: "2h" } };
  const alone = await plan(t, [...FLEET, rolloutOf("upgrades"), policyOf("soak", { until: [soak] })]);
  assert.match(alone.stdout, /^canary +1 +0 +2026-12-01T10:00Z +2026-12-01T10:40Z/m);
  assert.match(alone.stdout, /waiting for HookPolicy fleet\/soak, rule soak, gate soak \(1 Cluster\)$/m);
  assert.match(alone.stdout, /^rest +1 +0 +2026-12-01T11:40Z/m);
  const both = await plan(t, [...FLEET, rolloutOf("upgrades"), policyOf("soak", { until: [NIGHT, soak] })]);
  assert.match(both.stdout, /^canary +1 +0 +2026-12-01T22:00Z +2026-12-01T22:40Z +2026-12-01T23:40Z$/m);
  assert.match(both.stdout, /^rest +1 +0 +2026-12-01T23:40Z/m);
});

test("another rollout that holds the same Clusters is named, because the plan leaves it out", async (t) => {
  const clusterSelector = { matchLabels: { wave: "rest" } };
  const second = rolloutOf("second", { clusterSelector, paused: true, stages: [{ name: "all" }] });
  const { stdout } = await plan(t, [...FLEET, rolloutOf("upgrades"), second], "upgrades");
  assert.match(
    stdout,
    /^The plan leaves out that HookRollout second \(paused\) must give a slot, too: fleet\/a\.$/m,
  );
  const others = [
    rolloutOf("deletions", { operation: "Delete", stages: [] }),
    rolloutOf("audit", { mode: "Audit" }),
  ];
  assert.doesNotMatch(
    (await plan(t, [...FLEET, rolloutOf("upgrades"), ...others], "upgrades")).stdout,
    /must give a slot/,
  );
});

test("gates see the version that the plan is about, in the call and in the Cluster", async (t) => {
  const tested = { name: "tested", expression: "cluster.topology.version.satisfies('<1.35.0')" };
  const policy = policyOf("tested", { until: [tested] });
  const { stdout } = await plan(t, [...FLEET, rolloutOf("upgrades"), policy], "--to-version", "v1.35.0");
  assert.match(stdout, /must be released by an action first/);
});

test("a Cluster that an earlier stage may select by its unknown Namespace has no known stage", async (t) => {
  const pilot = { name: "pilot", namespaceSelector: { matchLabels: { tier: "pilot" } }, minSucceeded: 0 };
  const stages = [pilot, { name: "rest" }];
  const [a, b, namespace] = FLEET;
  const { code, stdout } = await plan(t, [a, b, rolloutOf("upgrades", { stages })] as object[]);
  assert.equal(code, 1);
  assert.match(stdout, /^In an unknown stage, without their Namespaces, .*: fleet\/a, fleet\/b$/m);
  assert.match(stdout, /^rest +0 /m);
  const known = await plan(t, [a, b, namespace, rolloutOf("upgrades", { stages })] as object[]);
  assert.match(known.stdout, /^rest +2 /m);
});
