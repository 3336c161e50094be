import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutStatus, RolloutClaim } from "../../../src/api/hook-policy.ts";
import { untilDue } from "../../../src/rollouts/stages.ts";
import { NOW, rolloutOf, stageOf, TARGET } from "./fixtures.ts";

const MINUTE = 60_000;
const rollout = rolloutOf({
  progressDeadline: "1h",
  stages: [
    { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "10m" },
    { name: "rest" },
  ],
});

function claimedAgo(minutes: number): RolloutClaim {
  const at = new Date(NOW.getTime() - minutes * MINUTE).toISOString();
  return {
    namespace: "fleet",
    name: "a",
    uid: "a",
    claimed: true,
    claimedAt: at,
    renewedAt: at,
    attempts: 1,
  };
}

function soaking(minutes: number, passed = false): HookRolloutStatus {
  const soakingSince = new Date(NOW.getTime() - minutes * MINUTE).toISOString();
  const canary = stageOf("canary", { succeeded: 1, soakingSince, passed });
  return { targets: [{ version: TARGET, stages: [canary] }] };
}

describe("the status of a rollout changes by time alone", () => {
  test("never, where nothing runs and nothing soaks", () => {
    assert.equal(untilDue(rollout, undefined, NOW), Infinity);
    assert.equal(untilDue(rollout, {}, NOW), Infinity);
  });

  test("when the first deadline of a slot passes", () => {
    assert.equal(untilDue(rollout, { running: [claimedAgo(5), claimedAgo(50)] }, NOW), 10 * MINUTE);
  });

  test("not at a deadline that has passed", () => {
    assert.equal(untilDue(rollout, { running: [claimedAgo(60), claimedAgo(59)] }, NOW), MINUTE);
  });

  test("not at the deadline of a slot for tasks, which have deadlines of their own", () => {
    assert.equal(untilDue(rollout, { running: [{ ...claimedAgo(50), tasks: true }] }, NOW), Infinity);
  });

  test("when a soak is over", () => {
    assert.equal(untilDue(rollout, soaking(4), NOW), 6 * MINUTE);
    assert.equal(untilDue(rollout, { ...soaking(4), running: [claimedAgo(58)] }, NOW), 2 * MINUTE);
  });

  test("not for a stage that has passed, or had passed", () => {
    assert.equal(untilDue(rollout, soaking(4, true), NOW), Infinity);
    const [target] = soaking(4).targets ?? [];
    const closed = target?.stages.map((stage) => ({ ...stage, closed: true })) ?? [];
    assert.equal(untilDue(rollout, { targets: [{ version: TARGET, stages: closed }] }, NOW), Infinity);
  });
});
