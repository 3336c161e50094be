import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { HookRolloutSpec, HookRolloutStatus } from "../../../src/api/hook-policy.ts";
import type { ObjectMeta } from "../../../src/api/meta.ts";
import { claim, type ClaimResult } from "../../../src/rollouts/claim.ts";
import { memberOf } from "../../../src/rollouts/member.ts";
import { compileRollout } from "../../../src/rollouts/rollout.ts";
import { DEADLINE_EXCEEDED, Slots } from "../../../src/rollouts/slots.ts";
import {
  candidate,
  claimOf,
  clusterMeta,
  failureOf,
  hookRollout,
  NOW,
  readyStatus,
  rolloutOf,
  TARGET,
  stageOf,
} from "./fixtures.ts";

const A_MINUTE_AGO = "2026-11-23T11:59:00Z";
const CLAIMED = claimOf("a", { claimedAt: A_MINUTE_AGO, renewedAt: A_MINUTE_AGO });

interface Attempt {
  readonly spec?: Partial<HookRolloutSpec>;
  readonly status?: HookRolloutStatus;
  readonly clusters?: readonly ObjectMeta[];
  readonly of?: ObjectMeta;
  readonly target?: string;
}

function attempt({
  spec,
  status = readyStatus(),
  clusters = [],
  of = clusterMeta("b"),
  target = TARGET,
}: Attempt): ClaimResult {
  const rollout = rolloutOf(spec);
  const members = [...clusters, of].flatMap((each) => memberOf(rollout, { metadata: each }, undefined) ?? []);
  const slots = new Slots(rollout, status, members, NOW);
  return claim({ rollout, status, slots, now: NOW }, candidate(rollout, of, target));
}

const STAGES = [
  { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } },
  { name: "rest", clusterSelector: { matchLabels: { wave: "rest" } } },
];

function stages(passed: boolean, soakingSince?: string): HookRolloutStatus {
  const soak = soakingSince !== undefined && { soakingSince };
  const canary = stageOf("canary", { succeeded: 1, passed, ...soak });
  return readyStatus({
    targets: [{ version: TARGET, stages: [canary, stageOf("rest", { succeeded: 1 })] }],
  });
}

describe("a slot", () => {
  test("is taken in the status that was read", () => {
    const result = attempt({});
    assert.ok(result.begins);
    assert.deepEqual(result.status?.running, [
      {
        namespace: "fleet",
        name: "b",
        uid: "uid-b",
        target: TARGET,
        stage: "all",
        claimed: true,
        claimedAt: "2026-11-23T12:00:00Z",
        renewedAt: "2026-11-23T12:00:00Z",
        attempts: 1,
      },
    ]);
  });

  test("is a turn of the namespace, and its renewal is none", () => {
    const turns = ["fleet", "other"];
    const taken = attempt({ status: readyStatus({ turns }) });
    assert.deepEqual(taken.begins && taken.status?.turns, ["other", "fleet"]);
    const running = [{ ...CLAIMED, name: "b", uid: "uid-b" }];
    const renewed = attempt({ status: readyStatus({ turns, running }) });
    assert.deepEqual(renewed.begins && renewed.status?.turns, turns);
  });

  test("is limited for each Namespace where the label is the Namespace's", () => {
    const key = "kubernetes.io/metadata.name";
    const spread = [{ labelKey: key, from: "Namespace" as const, maxConcurrency: 1 }];
    const spec = { maxConcurrency: 5, spread };
    const running = clusterMeta("a", {}, true);
    const own = clusterMeta("b", { [key]: "another, as its tenant says" });
    const refused = attempt({ spec, clusters: [running], of: own });
    assert.equal(refused.begins || refused.reason, "NoFreeSlot");
    const other = { ...own, namespace: "other" };
    assert.ok(attempt({ spec, clusters: [running], of: other }).begins);
  });

  const refused: readonly (readonly [string, Attempt, string])[] = [
    ["a claim of another Cluster", { status: readyStatus({ running: [CLAIMED] }) }, "NoFreeSlot"],
    [
      "the mark of another Cluster, without a claim",
      { clusters: [clusterMeta("a", {}, true)] },
      "NoFreeSlot",
    ],
    ["maxConcurrency 0", { spec: { maxConcurrency: 0 } }, "NoFreeSlot"],
    [
      "a claim of a Cluster that is no member any more",
      { status: readyStatus({ running: [CLAIMED] }), clusters: [] },
      "NoFreeSlot",
    ],
    ["a pause", { spec: { paused: true } }, "Paused"],
    ["a spec that is not valid", { spec: { maxConcurrency: -1 } }, "InvalidSpec"],
    ["a status of another generation", { status: readyStatus({ observedGeneration: 0 }) }, "NotReady"],
    ["no status", { status: {} }, "NotReady"],
    [
      "an earlier stage that has not passed",
      { spec: { stages: STAGES }, status: stages(false), of: clusterMeta("b", { wave: "rest" }) },
      "StageClosed",
    ],
    [
      "an earlier stage of which nothing is known",
      { spec: { stages: STAGES }, of: clusterMeta("b", { wave: "rest" }) },
      "StageClosed",
    ],
    [
      "an earlier stage that passed for another version",
      {
        spec: { stages: STAGES },
        status: stages(true, "2026-11-23T10:00:00Z"),
        of: clusterMeta("b", { wave: "rest" }),
        target: "v1.36.0",
      },
      "StageClosed",
    ],
    [
      "a soak that is longer now",
      {
        spec: { stages: [{ ...STAGES[0], name: "canary", minSuccessTime: "24h" }, ...STAGES.slice(1)] },
        status: stages(true, "2026-11-23T10:00:00Z"),
        of: clusterMeta("b", { wave: "rest" }),
      },
      "StageClosed",
    ],
    ["no stage", { spec: { stages: STAGES }, of: clusterMeta("b") }, "NoStage"],
    [
      "a claim of its own that is older than a minute",
      {
        status: readyStatus({ running: [{ ...CLAIMED, claimedAt: "2026-11-23T11:58:59Z" }] }),
        of: clusterMeta("a"),
      },
      "ClaimExpires",
    ],
    [
      "one Cluster too many of a region",
      {
        spec: { maxConcurrency: 5, spread: [{ labelKey: "region", maxConcurrency: 1 }] },
        clusters: [clusterMeta("a", { region: "x" }, true)],
        of: clusterMeta("b", { region: "x" }),
      },
      "NoFreeSlot",
    ],
    [
      "one Cluster too many without the label",
      {
        spec: { maxConcurrency: 5, spread: [{ labelKey: "region", maxConcurrency: 1 }] },
        clusters: [clusterMeta("a", {}, true)],
      },
      "NoFreeSlot",
    ],
  ];
  for (const [what, how, reason] of refused) {
    test(`is refused by ${what}`, () => {
      const result = attempt(how);
      assert.ok(!result.begins);
      assert.equal(result.reason, reason);
    });
  }

  const granted: readonly (readonly [string, Attempt])[] = [
    ["its own mark is there", { of: clusterMeta("b", {}, true), spec: { paused: true } }],
    ["the rollout only audits", { spec: { mode: "Audit", maxConcurrency: 0 } }],
    [
      "the earlier stage has passed",
      {
        spec: { stages: STAGES },
        status: stages(true, "2026-11-23T10:00:00Z"),
        of: clusterMeta("b", { wave: "rest" }),
      },
    ],
    [
      "the deadline of the other has passed",
      {
        status: readyStatus({ running: [{ ...CLAIMED, claimedAt: "2026-11-23T10:59:59Z" }] }),
        clusters: [clusterMeta("a", {}, true)],
      },
    ],
    [
      "the other has failed by its deadline, and still shows its mark",
      {
        status: readyStatus({
          failed: [
            failureOf("a", { reason: DEADLINE_EXCEEDED, time: "2026-11-23T11:00:00Z", stage: "other" }),
          ],
        }),
        clusters: [clusterMeta("a", {}, true)],
      },
    ],
    [
      "another region is full",
      {
        spec: { maxConcurrency: 5, spread: [{ labelKey: "region", maxConcurrency: 1 }] },
        clusters: [clusterMeta("a", { region: "x" }, true)],
        of: clusterMeta("b", { region: "y" }),
      },
    ],
  ];
  for (const [what, how] of granted) {
    test(`is there where ${what}`, () => {
      assert.equal(attempt(how).begins, true);
    });
  }

  test("is renewed for as long as Cluster API may be silent, where that is longer", () => {
    const status = readyStatus({ running: [{ ...CLAIMED, claimedAt: "2026-11-23T11:49:50Z" }] });
    const late = { status, of: clusterMeta("a") };
    assert.equal(attempt({ ...late, spec: { retryAfterSeconds: 300 } }).begins, true);
    assert.equal(attempt({ ...late, spec: { retryAfterSeconds: 299 } }).begins, false);
  });

  test("is renewed for the same target, and replaced for another one", () => {
    const status = readyStatus({ running: [CLAIMED] });
    const again = attempt({ status, of: clusterMeta("a") });
    assert.ok(again.begins);
    assert.deepEqual(
      again.status?.running?.map(({ attempts, claimedAt }) => [attempts, claimedAt]),
      [[2, CLAIMED.claimedAt]],
    );
    const other = attempt({ status, of: clusterMeta("a"), target: "v1.36.0" });
    assert.ok(other.begins);
    assert.deepEqual(
      other.status?.running?.map(({ attempts, target }) => [attempts, target]),
      [[1, "v1.36.0"]],
    );
  });
});

test("a claim for another target that is refused leaves the slot that the Cluster has", () => {
  const rollout = rolloutOf({
    stages: [
      { name: "full", clusterSelector: { matchLabels: { wave: "full" } }, maxConcurrency: 0 },
      { name: "rest" },
    ],
  });
  const status = readyStatus({
    running: [{ ...CLAIMED, stage: "rest" }],
    targets: [{ version: TARGET, stages: [] }],
  });
  const passed = stageOf("full", { succeeded: 1, passed: true, soakingSince: NOW.toISOString() });
  const targets = [{ version: TARGET, stages: [passed] }];
  const metadata = [clusterMeta("a", { wave: "full" }), clusterMeta("b")];
  const members = metadata.flatMap((each) => memberOf(rollout, { metadata: each }, undefined) ?? []);
  const round = {
    rollout,
    status: { ...status, targets },
    slots: new Slots(rollout, status, members, NOW),
    now: NOW,
  };
  const [a, b] = metadata;
  assert.ok(a && b);
  assert.deepEqual(claim(round, candidate(rollout, a, "v1.36.0")), {
    begins: false,
    reason: "NoFreeSlot",
    stage: "full",
  });
  assert.deepEqual(claim(round, candidate(rollout, b)), {
    begins: false,
    reason: "NoFreeSlot",
    stage: "rest",
  });
});

test("claims one after the other never exceed total, stage and spread", () => {
  const label = fc.constantFrom("x", "y", undefined);
  const clusters = fc.array(
    fc.record({ wave: fc.constantFrom("canary", "rest"), region: label, marked: fc.boolean() }),
    {
      maxLength: 12,
    },
  );
  const limits = fc.record({
    total: fc.integer({ min: 0, max: 6 }),
    stage: fc.integer({ min: 0, max: 4 }),
    region: fc.integer({ min: 0, max: 4 }),
  });
  fc.assert(
    fc.property(clusters, limits, (all, { total, stage, region }) => {
      const spec: Partial<HookRolloutSpec> = {
        maxConcurrency: total,
        spread: [{ labelKey: "region", maxConcurrency: region }],
        stages: [{ name: "one", maxConcurrency: stage }],
      };
      const rollout = compileRollout(hookRollout(spec));
      const metas = all.map((each, index) =>
        clusterMeta(
          `c${index}`,
          { wave: each.wave, ...(each.region !== undefined && { region: each.region }) },
          each.marked,
        ),
      );
      const members = metas.flatMap((each) => memberOf(rollout, { metadata: each }, undefined) ?? []);
      let status: HookRolloutStatus = readyStatus();
      for (const meta of metas) {
        const slots = new Slots(rollout, status, members, NOW);
        const result = claim({ rollout, status, slots, now: NOW }, candidate(rollout, meta));
        if (result.begins) status = result.status ?? status;
      }
      const marked = metas.filter((_, index) => all[index]?.marked);
      const taken = metas.filter(({ uid }) => status.running?.some((each) => each.uid === uid));
      const running = [...marked, ...taken];
      assert.ok(taken.length === 0 || running.length <= Math.min(total, stage));
      for (const { labels } of taken)
        assert.ok(running.filter((each) => each.labels?.["region"] === labels?.["region"]).length <= region);
    }),
  );
});
