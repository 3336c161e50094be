import assert from "node:assert/strict";
import test from "node:test";
import type { HookRollout, HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import { BACKUP, webhook } from "./reviews.ts";

function rollout(over: Partial<HookRolloutSpec> = {}): HookRollout {
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookRollout",
    metadata: { name: "upgrades", uid: "u", resourceVersion: "1" },
    spec: { operation: "Upgrade", namespaceSelector: {}, progressDeadline: "6h", ...over },
  };
}

const BROKEN = { healthyWhen: [{ name: "h", expression: "cluster.metadata.nam == 'a'" }] };
const GATED = {
  stages: [
    {
      name: "all",
      until: [{ name: "backup", object: { ...BACKUP, name: "nightly", namespace: "platform" } }],
    },
  ],
};

test("a rollout that can be evaluated is admitted, with a warning of what may be meant otherwise", async () => {
  assert.deepEqual(await webhook().create(rollout()), { uid: "review-1", allowed: true });
  const { allowed, warnings = [] } = await webhook().create(rollout({ maxConcurrency: 0 }));
  assert.equal(allowed, true);
  assert.match(warnings[0] ?? "", /^spec\.maxConcurrency: no operation begins with this limit/);
});

test("a rollout that cannot be evaluated is refused, with the place", async () => {
  const { allowed, status } = await webhook().create(rollout(BROKEN));
  assert.equal(allowed, false);
  assert.match(
    status?.message ?? "",
    /^HookRollout\.hookpolicy\.dev "upgrades" is invalid: spec\.healthyWhen\[0\]\.expression: .*unknown field/,
  );
});

test("a rollout that was broken before can still be paused", async () => {
  const { allowed, warnings = [] } = await webhook().update(
    rollout(BROKEN),
    rollout({ ...BROKEN, paused: true }),
  );
  assert.equal(allowed, true);
  assert.match(warnings[0] ?? "", /not evaluable/);
});

test("the author of an object gate in a stage needs the right to read what it looks at", async () => {
  const { create, asked } = webhook({ allowed: () => false });
  const { allowed, status } = await create(rollout(GATED));
  assert.equal(allowed, false);
  assert.equal(status?.code, 403);
  assert.match(status?.message ?? "", /spec\.stages\[0\]\.until\[0\]\.object/);
  assert.ok(asked.length > 0);
  const { update, asked: again } = webhook({ allowed: () => false });
  assert.equal((await update(rollout(GATED), rollout({ ...GATED, paused: true }))).allowed, true);
  assert.deepEqual(again, [], "an unchanged gate shows nothing new");
});

test("the author of a stage's selector needs that right, too, where the gate looks into the namespaces of its Clusters", async () => {
  const until = [{ name: "backup", object: { ...BACKUP, name: "nightly" } }];
  const staged = (wave: string, team: string): HookRollout =>
    rollout({
      stages: [
        { name: "canary", clusterSelector: { matchLabels: { wave } } },
        { name: "production", namespaceSelector: { matchLabels: { team } }, until },
        { name: "rest" },
      ],
    });
  const before = staged("canary", "a");
  // A Cluster that the stage before it leaves comes to the stage of the gate.
  for (const after of [staged("canary", "b"), staged("none", "a")]) {
    const { allowed, status } = await webhook({ allowed: () => false }).update(before, after);
    assert.deepEqual([allowed, status?.code], [false, 403]);
    assert.match(status?.message ?? "", /spec\.stages\[1\]\.until\[0\]\.object/);
  }
  const later = rollout({ stages: [...(before.spec.stages?.slice(0, 2) ?? []), { name: "others" }] });
  assert.equal((await webhook({ allowed: () => false }).update(before, later)).allowed, true);
});

test("a rollout that selects no Cluster at present is a warning", async () => {
  const world = { matchesCluster: async () => false };
  const selective = rollout({ clusterSelector: { matchLabels: { tier: "prod" } } });
  const { warnings = [] } = await webhook({ world }).create(selective);
  assert.match(warnings[0] ?? "", /^spec\.clusterSelector: matches no Cluster in any namespace/);
});
