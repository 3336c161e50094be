import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type {
  HookRolloutSpec,
  HookRolloutStatus,
  RolloutStageStatus,
} from "../../../../src/api/hook-policy.ts";
import { rolloutLines } from "../../../../src/cli/rollout/status-report.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { hookRollout, NOW, readyStatus, TARGET } from "../../rollouts/fixtures.ts";
import { printed } from "../printed.ts";

const VIEW = { now: NOW, colour: PLAIN, program: "kubectl hookpolicy", connection: " --context prod" };
const AGO = "2026-11-23T11:00:00Z";
const counts = { notAsked: 0, waiting: 0, running: 0, succeeded: 0, failed: 0, passed: false };
const stage = (name: string, over: Partial<RolloutStageStatus> = {}): RolloutStageStatus => ({
  name,
  members: 4,
  ...counts,
  ...over,
});

function report(spec: Partial<HookRolloutSpec>, status?: HookRolloutStatus): string {
  return printed(rolloutLines([hookRollout(spec, status)], { ...VIEW }));
}
const staged = (...stages: RolloutStageStatus[]): HookRolloutStatus =>
  readyStatus({ targets: [{ version: TARGET, stages }] });

const STAGES = [
  { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "24h" },
  { name: "rest" },
];

test("the whole status, as on call", () => {
  const status: HookRolloutStatus = {
    ...staged(
      stage("canary", { succeeded: 3, running: 1 }),
      stage("rest", { waiting: 2, notAsked: 1, failed: 1 }),
    ),
    running: [
      {
        namespace: "fleet",
        name: "a",
        uid: "uid-a",
        target: TARGET,
        stage: "canary",
        claimed: true,
        claimedAt: AGO,
        renewedAt: AGO,
        markedAt: AGO,
        attempts: 1,
      },
      {
        namespace: "fleet",
        name: "b",
        uid: "uid-b",
        claimed: true,
        claimedAt: AGO,
        renewedAt: AGO,
        attempts: 1,
      },
      {
        namespace: "fleet",
        name: "d",
        uid: "uid-d",
        claimed: true,
        claimedAt: "2026-11-23T11:59:10Z",
        renewedAt: AGO,
        attempts: 1,
      },
      {
        namespace: "fleet",
        name: "e",
        uid: "uid-e",
        claimed: true,
        claimedAt: AGO,
        renewedAt: AGO,
        attempts: 1,
        tasks: true,
      },
      {
        namespace: "fleet",
        name: "c",
        uid: "uid-c",
        claimed: false,
        claimedAt: AGO,
        renewedAt: AGO,
        markedAt: AGO,
        attempts: 0,
      },
    ],
    failed: [
      {
        namespace: "fleet",
        name: "f",
        uid: "f",
        target: TARGET,
        stage: "rest",
        reason: "Unhealthy",
        time: AGO,
        message: "is not well",
      },
    ],
    next: [{ namespace: "fleet", name: "n", target: TARGET, stage: "rest", since: AGO }],
  };
  assert.equal(
    report({ stages: STAGES, maxConcurrency: 5 }, status),
    `HookRollout upgrades (Upgrade): in force

To v1.35.1:
  STAGE    SUCCEEDED   RUNNING   WAITING   NOT ASKED   FAILED   STATE
  canary   3/4         1         0         0           0        open
  rest     0/4         0         2         1           1        waits for canary

Running (at most 5):
  CLUSTER   TARGET    STAGE    SINCE
  fleet/a   v1.35.1   canary   60m
  fleet/b                      60m     has not begun in time, so its slot is freed soon
  fleet/d                      50s     may begin, and has not yet
  fleet/e                      60m     its tasks run first
  fleet/c                      60m     began without this rollout

Failed:
  CLUSTER   TARGET    STAGE   REASON      SINCE   MESSAGE
  fleet/f   v1.35.1   rest    Unhealthy   60m     is not well

Next:
  CLUSTER   TARGET    STAGE   WAITS
  fleet/n   v1.35.1   rest    60m
`,
  );
});

describe("the heading says", () => {
  const [READY] = readyStatus().conditions ?? [];
  const halted = { ...READY!, type: "Halted", message: "2 Clusters failed" };
  const cases: readonly (readonly [
    string,
    Partial<HookRolloutSpec>,
    HookRolloutStatus | undefined,
    string,
  ])[] = [
    ["that it is in force", {}, readyStatus(), "(Upgrade): in force"],
    [
      "that it selects nothing",
      {},
      readyStatus({
        conditions: [{ ...READY!, reason: "SelectsNothing", message: "In force, but it selects no Cluster" }],
      }),
      "(Upgrade): In force, but it selects no Cluster",
    ],
    [
      "that Cluster API does not call",
      { paused: true },
      readyStatus({ conditions: [READY!, { ...READY!, type: "NotCalled", message: "No ExtensionConfig" }] }),
      "(Upgrade): No ExtensionConfig",
    ],
    ["that it audits", { mode: "Audit" }, readyStatus(), "(Upgrade, Audit): in force"],
    ["that it audits, also while it is paused", { mode: "Audit", paused: true }, readyStatus(), "in force"],
    [
      "that it is paused",
      { paused: true },
      readyStatus(),
      "paused: nothing more begins before kubectl hookpolicy rollout resume upgrades --context prod",
    ],
    ["that it is halted", {}, readyStatus({ conditions: [READY!, halted] }), "halted. 2 Clusters failed"],
    [
      "that it is halted and paused, because healthy Clusters end only the halt",
      { paused: true },
      readyStatus({ conditions: [READY!, halted] }),
      "halted. 2 Clusters failed. It is also paused: nothing more begins before kubectl hookpolicy rollout resume upgrades --context prod",
    ],
    [
      "why it is not ready",
      {},
      readyStatus({ conditions: [{ ...READY!, status: "False", message: "is wrong" }, halted] }),
      "is wrong",
    ],
    [
      "that no operator has seen it",
      {},
      undefined,
      "the operator has not seen it yet; if that stays, kubectl hookpolicy doctor --context prod",
    ],
    [
      "what is wrong with a spec that no operator has seen, as after an edit",
      { healthyWhen: [{ name: "ok", expression: "cluster.(" }] },
      readyStatus({ observedGeneration: 0 }),
      "holds every Cluster that it may select: spec.healthyWhen[0].expression: column 9: not a CEL expression: ( is not closed: write )",
    ],
  ];
  for (const [title, spec, status, words] of cases)
    test(title, () => {
      assert.ok(report(spec, status).split("\n")[0]?.endsWith(words), report(spec, status));
    });
});

describe("the state of a stage", () => {
  const stateOf = (...stages: RolloutStageStatus[]): string =>
    report({ stages: STAGES }, staged(...stages))
      .split("\n")
      .filter((line) => /^ {2}(canary|rest) /.test(line))
      .at(-1) ?? "";
  test("passed", () => assert.match(stateOf(stage("canary", { passed: true })), / passed$/));
  test("without Clusters", () => assert.match(stateOf(stage("canary", { members: 0 })), / has no Clusters$/));
  test("soaks", () =>
    assert.match(
      stateOf(stage("canary", { soakingSince: AGO })),
      / soaks for 24h, until \d{4}-\d\d-\d\dT[\d:]+Z$/,
    ));
  test("closed again, and not when its soak ended", () => {
    const closed = stage("canary", { soakingSince: AGO, closed: true, waiting: 1 });
    assert.match(stateOf(closed), / closed again$/);
    assert.match(stateOf(closed, stage("rest")), / waits for canary$/);
    const moved = stage("canary", { soakingSince: AGO, closed: true, notAsked: 4 });
    assert.match(stateOf(moved), / no Cluster asks for it$/);
  });
  test("waits for the one before", () =>
    assert.match(stateOf(stage("canary", { waiting: 1 }), stage("rest")), / waits for canary$/));
  test("open once that has passed", () =>
    assert.match(stateOf(stage("canary", { passed: true }), stage("rest", { waiting: 1 })), / open$/));
  test("of a version that no Cluster asks for any more", () => {
    const moved = stage("canary", { notAsked: 4 });
    assert.match(stateOf(moved), / no Cluster asks for it$/);
    assert.match(stateOf(moved, stage("rest", { succeeded: 4 })), / no Cluster asks for it$/);
    assert.match(stateOf(moved, stage("rest", { waiting: 1 })), / waits for canary$/);
  });
});

test("creations and deletions have numbers, and no stages", () => {
  const status = readyStatus({ targets: [{ stages: [stage("all", { running: 2, waiting: 1 })] }] });
  assert.match(report({ operation: "Create" }, status), /\n2 running, 1 waiting, 0 failed\n/);
});

test("a failure that is ignored is told from one that halts the rollout, and a failed creation halts none", () => {
  const failure = {
    namespace: "fleet",
    uid: "f",
    stage: "rest",
    reason: "Unhealthy",
    message: "is not well",
  };
  const failed = [
    { ...failure, name: "new", time: NOW.toISOString() },
    { ...failure, name: "old", time: AGO },
  ];
  const said = (spec: Partial<HookRolloutSpec>): string =>
    printed(rolloutLines([hookRollout(spec, { ...readyStatus(), failed })], VIEW));
  const resumed = said({ stages: STAGES, ignoreFailuresBefore: NOW.toISOString() });
  assert.match(resumed, /fleet\/new .*is not well$/m);
  assert.match(resumed, /fleet\/old .*is not well \(halts nothing\)$/m);
  assert.doesNotMatch(said({ operation: "Create" }), /halts nothing/);
});

test("a narrow terminal gets each row as a block", () => {
  const failure = { namespace: "fleet", name: "f", uid: "f", stage: "rest", time: AGO };
  const status: HookRolloutStatus = {
    ...staged(stage("canary", { succeeded: 3, running: 1 })),
    failed: [{ ...failure, reason: "Unhealthy", message: "is not well" }],
  };
  const rollout = hookRollout({ stages: STAGES }, status);
  assert.equal(
    printed(rolloutLines([rollout], { ...VIEW, columns: 40 })),
    `HookRollout upgrades (Upgrade): in force

To v1.35.1:
  canary
    succeeded  3/4
    running    1
    waiting    0
    not asked  0
    failed     0
    state      open

Failed:
  fleet/f
    stage    rest
    reason   Unhealthy
    since    60m
    message  is not well
`,
  );
});

test("a narrow terminal breaks no line within a command, and colours the words", () => {
  const rollout = hookRollout({ paused: true }, readyStatus());
  const lines = rolloutLines([rollout], { ...VIEW, columns: 30 });
  assert.ok(lines.includes("  kubectl hookpolicy rollout resume upgrades --context prod"), printed(lines));
  const yellow = { ...PLAIN, yellow: (text: string) => `<${text}>` };
  const [line] = rolloutLines([rollout], { ...VIEW, colour: yellow });
  assert.match(line ?? "", /: <paused:> .*<kubectl hookpolicy rollout resume upgrades --context prod>$/);
});

test("stages are a table where their states alone are wider than the terminal", () => {
  const rollout = hookRollout({ stages: STAGES }, staged(stage("canary", { soakingSince: AGO })));
  const lines = printed(rolloutLines([rollout], { ...VIEW, columns: 80 })).split("\n");
  const row = lines.find((line) => line.startsWith("  canary "));
  assert.match(row ?? "", /^ {2}canary +0\/4 +0 +0 +0 +0 +soaks for 24h, until /);
  assert.ok((row ?? "").length > 80);
});

test("an empty line is between two rollouts", () => {
  const both = [hookRollout({}, readyStatus()), hookRollout({ paused: true }, readyStatus())];
  assert.deepEqual(rolloutLines(both, { ...VIEW }).map(String)[1], "");
  test("why it was paused", () => {
    const rollout = hookRollout({ paused: true }, readyStatus());
    const annotations = { "hookpolicy.dev/pause-reason": "the network is down" };
    const paused = { ...rollout, metadata: { ...rollout.metadata, annotations } };
    assert.match(
      printed(rolloutLines([paused], { ...VIEW })),
      /: paused because: the network is down: nothing more begins before kubectl hookpolicy rollout resume upgrades --context prod$/m,
    );
  });
});
