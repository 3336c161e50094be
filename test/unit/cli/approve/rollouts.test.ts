import assert from "node:assert/strict";
import test from "node:test";
import { planApproval } from "../../../../src/cli/approve/approval.ts";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { markReaders } from "../../../../src/policy/mark-readers.ts";
import { ALL_HOOKS, NOW } from "../../builders.ts";
import { rawCluster, rawPolicy, rawRollout } from "../raw.ts";

test("a rollout that holds the Cluster is an obstacle, with or without a policy", () => {
  const upgrades: RawObject = {
    ...rawRollout("upgrades", { progressDeadline: "1h", paused: true }),
    status: {
      observedGeneration: 0,
      conditions: [{ type: "Ready", status: "True", reason: "Paused", message: "" }],
    },
  };
  const held = "BeforeClusterUpgrade: held";
  const condition = { type: "TopologyReconciled", status: "False", reason: "LifecycleHookBlocking" };
  const message = `Following hooks are blocking upgrade: ${held}`;
  const waiting: RawObject = {
    ...rawCluster({ uid: "u1", resourceVersion: "7" }),
    spec: {
      topology: { classRef: { name: "lab" }, version: "v1.35.0" },
      infrastructureRef: { kind: "LabCluster", name: "prod-1" },
    },
    status: { conditions: [{ ...condition, message }] },
  };
  const until = [{ name: "ok", annotation: { key: "example.com/ok" } }];
  const policy: RawObject = rawPolicy(
    { name: "p", uid: "p" },
    { rules: [{ name: "r", hooks: ["BeforeClusterUpgrade"], until }] },
  );
  for (const policies of [[], [policy]]) {
    const fleet = new Fleet([waiting, ...policies, upgrades], {
      served: ALL_HOOKS,
      maxOverrideMs: 0,
      now: NOW,
    });
    const cluster = fleet.cluster("team-a", "prod-1");
    assert.ok(cluster);
    const readers = markReaders(fleet.platform, true);
    const may = { hook: undefined, readers, namespaceMarks: [], unattended: false };
    const [operation] = planApproval(fleet, cluster, may, NOW).operations;
    assert.deepEqual(
      operation?.obstacles.map(({ policy: { kind }, text }) => [kind, text]),
      [["HookRollout", "HookRollout upgrades: is paused (hookpolicy rollout status upgrades)"]],
    );
    assert.equal(operation.releasedAt, undefined);
    assert.equal(operation.approvals.length, policies.length);
  }
});
