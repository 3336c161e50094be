import assert from "node:assert/strict";
import test, { describe } from "node:test";
import {
  type HookRolloutSpec,
  type HookRolloutStatus,
  REASON,
  type RolloutClaim,
} from "../../../src/api/hook-policy.ts";
import type { MemberState } from "../../../src/rollouts/rollout-progress.ts";
import { computeRolloutStatus } from "../../../src/rollouts/rollout-status.ts";
import { compileRollout } from "../../../src/rollouts/rollout.ts";
import {
  claimOf,
  member,
  clusterMeta,
  hookRollout,
  NOW,
  readyStatus,
  TARGET,
  waitingCluster,
  stageOf,
} from "./fixtures.ts";

const OLD = "v1.34.0";
const STAGES = [{ name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } }, { name: "rest" }];

interface Fleet {
  readonly wave?: string;
  readonly name: string;
  readonly version?: string;
  readonly reconciled?: boolean;
  readonly marked?: boolean;
  readonly health?: MemberState["health"];
  readonly hasReached?: boolean;
  readonly lastsUnhealthy?: boolean;
  readonly isAwaited?: boolean;
}

/** Upgraded and healthy unless said otherwise. */
function stateOf(spec: Partial<HookRolloutSpec>, each: Fleet): MemberState {
  const { name, wave = "rest", version = TARGET, reconciled = true, marked = false } = each;
  const metadata = clusterMeta(name, { wave }, marked);
  const topology = { className: "lab", version };
  const cluster = waitingCluster(name, { metadata, topology, progress: { reconciled } });
  const { health = "Healthy", lastsUnhealthy = false } = each;
  const hasReached = each.hasReached ?? (reconciled && !marked);
  const known = member(compileRollout(hookRollout(spec)), metadata);
  const { isAwaited = true } = each;
  return { member: known, cluster, health, hasReached, lastsUnhealthy, isAwaited };
}

interface Case {
  readonly spec?: Partial<HookRolloutSpec>;
  readonly stored?: HookRolloutStatus;
  readonly fleet: readonly Fleet[];
  readonly ended?: readonly string[];
  readonly isPresent?: boolean;
  readonly isRebuilding?: boolean;
  readonly now?: Date;
}

function statusOf({
  spec = { stages: STAGES },
  stored,
  fleet,
  ended = [],
  isPresent = true,
  isRebuilding = false,
  now = NOW,
}: Case): HookRolloutStatus {
  const rollout = compileRollout(hookRollout(spec));
  // The stages of members are compared by identity.
  const members = fleet.map((each) => {
    const state = stateOf(spec, each);
    const stage = rollout.stages.find(({ name }) => name === state.member.stage?.name);
    return { ...state, member: { ...state.member, ...(stage !== undefined && { stage }) } };
  });
  return computeRolloutStatus(
    {
      rollout,
      stored,
      members,
      ended: new Set(ended),
      isPresent,
      isRebuilding,
      scope: "scope",
      next: [],
      held: [],
      heldOmitted: 0,
    },
    now,
  );
}

const HALF_AN_HOUR_AGO = "2026-11-23T11:30:00Z";
const canaryClaim = (name: string, over: Partial<RolloutClaim> = {}): RolloutClaim =>
  claimOf(name, { stage: "canary", claimedAt: HALF_AN_HOUR_AGO, renewedAt: HALF_AN_HOUR_AGO, ...over });

const stage = (status: HookRolloutStatus, name: string) =>
  status.targets?.find(({ version }) => version === TARGET)?.stages.find((each) => each.name === name);

describe("a stage", () => {
  const waiting = { name: "p", version: TARGET, reconciled: false };

  test("counts who was not asked, waits, runs, has succeeded or failed", () => {
    const status = statusOf({
      stored: readyStatus({ running: [canaryClaim("running")] }),
      fleet: [
        { name: "reached", wave: "canary", reconciled: false, hasReached: true },
        { name: "asked-not", wave: "canary", version: OLD },
        { name: "waiting", wave: "canary", reconciled: false },
        { name: "running", wave: "canary", reconciled: false, marked: true },
        { name: "succeeded", wave: "canary" },
        { name: "ill", wave: "canary", health: "Unhealthy" },
      ],
    });
    const {
      members,
      notAsked,
      waiting: waits,
      running,
      succeeded,
      failed,
      passed,
    } = stage(status, "canary") ?? {};
    assert.deepEqual(
      [members, notAsked, waits, running, succeeded, failed, passed],
      [6, 1, 2, 1, 2, 0, false],
    );
  });

  test("counts those that ask for a newer version as not asked for the older one", () => {
    const fleet = [
      { name: "held", wave: "canary", reconciled: false },
      { name: "running", wave: "canary", reconciled: false, marked: true, isAwaited: false },
      { name: "reached", wave: "canary" },
      { name: "r", version: OLD },
    ];
    const passed = { succeeded: 1, soakingSince: "2026-11-23T11:00:00Z", passed: true };
    const stages = ["canary", "rest"].map((name) => stageOf(name, passed));
    const { targets } = statusOf({ stored: readyStatus({ targets: [{ version: OLD, stages }] }), fleet });
    const [older] = targets?.filter(({ version }) => version === OLD) ?? [];
    const { soakingSince } = passed;
    const closed = { members: 3, notAsked: 2, succeeded: 1, soakingSince, closed: true };
    assert.deepEqual(older?.stages[0], stageOf("canary", closed));
  });

  test("passes when all have succeeded for minSuccessTime, from when it was seen", () => {
    const spec = { stages: [{ ...STAGES[0], name: "canary", minSuccessTime: "1h" }, { name: "rest" }] };
    const fleet = [{ name: "c", wave: "canary" }, waiting];
    const seen = statusOf({ spec, fleet });
    assert.deepEqual(
      [stage(seen, "canary")?.soakingSince, stage(seen, "canary")?.passed],
      ["2026-11-23T12:00:00Z", false],
    );
    const soaked = statusOf({ spec, fleet, stored: seen, now: new Date("2026-11-23T13:00:00Z") });
    assert.equal(stage(soaked, "canary")?.passed, true);
    const ill = [{ name: "c", wave: "canary", health: "Unhealthy" }, waiting] as const;
    // Also if nobody looked when the soak ended.
    for (const at of ["2026-11-23T12:30:00Z", "2026-11-23T13:30:00Z"]) {
      const { soakingSince, closed, passed } =
        stage(statusOf({ spec, stored: seen, fleet: ill, now: new Date(at) }), "canary") ?? {};
      assert.deepEqual([soakingSince, closed, passed], [undefined, undefined, false]);
    }
  });

  const notPassed: readonly (readonly [string, Case])[] = [
    [
      "one has not been asked",
      { fleet: [{ name: "c", wave: "canary" }, { name: "d", wave: "canary", version: OLD }, waiting] },
    ],
    ["the health of one is unknown", { fleet: [{ name: "c", wave: "canary", health: "Unknown" }, waiting] }],
    [
      "spec has the version, and Cluster API has not reconciled it",
      { fleet: [{ name: "c", wave: "canary", reconciled: false }, waiting] },
    ],
    ["it has no Clusters", { fleet: [waiting] }],
  ];
  for (const [when, what] of notPassed)
    test(`does not pass while ${when}`, () => assert.equal(stage(statusOf(what), "canary")?.passed, false));

  test("without Clusters passes where minSucceeded is 0", () => {
    const spec = { stages: [{ ...STAGES[0], name: "canary", minSucceeded: 0 }, { name: "rest" }] };
    assert.equal(stage(statusOf({ spec, fleet: [waiting] }), "canary")?.passed, true);
  });

  test("needs as many successes as are left without tolerated and ignored failures", () => {
    const fleet = [
      { name: "a", wave: "canary" },
      { name: "b", wave: "canary", health: "Unhealthy", lastsUnhealthy: true },
      waiting,
    ] as const;
    const first = statusOf({ spec: { stages: STAGES }, stored: statusOf({ fleet }), fleet });
    assert.equal(first.failed?.[0]?.reason, "Unhealthy");
    assert.equal(stage(first, "canary")?.passed, false);
    const tolerant = { stages: [{ ...STAGES[0], name: "canary", maxFailures: 1 }, { name: "rest" }] };
    assert.equal(stage(statusOf({ spec: tolerant, stored: first, fleet }), "canary")?.passed, true);
    const ignoring = { stages: STAGES, ignoreFailuresBefore: "2026-11-23T12:00:01Z" };
    assert.equal(stage(statusOf({ spec: ignoring, stored: first, fleet }), "canary")?.passed, true);
  });

  test("needs one success, however many failures are tolerated or ignored, and says whose is missing", () => {
    const fleet = [
      { name: "b", wave: "canary", health: "Unhealthy", lastsUnhealthy: true },
      waiting,
    ] as const;
    const canary = { ...STAGES[0], name: "canary" };
    const failed = statusOf({ stored: statusOf({ fleet }), fleet });
    const judged = (over: object, ignoreFailuresBefore = "2026-11-23T11:00:00Z") => {
      const spec = { stages: [{ ...canary, ...over }, { name: "rest" }], ignoreFailuresBefore };
      const { passed, waitsFor } = stage(statusOf({ spec, stored: failed, fleet }), "canary") ?? {};
      return [passed, waitsFor?.map(({ name, reason }) => [name, reason])];
    };
    const awaited = [false, [["b", "Failed"]]];
    assert.deepEqual(judged({}), awaited);
    assert.deepEqual(judged({}, "2026-11-23T12:00:01Z"), awaited);
    assert.deepEqual(judged({ maxFailures: 1 }), awaited);
    assert.deepEqual(judged({ maxFailures: "100%", minSucceeded: "50%" }), awaited);
    assert.deepEqual(judged({ minSucceeded: 0 }), [true, undefined]);
  });
});

describe("a failure", () => {
  const halted = ({ conditions = [] }: HookRolloutStatus): string | undefined =>
    conditions.find(({ type }) => type === "Halted")?.status;
  const overdue = {
    stored: readyStatus({ running: [canaryClaim("c", { claimedAt: "2026-11-23T11:00:00Z" })] }),
  };

  test("is an operation past its deadline: its slot is free, and the rollout halts", () => {
    const status = statusOf({
      ...overdue,
      fleet: [{ name: "c", wave: "canary", reconciled: false, marked: true }],
    });
    assert.equal(status.running, undefined);
    assert.equal(status.failed?.[0]?.reason, "ProgressDeadlineExceeded");
    assert.equal(halted(status), "True");
  });

  test("tells nothing of its claim that a failure has no field for", () => {
    const unknown = { fieldOfAnotherRelease: 1 };
    const claim = { ...canaryClaim("c", { claimedAt: "2026-11-23T11:00:00Z" }), ...unknown };
    const status = statusOf({
      stored: readyStatus({ running: [claim] }),
      fleet: [{ name: "c", wave: "canary", reconciled: false, marked: true }],
    });
    assert.deepEqual(
      Object.keys(status.failed?.[0] ?? {}).toSorted(),
      ["message", "name", "namespace", "reason", "stage", "target", "time", "uid"], // as its schema says
    );
  });

  test("of a mark that never had a slot halts nothing", () => {
    const stored = readyStatus({
      running: [canaryClaim("c", { claimed: false, claimedAt: "2026-11-23T11:00:00Z" })],
    });
    const status = statusOf({
      stored,
      fleet: [{ name: "c", wave: "canary", reconciled: false, marked: true }],
    });
    assert.equal(status.failed?.[0]?.reason, "UnclaimedOperation");
    assert.equal(halted(status), "False");
  });

  const started = canaryClaim("c", { markedAt: "2026-11-23T11:59:30Z" });
  const moved = { name: "c", wave: "canary", version: "v1.36.0", reconciled: false, marked: true };

  test("is a version that changes while the upgrade runs: the Cluster keeps its slot until that ends", () => {
    const status = statusOf({ stored: readyStatus({ running: [started] }), fleet: [moved] });
    const [failure, ...others] = status.failed ?? [];
    assert.deepEqual(
      [failure?.reason, failure?.target, failure?.stage, others],
      ["VersionChanged", TARGET, "canary", []],
    );
    assert.match(failure?.message ?? "", /changed from v1\.35\.1 to v1\.36\.0/);
    assert.deepEqual(status.running, [started]);
    assert.equal(halted(status), "True");
    assert.deepEqual(statusOf({ stored: status, fleet: [moved] }), status);
    // Also if it changes back, until it has succeeded.
    const back = { ...moved, version: TARGET };
    assert.deepEqual(statusOf({ stored: status, fleet: [back] }).failed, status.failed);
    const done = statusOf({ stored: status, fleet: [{ name: "c", wave: "canary" }], ended: ["uid-c"] });
    assert.deepEqual([done.failed, halted(done)], [undefined, "False"]);
  });

  test("is such a version once: a deadline that passes then takes its place, and ends the slot", () => {
    const running = [{ ...started, claimedAt: "2026-11-23T11:00:00Z" }];
    const before = statusOf({ stored: readyStatus({ running: [started] }), fleet: [moved] });
    const after = statusOf({ stored: { ...before, running }, fleet: [moved] });
    assert.deepEqual(
      [after.failed?.map(({ reason }) => reason), after.running],
      [["ProgressDeadlineExceeded"], undefined],
    );
  });

  test("is no older version that memory still shows with the mark of the upgrade before", () => {
    const stored = readyStatus({ running: [canaryClaim("c")] });
    const fleet = [{ ...moved, version: OLD }];
    assert.equal(statusOf({ stored, fleet }).failed, undefined);
  });

  test("is no version of a Cluster that never had a slot: it has failed in nothing", () => {
    const stored = readyStatus({ running: [{ ...started, claimed: false }] });
    assert.equal(statusOf({ stored, fleet: [moved] }).failed, undefined);
  });

  test("is cleared by success and by leaving the rollout, and not by time", () => {
    const failed = statusOf({
      ...overdue,
      fleet: [{ name: "c", wave: "canary", reconciled: false, marked: true }],
    });
    assert.equal(
      statusOf({ stored: failed, fleet: [{ name: "c", wave: "canary", reconciled: false }] }).failed?.length,
      1,
    );
    assert.equal(statusOf({ stored: failed, fleet: [{ name: "c", wave: "canary" }] }).failed, undefined);
    assert.equal(statusOf({ stored: failed, fleet: [] }).failed, undefined);
  });

  test("is no claim past its deadline whose Cluster never began, or has ended", () => {
    const waits = [{ name: "c", wave: "canary", reconciled: false }];
    const never = statusOf({ ...overdue, fleet: waits });
    assert.deepEqual([never.running, never.failed, halted(never)], [undefined, undefined, "False"]);
    const marked = canaryClaim("c", { claimedAt: "2026-11-23T11:00:00Z", markedAt: "2026-11-23T11:01:00Z" });
    const stored = readyStatus({ running: [marked] });
    const done = [{ name: "c", wave: "canary" }];
    assert.equal(halted(statusOf({ stored, ended: ["uid-c"], fleet: done })), "False");
    assert.equal(halted(statusOf({ stored, fleet: waits })), "True");
  });

  test("of a creation halts nothing: it has a budget alone", () => {
    const stored = readyStatus({
      running: [canaryClaim("c", { claimedAt: "2026-11-23T11:00:00Z", stage: "all" })],
    });
    assert.equal(
      halted(statusOf({ spec: { operation: "Create" }, stored, fleet: [{ name: "c" }] })),
      "False",
    );
  });
});

describe("a claim", () => {
  test("stays until it has ended, and notes when the mark came", () => {
    const stored = readyStatus({ running: [canaryClaim("c")] });
    const waits = statusOf({ stored, fleet: [{ name: "c", wave: "canary", reconciled: false }] });
    assert.equal(waits.running?.[0]?.markedAt, undefined);
    const runs = statusOf({
      stored,
      fleet: [{ name: "c", wave: "canary", reconciled: false, marked: true }],
    });
    assert.equal(runs.running?.[0]?.markedAt, "2026-11-23T12:00:00Z");
    assert.equal(statusOf({ stored: runs, fleet: [{ name: "c", wave: "canary" }] }).running?.length, 1);
    assert.equal(
      statusOf({ stored: runs, ended: ["uid-c"], fleet: [{ name: "c", wave: "canary" }] }).running,
      undefined,
    );
  });

  test("does not take the mark of the upgrade before for its own", () => {
    const stored = readyStatus({ running: [canaryClaim("c")] });
    const status = statusOf({
      stored,
      fleet: [{ name: "c", wave: "canary", version: OLD, reconciled: false, marked: true }],
    });
    assert.equal(status.running?.[0]?.markedAt, undefined);
  });

  test("is noted for a Cluster that began without one", () => {
    const status = statusOf({ fleet: [{ name: "c", reconciled: false, marked: true }] });
    assert.deepEqual(
      status.running?.map(({ name, claimed }) => [name, claimed]),
      [["c", false]],
    );
  });
});

test("while it is rebuilt nothing is ready, and soaks begin again", () => {
  const fleet: readonly Fleet[] = [
    { name: "c", wave: "canary" },
    { name: "p", reconciled: false },
  ];
  const stored = statusOf({ fleet });
  const rebuilt = (before: HookRolloutStatus, now: string): HookRolloutStatus =>
    statusOf({ stored: before, isRebuilding: true, now: new Date(now), fleet });
  const status = rebuilt(stored, "2026-11-23T12:05:00Z");
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  assert.deepEqual([ready?.status, ready?.reason], ["False", REASON.StatusLost]);
  assert.equal(stage(status, "canary")?.soakingSince, "2026-11-23T12:05:00Z");
  const later = "2026-11-23T12:05:01Z";
  assert.deepEqual(rebuilt(status, later), status, "each second would be a write");
  const ofAnotherScope = rebuilt({ ...status, scope: "another" }, later);
  assert.equal(stage(ofAnotherScope, "canary")?.soakingSince, later);
});

test("the same status again is no change", () => {
  const fleet = [
    { name: "c", wave: "canary" },
    { name: "p", reconciled: false },
  ] as const;
  const once = statusOf({ fleet });
  assert.deepEqual(
    statusOf({ fleet, stored: once, now: new Date("2026-11-23T12:30:00Z") }),
    statusOf({ fleet, stored: once, now: new Date("2026-11-23T12:40:00Z") }),
  );
});

describe("the condition Ready says that", () => {
  const saying = (spec: Partial<HookRolloutSpec>, fleet: readonly Fleet[]) => {
    const [found] = statusOf({ spec, fleet }).conditions ?? [];
    return [found?.status, found?.reason, found?.message];
  };

  test("the rollout selects no Cluster", () => {
    const [status, reason, message] = saying({ stages: STAGES }, []);
    assert.deepEqual([status, reason], ["True", REASON.SelectsNothing]);
    assert.match(
      message ?? "",
      /^In force, but it selects no Cluster, and limits nothing: check spec\.namespaceSelector/,
    );
  });

  test("a stage does, for which later ones wait", () => {
    const [, reason, message] = saying({ stages: STAGES }, [{ name: "a" }]);
    assert.equal(reason, REASON.SelectsNothing);
    assert.match(
      message ?? "",
      /stage canary selects no Cluster, and later stages wait for it at versions for which it has not passed/,
    );
    const allowed = [{ ...STAGES[0]!, minSucceeded: 0 }, STAGES[1]!];
    assert.match(
      saying({ stages: allowed }, [{ name: "a" }])[2] ?? "",
      /stage canary selects no Cluster: check/,
    );
  });

  test("all select some", () => {
    const fleet = [{ name: "a", wave: "canary" }, { name: "b" }];
    assert.deepEqual(saying({ stages: STAGES }, fleet), ["True", REASON.Loaded, "In force"]);
  });
});
