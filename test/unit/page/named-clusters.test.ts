import assert from "node:assert/strict";
import test from "node:test";
import { hookRollout, readyStatus } from "../rollouts/fixtures.ts";
import { clustersOf } from "../../../src/page/named-clusters.ts";

test("among the failed Clusters of a stage is none that its number leaves out: an operation without a slot", () => {
  const failure = (name: string, reason: string) => ({
    namespace: "fleet",
    name,
    uid: name,
    stage: "canary",
    target: "v1.35.0",
    reason,
    time: "2026-11-23T11:00:00Z",
    message: "",
  });
  const failed = [failure("a", "DeadlineExceeded"), failure("b", "UnclaimedOperation")];
  assert.deepEqual(clustersOf(hookRollout({}, readyStatus({ failed }))).failed, [
    {
      cluster: "fleet/a",
      stage: "canary",
      target: "v1.35.0",
      since: "2026-11-23T11:00:00Z",
      reason: "DeadlineExceeded",
    },
  ]);
});
