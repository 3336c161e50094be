import assert from "node:assert/strict";
import test from "node:test";
import { CONDITION, type HookRolloutStatus, REASON } from "../../../src/api/hook-policy.ts";
import { rolloutEvents } from "../../../src/rollouts/rollout-events.ts";
import { hookRollout, stageOf, TARGET } from "./fixtures.ts";

function condition(type: string, status: "True" | "False", reason = "x") {
  return { type, status, reason, message: `now ${status}`, lastTransitionTime: "2026-11-23T12:00:00Z" };
}

const READY = [condition(CONDITION.Ready, "True")];

/** One target with canary and rest, of which so many have passed. */
function stages(passed: number, version = TARGET): HookRolloutStatus {
  const both = [stageOf("canary", { passed: passed > 0 }), stageOf("rest", { passed: passed > 1 })];
  return { conditions: READY, targets: [{ version, stages: both }] };
}

const closed: HookRolloutStatus = {
  conditions: READY,
  targets: [{ version: TARGET, stages: [stageOf("canary", { closed: true }), stageOf("rest")] }],
};

function halted(isHalted: boolean): HookRolloutStatus {
  return { conditions: [...READY, condition(CONDITION.Halted, isHalted ? "True" : "False")] };
}

const PAUSED = { conditions: [condition(CONDITION.Ready, "True", REASON.Paused)] };
const INVALID = { conditions: [condition(CONDITION.Ready, "False", REASON.InvalidSpec)] };

const CASES: readonly (readonly [
  string,
  HookRolloutStatus | undefined,
  HookRolloutStatus,
  readonly string[],
])[] = [
  ["the first sight of a version opens its first stage", {}, stages(0), ["StageOpened canary"]],
  ["so does that of a rollout that has no status yet", undefined, stages(0), ["StageOpened canary"]],
  ["a stage that passes opens the next", stages(0), stages(1), ["StagePassed canary", "StageOpened rest"]],
  ["the last one opens none", stages(1), stages(2), ["StagePassed rest"]],
  ["two may pass at once", stages(0), stages(2), ["StagePassed canary", "StagePassed rest"]],
  ["a stage that is closed again has opened anew", stages(1), stages(0), ["StageOpened canary"]],
  ["one that had passed has not, while it is closed", stages(1), closed, []],
  ["then the next one opens again", closed, stages(1), ["StageOpened rest"]],
  ["it soaks anew as if it had never passed", closed, stages(0), ["StageOpened canary"]],
  ["the same again is no change", stages(1), stages(1), []],
  ["none opens while it is paused", stages(0), { ...stages(1), ...PAUSED }, ["StagePassed canary"]],
  ["but once it is resumed", { ...stages(1), ...PAUSED }, stages(1), ["StageOpened rest"]],
  ["none opens while its spec is invalid", {}, { ...stages(0), ...INVALID }, []],
  ["none opens while it is halted", {}, { ...stages(0), ...halted(true) }, ["Halted"]],
  ["a version that is over is none", stages(1), {}, []],
  ["creations have no version and no stages", {}, { targets: [{ stages: [stageOf("all")] }] }, []],
  ["too many failures halt it", halted(false), halted(true), ["Halted"]],
  ["it can be halted from the beginning", undefined, halted(true), ["Halted"]],
  ["it is resumed", halted(true), halted(false), ["Resumed"]],
  ["it stays halted", halted(true), halted(true), []],
  ["it was never halted", undefined, halted(false), []],
];

for (const [title, before, now, expected] of CASES)
  test(title, () => {
    const found = rolloutEvents(hookRollout(), before, now);
    assert.deepEqual(
      found.map(({ reason, identity }) =>
        reason.startsWith("Stage") ? `${reason} ${identity.split(" ")[3]}` : reason,
      ),
      expected,
    );
  });

test("each names the rollout, and is told from the same change of another time", () => {
  const told = (resourceVersion: string) => {
    const object = hookRollout();
    const metadata = { ...object.metadata, resourceVersion };
    return rolloutEvents({ ...object, metadata }, stages(0), stages(1));
  };
  const [passed, opened] = told("7");
  assert.deepEqual(passed, {
    identity: `StagePassed rollout 7 canary ${TARGET}`,
    type: "Normal",
    reason: "StagePassed",
    action: "Rollout",
    note: `Stage canary has passed to ${TARGET}`,
    regarding: {
      apiVersion: "hookpolicy.dev/v1alpha1",
      kind: "HookRollout",
      name: "upgrades",
      uid: "rollout",
    },
  });
  assert.equal(opened?.note, `Stage rest may be upgraded to ${TARGET}`);
  assert.notEqual(told("8")[0]?.identity, passed?.identity);
});

test("each version has changes of its own", () => {
  const both = {
    conditions: READY,
    targets: [...(stages(0, "v1.36.0").targets ?? []), ...(stages(1).targets ?? [])],
  };
  const found = rolloutEvents(hookRollout(), stages(0), both);
  assert.deepEqual(
    found.map(({ note }) => note),
    [
      "Stage canary may be upgraded to v1.36.0",
      `Stage canary has passed to ${TARGET}`,
      `Stage rest may be upgraded to ${TARGET}`,
    ],
  );
});
