import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { type Hold, holdText } from "../../../src/rollouts/hold.ts";

describe("what a held Cluster shows", () => {
  const cases: readonly (readonly [Partial<Hold> & Pick<Hold, "reason">, string])[] = [
    [{ reason: "NoFreeSlot", stage: "production" }, ", stage production: waits for a free slot"],
    [{ reason: "NotItsTurn", stage: "all" }, ": waits for a free slot"],
    [{ reason: "StageClosed", stage: "canary" }, ": waits for stage canary"],
    [{ reason: "GateOpen", stage: "a", wanted: "gate g waits for x" }, ", stage a: gate g waits for x"],
    [{ reason: "Paused" }, ": is paused"],
    [{ reason: "Halted" }, ": is halted because Clusters failed"],
    [{ reason: "NoStage" }, ": no stage selects the Cluster"],
    [{ reason: "InvalidSpec" }, ": its spec is invalid, so it holds every Cluster that it may select"],
    [{ reason: "NotReady" }, ": waits until the operator has read the state of the rollout"],
    [{ reason: "InvalidVersion" }, ": the version of the Cluster is no version of at most 64 characters"],
    [{ reason: "TooManyTargets" }, ": waits until fewer versions are being rolled out"],
    [{ reason: "ClaimExpires" }, ": had a slot and did not begin, so it waits until that slot is free again"],
    [{ reason: "NotConfirmed" }, ": could not take a slot from the API server"],
  ];
  for (const [hold, text] of cases)
    test(`${hold.reason} in stage ${hold.stage ?? "none"}`, () => {
      assert.equal(
        holdText({ rollout: "upgrades", retryAfterSeconds: 10, ...hold }),
        `HookRollout upgrades${text} (hookpolicy rollout status upgrades)`,
      );
    });
});
