/** A suite ends where a Cluster has a slot of one HookRollout, and another one refuses its own. */

import assert from "node:assert/strict";
import test from "node:test";
import { rawRollout } from "../raw.ts";
import { APPROVED, CLUSTER, policy, runSteps } from "./suites.ts";

const TARGET = "v1.36.0";

const rollout = (name: string, status: object = {}): object => ({
  ...rawRollout(name, { maxConcurrency: 1 }),
  status,
});

test("a slot that is renewed while another rollout holds makes nobody ask again at the same instant", async () => {
  const at = "2026-11-21T11:58:00Z";
  const who = { namespace: "team-a", name: "prod-1", uid: "uid-1", target: TARGET, stage: "all" };
  const running = [{ ...who, claimed: true, claimedAt: at, renewedAt: at, attempts: 1 }];
  const ready = [{ type: "Ready", status: "True", reason: "Ready", message: "", lastTransitionTime: at }];
  const call = { hook: "BeforeClusterUpgrade", cluster: "team-a/prod-1", toKubernetesVersion: TARGET };
  const steps = await runSteps({
    policies: [policy([APPROVED], { hooks: ["BeforeClusterDelete"] })],
    clusters: [CLUSTER],
    rollouts: [rollout("a"), rollout("b", { observedGeneration: 1, conditions: ready, running })],
    steps: [{ call, expect: { verdict: "Blocked", rollout: "b" } }],
  });
  assert.deepEqual(
    steps.map(({ status, compared }) => [status, ...compared.filter(({ same }) => !same)]),
    [["passed"]],
  );
});
