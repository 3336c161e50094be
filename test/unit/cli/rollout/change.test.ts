import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { CONDITION, type HookRolloutSpec } from "../../../../src/api/hookpolicy.ts";
import { isHalted, pauseRollout, resumeRollout, resumption } from "../../../../src/cli/rollout/change.ts";
import { KubeError } from "../../../../src/kube/kubeerror.ts";
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
    assert.deepEqual(resumption(rollout({ paused: true })), ["HookRollout upgrades is no longer paused"]);
  });
  test("the halt, or both", () => {
    assert.match(resumption(rollout({}, true)).join(), /Failures until now no longer halt it/);
    assert.equal(resumption(rollout({ paused: true }, true)).length, 2);
  });
});

test("a pause keeps its reason, and is written only onto what was seen", async () => {
  const { client, patches } = clientOf();
  await pauseRollout(client, rollout(), "INC-7");
  assert.deepEqual(patches, [
    {
      metadata: { annotations: { "hookpolicy.dev/pause-reason": "INC-7" }, resourceVersion: "1" },
      spec: { paused: true },
    },
  ]);
});

test("resuming takes away the reason; failures are ignored only of a rollout that is halted", async () => {
  const { client, patches } = clientOf();
  await resumeRollout(client, rollout({ paused: true }), NOW);
  await resumeRollout(client, rollout({}, true), new Date(NOW.getTime() + 1));
  const metadata = { annotations: { "hookpolicy.dev/pause-reason": null }, resourceVersion: "1" };
  assert.deepEqual(patches, [
    { metadata, spec: { paused: false } },
    { metadata, spec: { paused: false, ignoreFailuresBefore: "2026-11-23T12:00:02Z" } },
  ]);
});

test("a conflict is told, and other errors are passed on", async () => {
  const conflict = new KubeError("changed", { code: 409, reason: "Conflict" });
  const failing = (error: unknown) =>
    clientOf(() => {
      throw error;
    }).client;
  await assert.rejects(pauseRollout(failing(new Error("gone")), rollout(), "why"), /gone/);
  await assert.rejects(
    pauseRollout(failing(conflict), rollout(), "why"),
    /has changed meanwhile, and nothing was written/,
  );
});
