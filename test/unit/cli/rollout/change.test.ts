import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { CONDITION, type HookRolloutSpec } from "../../../../src/api/hook-policy.ts";
import {
  effectOfPause,
  isHalted,
  pauseRollout,
  resumeRollout,
  resumption,
} from "../../../../src/cli/rollout/change.ts";
import { KubeError } from "../../../../src/kube/kube-error.ts";
import { hookRollout, NOW, readyStatus } from "../../rollouts/fixtures.ts";

type Client = Parameters<typeof pauseRollout>[0];
const HALTED = {
  type: CONDITION.Halted,
  status: "True",
  reason: "TooManyFailures",
  message: "1 Cluster failed",
  lastTransitionTime: "2026-11-23T11:00:00Z",
} as const;
const rollout = (spec: Partial<HookRolloutSpec> = {}, halted = false) =>
  hookRollout(spec, readyStatus(halted ? { conditions: [HALTED] } : {}));
const UID = rollout().metadata.uid;
const CONFLICT = new KubeError("changed", { code: 409, reason: "Conflict" });
const FAILURE = {
  namespace: "team-a",
  name: "prod-1",
  uid: "u",
  reason: "Deadline",
  time: NOW.toISOString(),
  message: "",
};

/** Keeps what would be written. */
function clientOf(answer: () => unknown = () => ({})) {
  const patches: object[] = [];
  const client = {
    mergePatch: async (_resource: object, _key: object, patch: object) => {
      patches.push(patch);
      return await Promise.resolve(answer());
    },
  } as unknown as Client;
  return { client, patches };
}

describe("what resuming changes", () => {
  test("nothing, if it is neither paused nor halted", () => {
    assert.deepEqual(resumption(rollout()), []);
    assert.equal(isHalted(hookRollout()), false);
  });
  test("the pause", () => {
    assert.deepEqual(resumption(rollout({ paused: true })), [
      "HookRollout upgrades would no longer be paused",
    ]);
  });
  test("the halt, or both", () => {
    assert.match(resumption(rollout({}, true)).join(), /These failures would no longer halt it/);
    assert.equal(resumption(rollout({ paused: true }, true)).length, 2);
  });
});

test("a pause in mode Audit holds nothing", () => {
  assert.match(effectOfPause(rollout()), /^no further Cluster begins/);
  assert.match(effectOfPause(rollout({ mode: "Audit" })), /holds nothing/);
});

test("a pause keeps its reason, and is written whatever the status says by then", async () => {
  const { client, patches } = clientOf();
  await pauseRollout(client, rollout(), "INC-7");
  assert.deepEqual(patches, [
    {
      metadata: { uid: UID, annotations: { "hookpolicy.dev/pause-reason": "INC-7" } },
      spec: { paused: true },
    },
  ]);
});

test("resuming takes away the reason; of a halted rollout, the failures that were shown are ignored, and no later ones", async () => {
  const { client, patches } = clientOf();
  await resumeRollout(client, rollout({ paused: true }));
  const halted = rollout({}, true);
  const failed = ["2026-11-23T11:00:00Z", "2026-11-23T11:40:00Z", "2026-11-23T11:20:00Z"].map((time) => ({
    ...FAILURE,
    time,
  }));
  await resumeRollout(client, { ...halted, status: { ...halted.status, failed } });
  const metadata = { uid: UID, annotations: { "hookpolicy.dev/pause-reason": null } };
  assert.deepEqual(patches, [
    { metadata, spec: { paused: false } },
    {
      metadata: { ...metadata, resourceVersion: "1" },
      spec: { paused: false, ignoreFailuresBefore: "2026-11-23T11:40:01Z" },
    },
  ]);
});

describe("a halted rollout whose status changes meanwhile", () => {
  const shown = rollout({}, true);
  /** The first patch conflicts with what is read then. */
  function conflicting(failed: readonly object[]) {
    const { metadata, status } = shown;
    const now = { ...shown, metadata: { ...metadata, resourceVersion: "2" }, status: { ...status, failed } };
    let first = true;
    const { client, patches } = clientOf(() => {
      if (!first) return {};
      first = false;
      throw CONFLICT;
    });
    return { client: Object.assign(client, { get: async () => await Promise.resolve(now) }), patches };
  }

  test("is resumed if it shows the same failures", async () => {
    const { client, patches } = conflicting([]);
    await resumeRollout(client, { ...shown, status: { ...shown.status, failed: [] } });
    assert.deepEqual(
      patches.map((patch) => (patch as { metadata: { resourceVersion: string } }).metadata.resourceVersion),
      ["1", "2"],
    );
  });

  test("is not resumed if a Cluster has failed that its user has not seen", async () => {
    const { client, patches } = conflicting([FAILURE]);
    await assert.rejects(resumeRollout(client, shown), /has changed meanwhile, and nothing was written/);
    assert.equal(patches.length, 1);
  });
});

test("reports a conflict, and passes on other errors", async () => {
  const failing = (error: unknown) =>
    clientOf(() => {
      throw error;
    }).client;
  await assert.rejects(pauseRollout(failing(new Error("gone")), rollout(), "why"), /gone/);
  await assert.rejects(
    pauseRollout(failing(CONFLICT), rollout(), "why"),
    /has changed meanwhile, and nothing was written/,
  );
});
