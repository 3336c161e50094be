import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, HookRolloutStatus, RolloutFailure } from "../../../src/api/hook-policy.ts";
import { UNCLAIMED } from "../../../src/rollouts/slots.ts";
import { closedBy, countingFailures, haltingStage, hasPassed } from "../../../src/rollouts/stages.ts";
import { failureOf, NOW, rolloutOf, TARGET } from "./fixtures.ts";

const counts = { notAsked: 0, waiting: 0, running: 0, succeeded: 0, failed: 0, passed: false };
const STAGES = [
  { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "1h" },
  { name: "rest" },
];

function statusOf(canary: object, members = 4): HookRolloutStatus {
  const row = { name: "canary", members, ...counts, ...canary };
  return { targets: [{ version: TARGET, stages: [row, { name: "rest", members, ...counts }] }] };
}

describe("a stage is open", () => {
  const rollout = rolloutOf({ stages: STAGES });
  const closed = (status: HookRolloutStatus | undefined, stage = 1, target = TARGET): string | undefined =>
    closedBy(rollout, status, { stage: rollout.stages[stage]!, target }, NOW)?.name;
  const ago = (minutes: number): string => new Date(NOW.getTime() - minutes * 60_000).toISOString();

  test("if it is the first", () => {
    assert.equal(closed(undefined, 0), undefined);
  });

  test("when all before it have passed for the target, and soaked", () => {
    assert.equal(closed(statusOf({ passed: true, soakingSince: ago(60) })), undefined);
    assert.equal(closed(statusOf({ passed: true, soakingSince: ago(60) }), 1, "v1.36.0"), "canary");
    assert.equal(closed(statusOf({})), "canary");
    assert.equal(closed(undefined), "canary");
  });

  test("not if it is of another spec: then every stage has to have passed", () => {
    const [, stage] = rolloutOf({ stages: STAGES }).stages;
    const canary = statusOf({ passed: true, soakingSince: ago(60) });
    assert.equal(closedBy(rollout, canary, { stage: stage!, target: TARGET }, NOW)?.name, "rest");
  });

  test("not by the word passed alone: the soak may have become longer since", () => {
    assert.equal(closed(statusOf({ passed: true, soakingSince: ago(59) })), "canary");
    assert.equal(closed(statusOf({ passed: true })), "canary");
    assert.equal(hasPassed(rollout.stages[0]!, undefined, NOW), false);
  });
});

describe("a rollout halts", () => {
  const cases: readonly (readonly [string, Partial<HookRolloutSpec>, readonly RolloutFailure[], boolean])[] =
    [
      ["on the first failure, by default", {}, [failureOf("a")], true],
      ["on no failure", {}, [], false],
      ["not on a mark without a claim", {}, [failureOf("a", { reason: UNCLAIMED })], false],
      [
        "not on failures that are ignored",
        { ignoreFailuresBefore: "2026-11-23T11:30:00Z" },
        [failureOf("a")],
        false,
      ],
      ["on later ones", { ignoreFailuresBefore: "2026-11-23T10:30:00Z" }, [failureOf("a")], true],
      [
        "on one whose time is unreadable",
        { ignoreFailuresBefore: "2026-11-23T11:30:00Z" },
        [failureOf("a", { time: "?" })],
        true,
      ],
      ["not for creations", { operation: "Create" }, [failureOf("a", { stage: "all" })], false],
    ];
  for (const [title, spec, failed, halts] of cases)
    test(title, () => {
      const rollout = rolloutOf(spec.operation === "Create" ? spec : { stages: STAGES, ...spec });
      assert.equal(haltingStage(rollout, { ...statusOf({}), failed: [...failed] }) !== undefined, halts);
    });

  test("on more than a percentage of the smallest size that the stage has", () => {
    const stages = STAGES.map((stage) => ({ ...stage, maxFailures: "25%" }));
    const rollout = rolloutOf({ stages });
    assert.equal(haltingStage(rollout, { ...statusOf({}, 4), failed: [failureOf("a")] }), undefined);
    assert.equal(haltingStage(rollout, { ...statusOf({}, 3), failed: [failureOf("a")] })?.name, "canary");
    assert.equal(haltingStage(rollout, { failed: [failureOf("a")] })?.name, "canary");
  });

  test("for the stage of the failure alone", () => {
    const rollout = rolloutOf({ stages: STAGES });
    assert.deepEqual(countingFailures(rollout, [failureOf("a")], "rest"), []);
    assert.deepEqual(countingFailures(rollout, undefined, "rest"), []);
  });
});
