/** HookRollouts in suites: slots, stages, failures and turns, as the operator's own code says under the suite's clock. */

import assert from "node:assert/strict";
import test from "node:test";
import type { StepResult } from "../../../../src/cli/suite/result.ts";
import { rawCluster, rawOverride, rawPolicy, rawRollout } from "../raw.ts";
import { problemOf, run } from "./suites.ts";

const V36 = "v1.36.0";

const cluster = (name: string, wave = "production", over: object = {}): object => ({
  ...rawCluster({ name, labels: { wave } }),
  ...over,
});

const STAGES = [
  { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "24h" },
  { name: "production" },
];

const rollout = (spec: object = {}, name = "upgrades"): object =>
  rawRollout(name, { maxConcurrency: 1, ...spec });

/** A policy of one rule about upgrades. */
const evening = (rule: object): object =>
  rawPolicy("evening", { rules: [{ name: "evening", hooks: ["BeforeClusterUpgrade"], ...rule }] });

const upgrade = (name: string): object => ({
  hook: "BeforeClusterUpgrade",
  cluster: `team-a/${name}`,
  toKubernetesVersion: V36,
});
const HELD = { verdict: "Blocked", rollout: "upgrades" };
const GO = { verdict: "Allowed" };

function suite(spec: object): string {
  return JSON.stringify({
    apiVersion: "cli.hookpolicy.dev/v1alpha1",
    kind: "HookPolicyTest",
    metadata: { name: "suite" },
    spec: {
      at: "2026-11-21T12:00:00Z",
      rollouts: [rollout()],
      clusters: [cluster("a"), cluster("b"), cluster("c")],
      ...spec,
    },
  });
}

/** What differs from the expectations, by step. */
async function differences(spec: object): Promise<readonly string[]> {
  const { steps, problems, status } = await run(suite(spec));
  const wrong = steps.flatMap(({ name, compared, problem }: StepResult) => [
    ...(problem === undefined ? [] : [`${name}: ${problem.message}`]),
    ...compared
      .filter(({ same }) => !same)
      .map(({ field, expected, actual }) => `${name}: ${field} ${expected}, found ${actual}`),
  ]);
  const all = [...problems.map(({ message }) => message), ...wrong];
  return status === "passed" ? all : [...all, status];
}

const stories: Readonly<Record<string, object>> = {
  "a Cluster without a free slot waits, and begins when another has ended": {
    steps: [
      { call: upgrade("a"), expect: GO },
      {
        call: upgrade("b"),
        expect: {
          ...HELD,
          stage: "all",
          reason: "NoFreeSlot",
          retryAfterSeconds: 10,
          message: "^HookRollout upgrades: waits for a free slot",
        },
        rollouts: [{ name: "upgrades", target: V36, running: ["team-a/a"], next: ["team-a/b"], failed: [] }],
      },
      {
        advance: "40m",
        completed: ["team-a/a"],
        rollouts: [{ name: "upgrades", running: ["team-a/b"], next: [] }],
      },
      { call: upgrade("b"), expect: GO },
    ],
  },
  "those who were asked about first begin first": {
    steps: [
      { call: upgrade("c"), expect: GO },
      { call: upgrade("b"), expect: HELD },
      { advance: "1m", call: upgrade("a"), expect: HELD },
      {
        completed: ["team-a/c"],
        rollouts: [{ name: "upgrades", running: ["team-a/b"], next: ["team-a/a"] }],
      },
    ],
  },
  "production waits for the canaries, and for their soak": {
    rollouts: [rollout({ stages: STAGES })],
    clusters: [cluster("a", "canary"), cluster("b")],
    steps: [
      { call: upgrade("b"), expect: { ...HELD, reason: "StageClosed", stage: "canary" } },
      { call: upgrade("a"), expect: GO, rollouts: [{ name: "upgrades", stage: "canary" }] },
      { advance: "40m", completed: ["team-a/a"] },
      { advance: "23h59m", rollouts: [{ name: "upgrades", stage: "canary", running: [] }] },
      {
        advance: "1m",
        rollouts: [{ name: "upgrades", stage: "production", running: ["team-a/b"] }],
        events: [
          { reason: "StagePassed", about: "HookRollout upgrades", message: "canary" },
          { reason: "StageOpened", message: "production" },
        ],
      },
    ],
  },
  "an unhealthy Cluster halts the rollout until it is healthy": {
    clusters: [cluster("a"), cluster("b")],
    steps: [
      { call: upgrade("a"), expect: GO },
      { call: upgrade("b"), expect: HELD },
      {
        failed: ["team-a/a"],
        rollouts: [{ name: "upgrades", halted: true, failed: ["team-a/a"], running: [] }],
        events: [{ reason: "Halted" }],
      },
      { call: upgrade("b"), expect: { ...HELD, reason: "Halted" } },
      {
        completed: ["team-a/a"],
        rollouts: [{ name: "upgrades", halted: false, running: ["team-a/b"] }],
        events: [{ reason: "Resumed" }],
      },
    ],
  },
  "an upgrade that takes too long has failed": {
    steps: [
      { call: upgrade("a"), expect: GO },
      { advance: "5h59m", rollouts: [{ name: "upgrades", failed: [], halted: false }] },
      { advance: "1m", rollouts: [{ name: "upgrades", failed: ["team-a/a"], halted: true, running: [] }] },
    ],
  },
  "a pause holds until it ends": {
    rollouts: [rollout({ paused: true })],
    steps: [
      { call: upgrade("a"), expect: { ...HELD, reason: "Paused" } },
      {
        patch: [{ kind: "HookRollout", metadata: { name: "upgrades" }, spec: { paused: false } }],
        rollouts: [{ name: "upgrades", running: ["team-a/a"] }],
      },
    ],
  },
  "a Cluster that a policy holds takes no slot, and begins when its window opens": {
    policies: [
      evening({
        matchConditions: [{ name: "a", expression: "cluster.metadata.name == 'a'" }],
        until: [
          {
            name: "open",
            window: { timeZone: "UTC", allow: [{ schedule: "0 18 * * *", duration: "2h" }] },
          },
        ],
      }),
    ],
    steps: [
      { call: upgrade("a"), expect: { verdict: "Blocked", policy: "evening", gate: "open" } },
      { call: upgrade("b"), expect: GO },
      { advance: "1h", completed: ["team-a/b"], rollouts: [{ name: "upgrades", running: [] }] },
      { at: "2026-11-21T18:30:00Z", rollouts: [{ name: "upgrades", running: ["team-a/a"] }] },
      // It began at 18:00, and so has until midnight.
      { at: "2026-11-21T23:59:00Z", rollouts: [{ name: "upgrades", failed: [] }] },
      { at: "2026-11-22T00:00:00Z", rollouts: [{ name: "upgrades", failed: ["team-a/a"] }] },
    ],
  },
  "a Cluster begins when an expression with now lets it, also if a deadline would only later": {
    policies: [
      evening({
        until: [{ name: "late", expression: "now >= timestamp('2026-11-21T18:00:00Z')" }],
        deadline: { after: "24h", onExpiry: "Allow" },
      }),
    ],
    steps: [
      { call: upgrade("a"), expect: { verdict: "Blocked", policy: "evening", gate: "late" } },
      { at: "2026-11-21T18:30:00Z", rollouts: [{ name: "upgrades", running: ["team-a/a"] }] },
      // It began at 18:00, and so has until midnight.
      { at: "2026-11-22T00:00:00Z", rollouts: [{ name: "upgrades", failed: ["team-a/a"] }] },
    ],
  },
  "an override that names the rollout releases without a slot": {
    overrides: [
      rawOverride("now", {
        clusterRef: { namespace: "team-a", name: "b" },
        hooks: ["BeforeClusterUpgrade"],
        policyRefs: [{ kind: "HookRollout", name: "upgrades" }],
        expiresAt: "2026-11-21T18:00:00Z",
      }),
    ],
    steps: [
      { call: upgrade("a"), expect: GO },
      { call: upgrade("b"), expect: GO, rollouts: [{ name: "upgrades", running: ["team-a/a", "team-a/b"] }] },
    ],
  },
  "Audit holds nothing and records all": {
    rollouts: [rollout({ mode: "Audit" })],
    steps: [
      { call: upgrade("a"), expect: GO },
      { call: upgrade("b"), expect: GO, rollouts: [{ name: "upgrades", running: ["team-a/a", "team-a/b"] }] },
    ],
  },
  "creations have a budget": {
    rollouts: [rollout({ operation: "Create" })],
    steps: [
      { call: { hook: "BeforeClusterCreate", cluster: "team-a/a" }, expect: GO },
      {
        call: { hook: "BeforeClusterCreate", cluster: "team-a/b" },
        expect: { ...HELD, reason: "NoFreeSlot" },
      },
      { completed: ["team-a/a"], rollouts: [{ name: "upgrades", running: ["team-a/b"] }] },
    ],
  },
  "deletions have a budget": {
    rollouts: [rollout({ operation: "Delete" })],
    steps: [
      { call: { hook: "BeforeClusterDelete", cluster: "team-a/a" }, expect: GO },
      { call: { hook: "BeforeClusterDelete", cluster: "team-a/b" }, expect: HELD },
      { completed: ["team-a/a"], rollouts: [{ name: "upgrades", running: ["team-a/b"] }] },
    ],
  },
  "two rollouts both have to agree, and none keeps a slot that the other refuses": {
    rollouts: [rollout({ maxConcurrency: 2 }, "a-wide"), rollout({ paused: true }, "b-paused")],
    steps: [
      {
        call: upgrade("a"),
        expect: { verdict: "Blocked", rollout: "b-paused", reason: "Paused" },
        rollouts: [{ name: "a-wide", running: [] }],
      },
    ],
  },
  "an earlier call has its place in the queue": {
    asked: [
      { ...upgrade("b"), firstAsked: "2026-11-21T10:00:00Z" },
      { ...upgrade("a"), firstAsked: "2026-11-21T11:00:00Z" },
    ],
    steps: [{ advance: "1s", rollouts: [{ name: "upgrades", running: ["team-a/b"], next: ["team-a/a"] }] }],
  },
  "a Cluster that has been upgraded is upgraded again": {
    steps: [
      { call: upgrade("a"), expect: GO },
      { completed: ["team-a/a"] },
      {
        advance: "1h",
        call: { ...upgrade("a"), toKubernetesVersion: "v1.37.0" },
        expect: GO,
        rollouts: [{ name: "upgrades", target: "v1.37.0", running: ["team-a/a"] }],
      },
    ],
  },
  "metrics tell what statuses say": {
    rollouts: [rollout({ stages: STAGES })],
    steps: [
      {
        call: upgrade("a"),
        metrics: [
          {
            name: "hookpolicy_rollout_clusters",
            labels: { rollout: "upgrades", state: "waiting" },
            value: 1,
          },
          { name: "hookpolicy_rollout_halted", value: 0 },
        ],
      },
    ],
  },
  "healthyWhen decides what is healthy": {
    rollouts: [
      rollout({
        healthyWhen: [{ name: "ok", expression: "!('example.com/bad' in cluster.metadata.labels)" }],
      }),
    ],
    steps: [
      { call: upgrade("a"), expect: GO },
      {
        patch: [
          {
            kind: "Cluster",
            metadata: { namespace: "team-a", name: "a", labels: { "example.com/bad": "yes" } },
          },
        ],
        failed: ["team-a/a"],
        rollouts: [{ name: "upgrades", halted: true }],
      },
    ],
  },
};

for (const [name, spec] of Object.entries(stories))
  test(name, async () => assert.deepEqual(await differences(spec), []));

test("what a rollout says besides is shown where a step fails", async () => {
  const steps = [{ call: upgrade("a"), expect: { ...HELD, reason: "Paused" } }];
  assert.deepEqual(await differences({ steps }), [
    "BeforeClusterUpgrade team-a/a: verdict Blocked, found Allowed",
    "BeforeClusterUpgrade team-a/a: reason Paused, found -",
    "BeforeClusterUpgrade team-a/a: rollout upgrades, found -",
    "failed",
  ]);
});

const first = { call: upgrade("a"), expect: GO };
const errors: Readonly<Record<string, readonly [spec: object, message: RegExp]>> = {
  "neither policies nor rollouts": [
    { rollouts: undefined, steps: [first] },
    /expected policies, rollouts or both/,
  ],
  "a misspelt rollout": [
    { steps: [{ ...first, rollouts: [{ name: "upgrade", halted: true }] }] },
    /rollouts\[0\]\.rollout: there is no HookRollout "upgrade"; did you mean "upgrades"\?/,
  ],
  "a misspelt stage": [
    { rollouts: [rollout({ stages: STAGES })], steps: [{ ...first, expect: { stage: "canari" } }] },
    /expect\.stage: no HookRollout has a stage "canari"; did you mean "canary"\?/,
  ],
  "a misspelt stage of a metric": [
    {
      rollouts: [rollout({ stages: STAGES })],
      steps: [
        {
          ...first,
          metrics: [{ name: "hookpolicy_rollout_clusters", labels: { stage: "canari" }, value: 0 }],
        },
      ],
    },
    /metrics\[0\]\.stage: no HookRollout has a stage "canari"; did you mean "canary"\?/,
  ],
  "a misspelt Cluster": [
    { steps: [{ ...first, rollouts: [{ name: "upgrades", running: ["team-a/aa"] }] }] },
    /rollouts\[0\]\.running: there is no Cluster team-a\/aa/,
  ],
  "an end of what has not begun": [
    { steps: [{ completed: ["team-a/a"], rollouts: [{ name: "upgrades", running: [] }] }] },
    /completed: team-a\/a shows no operation that runs/,
  ],
  "an end that healthyWhen does not confirm": [
    {
      rollouts: [
        rollout({ healthyWhen: [{ name: "no", expression: "false && cluster.metadata.name == ''" }] }),
      ],
      steps: [first, { completed: ["team-a/a"] }],
    },
    /completed: team-a\/a is Unhealthy by healthyWhen of HookRollout upgrades, which has to be Healthy/,
  ],
  "a creation that ends unhealthy": [
    {
      rollouts: [rollout({ operation: "Create" })],
      steps: [
        { call: { hook: "BeforeClusterCreate", cluster: "team-a/a" }, expect: GO },
        { failed: ["team-a/a"] },
      ],
    },
    /failed: only an upgrade ends unhealthy/,
  ],
  "an upgrade to the version that a Cluster has": [
    { steps: [first, { completed: ["team-a/a"] }, first] },
    /call\.hook: Cluster API does not call BeforeClusterUpgrade: team-a\/a shows/,
  ],
  "a timeline of slots": [
    {
      steps: [
        { timeline: { ...upgrade("a"), to: "2026-11-22T12:00:00Z", expect: [{ verdict: "Allowed" }] } },
      ],
    },
    /timeline\.cluster: a HookRollout speaks about BeforeClusterUpgrade of team-a\/a/,
  ],
  "an invalid rollout": [
    { rollouts: [rollout({ progressDeadline: "soon" })], steps: [first] },
    /HookRollout upgrades is not valid: /,
  ],
};

for (const [name, [spec, message]] of Object.entries(errors))
  test(`${name} is an error`, async () => assert.match(await problemOf(suite(spec)), message));
