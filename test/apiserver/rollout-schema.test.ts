/** What the API server keeps and shows of a HookRollout. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type {
  HookRolloutStatus,
  RolloutCandidate,
  RolloutClaim,
  RolloutFailure,
  RolloutStageStatus,
  RolloutSummary,
  RolloutTarget,
} from "../../src/api/hook-policy.ts";
import { objectOf } from "../controlplane/client.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { many } from "../corpus/largest.ts";

const cp = await sharedControlPlane();
after(async () => await cp.stop());

describe("a HookRollout", () => {
  const ref = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookRollout", name: "rolloutschema" };
  const canary = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } };
  const spec = {
    operation: "Upgrade",
    namespaceSelector: {},
    progressDeadline: "6h",
    stages: [canary, { name: "rest", maxConcurrency: "10%" }],
  };

  before(async () => await cp.create(objectOf(ref, { spec })));

  test("is in progress until an operator has seen it, and has defaults", async () => {
    const stored = await cp.get(ref);
    assert.deepEqual(stored["status"], { observedGeneration: -1 });
    const { mode, paused, maxConcurrency, stages } = stored.spec;
    assert.deepEqual({ mode, paused, maxConcurrency }, { mode: "Enforce", paused: false, maxConcurrency: 1 });
    assert.deepEqual(stages[0], { ...canary, minSucceeded: "100%", minSuccessTime: "0s", maxFailures: 0 });
  });

  test("cannot be about another operation later", async () => {
    const change = cp.patch(ref, { spec: { operation: "Delete", stages: null } });
    await assert.rejects(change, /spec\.operation: .*cannot be changed. Create another HookRollout/);
    await cp.patch(ref, { spec: { paused: true } });
  });

  test("is shown with its target, its stage, the numbers of its Clusters, and whether it is halted", async () => {
    const time = "2026-11-21T10:00:00Z";
    const cluster = { namespace: "team-a", name: "prod-1", uid: "3f0c", target: "v1.35.1", stage: "canary" };
    const numbers: RolloutSummary = { waiting: 4, running: 1, succeeded: 2, failed: 3 };
    const condition = { type: "Halted", status: "True", reason: "TooManyFailures" } as const;
    const ready = { type: "Ready", status: "False", reason: "InvalidSpec" } as const;
    const silent = { type: "NotCalled", status: "True", reason: "NotRegistered" } as const;
    const given = {
      ...cluster,
      claimedAt: time,
      renewedAt: time,
      attempts: 1,
      markedAt: time,
      claimed: true,
    };
    const found = { ...cluster, uid: "4f0c", claimedAt: time, renewedAt: time, attempts: 0, claimed: false };
    const running: RolloutClaim[] = [given, found];
    const all: RolloutStageStatus = { ...numbers, name: "all", members: 10, notAsked: 0, passed: true };
    const canaries: RolloutStageStatus = {
      ...all,
      name: "canary",
      soakingSince: time,
      closed: true,
      passed: false,
    };
    const targets: RolloutTarget[] = [{ version: "v1.35.1", stages: [canaries] }, { stages: [all] }];
    const failed: RolloutFailure[] = [
      { ...cluster, reason: "DeadlineExceeded", time, message: "took longer than 6h" },
    ];
    const next: RolloutCandidate[] = [
      { namespace: "team-a", name: "prod-2", since: time, reason: "NoFreeSlot" },
    ];
    const status: HookRolloutStatus = {
      observedGeneration: 1,
      conditions: [condition, ready, silent].map((each) => ({
        ...each,
        message: "m",
        lastTransitionTime: time,
      })),
      target: "v1.35.1",
      stage: "canary",
      summary: numbers,
      running,
      targets,
      failed,
      turns: ["b", "a"],
      next,
    };
    await cp.patchStatus(ref, status);
    assert.deepEqual((await cp.get(ref))["status"], status, "nothing is dropped");
    const [header = "", row = ""] = (await cp.kubectl("get", "hkr", ref.name)).split("\n");
    assert.match(
      header,
      /^NAME +READY +MODE +OPERATION +TARGET +STAGE +RUNNING +SUCCEEDED +FAILED +WAITING +HALTED +NOT CALLED +AGE *$/,
    );
    assert.match(
      row,
      /^rolloutschema +False +Enforce +Upgrade +v1\.35\.1 +canary +1 +2 +3 +4 +True +NotRegistered +\d+s *$/,
    );
    assert.match(await cp.kubectl("get", "hkr", ref.name, "-o", "wide"), /AGE +REASON *\n.* InvalidSpec *$/m);
  });

  test("keeps no row that a status has too many of", async () => {
    const time = "2026-11-21T10:00:00Z";
    const next = many(11, (digits) => ({ namespace: "a", name: `c${digits}`, since: time }));
    await assert.rejects(cp.patchStatus(ref, { next }), /status\.next: Too many/);
  });
});
