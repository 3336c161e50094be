/** Suites: what is pending from when, and what ends it. */

import assert from "node:assert/strict";
import test from "node:test";
import { fieldsOf } from "../../../../src/lib/fields.ts";
import { APPROVED, CLUSTER, DELETE, policy, runSteps, UPGRADE } from "./suites.ts";

const SOAK = { name: "soak", wait: { duration: "1h" } };

const statuses = async (spec: object): Promise<string[]> =>
  (await runSteps(spec)).map(({ status, problem }) => problem?.message ?? status);

test("a deletion and an upgrade are remembered whose first call no policy spoke about", async () => {
  const selected = policy([SOAK]);
  const spec = { clusterSelector: { matchLabels: { tier: "production" } } };
  const select = { kind: "Cluster", metadata: { name: "prod-1", labels: { tier: "production" } } };
  for (const call of [DELETE, UPGRADE]) {
    const found = await statuses({
      policies: [{ ...selected, spec: { ...fieldsOf(fieldsOf(selected)["spec"]), ...spec } }],
      steps: [
        { call, expect: { verdict: "Allowed" } },
        { advance: "10m", patch: [select] },
        // A wait alone counts from when the policy first speaks about the operation.
        { advance: "59m", call, expect: { verdict: "Blocked", nextChange: "2026-11-21T13:10:00Z" } },
        { advance: "1m", call, expect: { verdict: "Allowed" } },
      ],
    });
    assert.deepEqual(found, ["passed", "done", "passed", "passed"]);
  }
});

test("nothing begins to be pending while its Cluster is paused, and pausing ends nothing", async () => {
  const deleted = { ...CLUSTER.metadata, deletionTimestamp: "2026-11-21T12:00:00Z" };
  const pause = (paused: boolean | null): object => ({
    kind: "Cluster",
    metadata: { name: "prod-1" },
    spec: { paused },
  });
  const policies = [policy([APPROVED], { deadline: { after: "1h", onExpiry: "Allow" } })];
  const late = [
    { advance: "30m", patch: [pause(null)] },
    { advance: "30m", call: DELETE, expect: { verdict: "Blocked", nextChange: "2026-11-21T13:30:00Z" } },
    { advance: "30m", call: DELETE, expect: { verdict: "Allowed" } },
  ];
  const paused = { ...CLUSTER, metadata: deleted, spec: { ...CLUSTER.spec, paused: true } };
  assert.deepEqual(await statuses({ policies, clusters: [paused], steps: late }), [
    "done",
    "passed",
    "passed",
  ]);
  const cools = [
    {
      advance: "2h",
      patch: [pause(null)],
      call: DELETE,
      expect: { verdict: "Blocked", reason: "WaitPending" },
    },
  ];
  const cooled = await statuses({ policies: [policy([SOAK])], clusters: [paused], steps: cools });
  assert.deepEqual(cooled, ["passed"]);
  const meanwhile = [
    { advance: "10m", patch: [pause(true)] },
    { advance: "50m", patch: [pause(null)], call: DELETE, expect: { verdict: "Allowed" } },
  ];
  const found = await statuses({ policies, clusters: [{ ...CLUSTER, metadata: deleted }], steps: meanwhile });
  assert.deepEqual(found, ["done", "passed"]);
});

test("a creation is pending from when the suite has its Cluster", async () => {
  const steps = [
    { advance: "30m", call: { ...DELETE, hook: "BeforeClusterCreate" }, expect: { verdict: "Blocked" } },
    { advance: "30m", call: { ...DELETE, hook: "BeforeClusterCreate" }, expect: { verdict: "Allowed" } },
  ];
  const policies = [policy([SOAK], { hooks: ["BeforeClusterCreate"] })];
  assert.deepEqual(await statuses({ policies, steps }), ["passed", "passed"]);
});

test("a policy that had another uid meanwhile begins its clocks anew", async () => {
  const deadline = { after: "2h", onExpiry: "Allow" };
  const become = (uid: string): object => ({ kind: "HookPolicy", metadata: { name: "protect", uid } });
  const steps = [
    { patch: [become("one")], call: UPGRADE, expect: { nextChange: "2026-11-21T14:00:00Z" } },
    { advance: "1h", patch: [become("two")] },
    { patch: [become("one")], call: UPGRADE, expect: { nextChange: "2026-11-21T15:00:00Z" } },
  ];
  const found = await statuses({ policies: [policy([APPROVED], { deadline })], steps });
  assert.deepEqual(found, ["passed", "done", "passed"]);
});

test("an edit that names the mode of the API server's default is none", async () => {
  const deadline = { after: "2h", onExpiry: "Allow" };
  const edit = { kind: "HookPolicy", metadata: { name: "protect" }, spec: { mode: "Enforce" } };
  const steps = [
    { call: UPGRADE, expect: { nextChange: "2026-11-21T14:00:00Z" } },
    { advance: "1h", patch: [edit], call: UPGRADE, expect: { nextChange: "2026-11-21T14:00:00Z" } },
  ];
  const found = await statuses({ policies: [policy([APPROVED], { deadline })], steps });
  assert.deepEqual(found, ["passed", "passed"]);
});
