import assert from "node:assert/strict";
import test, { describe } from "node:test";
import {
  type HookRolloutSpec,
  type HookRolloutStatus,
  MAX_FAILED,
  type RolloutClaim,
} from "../../../src/api/hook-policy.ts";
import { memberOf } from "../../../src/rollouts/member.ts";
import type { MemberState } from "../../../src/rollouts/rollout-progress.ts";
import { computeRolloutStatus } from "../../../src/rollouts/rollout-status.ts";
import type { CompiledRollout } from "../../../src/rollouts/rollout.ts";
import { DEADLINE_EXCEEDED, UNCLAIMED } from "../../../src/rollouts/slots.ts";
import { haltingStage } from "../../../src/rollouts/stages.ts";
import { claimOf, clusterMeta, NOW, readyStatus, rolloutOf, TARGET, waitingCluster } from "./fixtures.ts";

type State = "healthy" | "unhealthy" | "waiting" | "running";
type Fleet = Readonly<Record<string, { readonly state: State; readonly wave?: string }>>;

const ANY_TARGET = readyStatus({ targets: [{ version: TARGET, stages: [] }] });
const LONG_AGO = "2026-11-23T10:00:00Z";

function memberStateOf(rollout: CompiledRollout, name: string, { state, wave = "rest" }: Fleet[string]) {
  const isAtTarget = state === "healthy" || state === "unhealthy";
  const cluster = waitingCluster(name, {
    metadata: clusterMeta(name, { wave }, state === "running"),
    progress: { reconciled: isAtTarget },
  });
  const member = memberOf(rollout, cluster, undefined);
  assert.ok(member);
  const isIll = state === "unhealthy";
  const health = isIll ? "Unhealthy" : "Healthy";
  const isAwaited = state === "waiting";
  return {
    member,
    cluster,
    health,
    hasReached: isAtTarget,
    lastsUnhealthy: isIll,
    isAwaited,
  } satisfies MemberState;
}

/** Computes the status until it is at rest, which has to be soon. */
function atRest(
  spec: Partial<HookRolloutSpec>,
  stored: HookRolloutStatus,
  { fleet, now = NOW, looks = 2 }: { readonly fleet: Fleet; readonly now?: Date; readonly looks?: number },
): HookRolloutStatus {
  const rollout = rolloutOf(spec);
  const members = Object.entries(fleet).map(([name, each]) => memberStateOf(rollout, name, each));
  const next = (status: HookRolloutStatus): HookRolloutStatus =>
    computeRolloutStatus(
      {
        rollout,
        stored: status,
        members,
        ended: new Set(),
        isPresent: true,
        isRebuilding: false,
        scope: "scope",
        next: [],
        held: [],
        heldOmitted: 0,
      },
      now,
    );
  let rested = stored;
  for (let look = 0; look < looks; look += 1) rested = next(rested);
  assert.deepEqual(next(rested), rested);
  const isHalted = haltingStage(rollout, rested) !== undefined;
  assert.equal(rested.conditions?.find(({ type }) => type === "Halted")?.status, isHalted ? "True" : "False");
  return rested;
}

function named(prefix: string, count: number, each: Fleet[string]): Fleet {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}-${index}`, each]));
}

const isHalted = ({ conditions }: HookRolloutStatus): boolean =>
  conditions?.some(({ type, status }) => type === "Halted" && status === "True") === true;
const failedNames = ({ failed = [] }: HookRolloutStatus): string[] => failed.map(({ name }) => name);
const passed = ({ targets = [] }: HookRolloutStatus, stage: string): boolean | undefined =>
  targets.flatMap(({ stages }) => stages).find(({ name }) => name === stage)?.passed;

const stuckClaim = (name: string, over: Partial<RolloutClaim> = {}): RolloutClaim =>
  claimOf(name, { claimedAt: LONG_AGO, renewedAt: LONG_AGO, markedAt: LONG_AGO, ...over });

describe("failures halt a rollout, however many there are", () => {
  const cases: readonly (readonly [
    maxFailures: number | string,
    failing: number,
    members: number,
    boolean,
  ])[] = [
    [0, 0, 10, false],
    [0, 1, 10, true],
    [2, 2, 10, false],
    [2, 3, 10, true],
    [49, 49, 200, false],
    [49, 50, 200, true],
    [50, 49, 200, false],
    [50, 50, 200, true],
    [50, 51, 200, true],
    [50, 200, 200, true],
    ["10%", 60, 601, true],
    ["10%", 600, 600, true],
    ["10%", 49, 600, false],
    ["30%", 170, 170, true],
    ["100%", 10, 10, false],
  ];
  for (const [maxFailures, failing, members, halts] of cases)
    test(`${failing} of ${members} with maxFailures ${maxFailures}`, () => {
      const spec = { stages: [{ name: "all", maxFailures }] };
      const fleet = {
        ...named("ill", failing, { state: "unhealthy" }),
        ...named("next", members - failing, { state: "waiting" }),
      };
      const status = atRest(spec, ANY_TARGET, { fleet });
      assert.equal(isHalted(status), halts);
      assert.equal(failedNames(status).length, Math.min(failing, MAX_FAILED));
    });

  for (const [mode, words] of [
    ["Enforce", /failed\. Nothing more begins until /],
    ["Audit", /failed\. Nothing more would begin in mode Enforce until /],
  ] as const)
    test(`with words for mode ${mode}`, () => {
      const { conditions } = atRest({ mode }, ANY_TARGET, { fleet: named("ill", 1, { state: "unhealthy" }) });
      assert.match(conditions?.find(({ type }) => type === "Halted")?.message ?? "", words);
    });

  test("also if those of each stage are tolerated, and the status cannot name them all", () => {
    const canary = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, maxFailures: 40 };
    const spec = { stages: [canary, { name: "rest", maxFailures: 40 }] };
    const fleet = (perStage: number): Fleet => ({
      ...named("early", perStage, { state: "unhealthy", wave: "canary" }),
      ...named("late", perStage, { state: "unhealthy" }),
    });
    assert.equal(isHalted(atRest(spec, ANY_TARGET, { fleet: fleet(24) })), false);
    assert.equal(isHalted(atRest(spec, ANY_TARGET, { fleet: fleet(25) })), true);
    assert.equal(isHalted(atRest(spec, ANY_TARGET, { fleet: fleet(45) })), true);
  });

  test("and one past its deadline for which the status has no room is named once it has", () => {
    const spec = { stages: [{ name: "all", maxFailures: 5 }] };
    const stuck = named("stuck", 60, { state: "running" });
    const running = Object.keys(stuck).map((name) => stuckClaim(name));
    const full = atRest(spec, { ...ANY_TARGET, running }, { fleet: stuck });
    assert.equal(failedNames(full).length, MAX_FAILED);
    const named50 = new Set(failedNames(full));
    const cured = Object.fromEntries(
      Object.entries(stuck).map(([name, each]) => [
        name,
        named50.has(name) ? ({ state: "healthy" } as const) : each,
      ]),
    );
    const left = atRest(spec, full, { fleet: cured });
    assert.deepEqual([failedNames(left).length, left.running, isHalted(left)], [10, undefined, true]);
  });
});

describe("failures that halt nothing", () => {
  const spec = { progressDeadline: "1h", stages: [{ name: "all", minSucceeded: 1 }] };
  const marks = named("tenant", 60, { state: "running" });
  const unclaimed = Object.keys(marks).map((name) => stuckClaim(name, { claimed: false }));
  const fleet: Fleet = { ...marks, stuck: { state: "running" }, done: { state: "healthy" } };

  test("leave the others in the status: marks that a tenant wrote", () => {
    const marked = atRest(spec, { ...ANY_TARGET, running: unclaimed }, { fleet: marks });
    assert.deepEqual([isHalted(marked), marked.failed?.[0]?.reason], [false, UNCLAIMED]);
    const late = { ...marked, running: [stuckClaim("stuck")] };
    for (const stored of [late, { ...ANY_TARGET, running: [stuckClaim("stuck"), ...unclaimed] }]) {
      const status = atRest(spec, stored, { fleet });
      assert.equal(isHalted(status), true);
      assert.equal(status.failed?.find(({ name }) => name === "stuck")?.reason, DEADLINE_EXCEEDED);
    }
    const halted = atRest(spec, { ...ANY_TARGET, running: [stuckClaim("stuck")] }, { fleet });
    const then = atRest(spec, { ...halted, running: unclaimed }, { fleet });
    assert.deepEqual([isHalted(then), failedNames(then)[0]], [true, "stuck"]);
  });

  test("leave the others in the status: those that are ignored", () => {
    const ill = named("ill", 50, { state: "unhealthy" });
    const stored = atRest(spec, ANY_TARGET, { fleet: ill });
    const later = {
      fleet: { ...ill, stuck: { state: "running" } as const },
      now: new Date("2026-11-23T12:30:00Z"),
    };
    const ignoring = { ...spec, ignoreFailuresBefore: "2026-11-23T12:15:00Z" };
    assert.equal(isHalted(atRest(ignoring, stored, { ...later, fleet: ill })), false);
    // One that is pushed out is seen again as a new failure, which counts.
    const status = atRest(
      ignoring,
      { ...stored, running: [stuckClaim("stuck")] },
      { ...later, looks: MAX_FAILED + 1 },
    );
    assert.deepEqual([isHalted(status), failedNames(status)[0]], [true, "stuck"]);
  });
});

describe("a failure halts when the stages change", () => {
  const selector = { clusterSelector: { matchLabels: { wave: "canary" } } };
  const before = { stages: [{ name: "canary", ...selector }, { name: "rest" }] };
  const fleet: Fleet = {
    good: { state: "healthy", wave: "canary" },
    ill: { state: "unhealthy", wave: "canary" },
    next: { state: "waiting" },
  };
  const halted = atRest(before, ANY_TARGET, { fleet });

  const cases: readonly (readonly [string, Partial<HookRolloutSpec>, stage: string])[] = [
    ["renamed", { stages: [{ name: "early", ...selector }, { name: "rest" }] }, "early"],
    ["removed", { stages: [{ name: "rest" }] }, "rest"],
    ["merged into one", { stages: [{ name: "both" }] }, "both"],
    ["all removed", {}, "all"],
  ];
  for (const [how, after, stage] of cases)
    test(`they are ${how}`, () => {
      assert.equal(isHalted(halted), true);
      const status = atRest(after, halted, { fleet });
      assert.deepEqual(
        [isHalted(status), passed(status, stage), status.failed?.map((each) => [each.name, each.stage])],
        [true, false, [["ill", stage]]],
      );
    });

  test("a stage is renamed during the upgrade that then fails", () => {
    const after = { stages: [{ name: "early", ...selector }, { name: "rest" }] };
    const running = [stuckClaim("stuck", { stage: "canary" })];
    const status = atRest(
      after,
      { ...ANY_TARGET, running },
      {
        fleet: { ...fleet, ill: fleet["good"]!, stuck: { state: "running", wave: "canary" } },
      },
    );
    assert.deepEqual([isHalted(status), status.failed?.[0]?.stage], [true, "early"]);
  });

  test("the Cluster moves to another stage: the first does not pass for it, nor the second", () => {
    const tolerant = {
      stages: [
        { name: "canary", ...selector, maxFailures: 1 },
        { name: "rest", minSucceeded: "100%" },
      ],
    };
    const moved: Fleet = {
      good: { state: "healthy", wave: "canary" },
      slow: { state: "waiting", wave: "canary" },
      ill: { state: "unhealthy" },
      other: { state: "healthy" },
    };
    const tolerated = atRest(tolerant, ANY_TARGET, { fleet });
    assert.equal(isHalted(tolerated), false);
    const status = atRest(tolerant, tolerated, { fleet: moved });
    assert.deepEqual([passed(status, "canary"), passed(status, "rest")], [false, false]);
    assert.equal(isHalted(atRest(before, halted, { fleet: moved })), true);
  });

  test("but not for a Cluster that no stage selects any more", () => {
    const after = { stages: [{ name: "rest", clusterSelector: { matchLabels: { wave: "rest" } } }] };
    assert.equal(isHalted(atRest(after, halted, { fleet })), false);
  });
});
