/** What `hookpolicy explain` tells of HookRollouts, from files that have their status. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { spansAhead } from "../../../../src/cli/explain/spans-ahead.ts";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { ALL_HOOKS } from "../../builders.ts";
import { checked, yaml } from "../program.ts";
import { rawCluster, rawNamespace, rawOverride, rawRollout } from "../raw.ts";
import { onFiles } from "../resident.ts";

const NOW = "2026-11-21T12:00:00Z";
const VERSION = "v1.35.1";

const namespace = rawNamespace();
/** Cluster API waits for BeforeClusterUpgrade. */
const cluster = {
  ...rawCluster({ uid: "5d2c", generation: 2 }),
  spec: {
    topology: { classRef: { name: "lab" }, version: VERSION },
    infrastructureRef: { name: "prod-1" },
    controlPlaneRef: { name: "prod-1" },
  },
  status: {
    conditions: [
      {
        type: "TopologyReconciled",
        status: "False",
        reason: "LifecycleHookBlocking",
        observedGeneration: 2,
        message: "Following hooks are blocking upgrade: BeforeClusterUpgrade: held",
      },
    ],
  },
};
const ready = { type: "Ready", status: "True", reason: "Loaded", message: "", lastTransitionTime: NOW };
const counts = { notAsked: 0, waiting: 1, running: 0, succeeded: 0, failed: 0, passed: false };
const all = [{ version: VERSION, stages: [{ name: "all", members: 4, ...counts }] }];
const claim = (name: string, uid = name): object => ({
  namespace: "team-b",
  name,
  uid,
  target: VERSION,
  stage: "all",
  claimed: true,
  claimedAt: "2026-11-21T11:50:00Z",
  renewedAt: "2026-11-21T11:50:00Z",
  attempts: 1,
});
const next = (name: string, of = "team-a"): object => ({
  namespace: of,
  name,
  target: VERSION,
  since: "2026-11-21T11:00:00Z",
});

const rollout = (spec: object = {}, status: object = {}, annotations: object = {}): object => ({
  ...rawRollout(
    { name: "upgrades", uid: "r", generation: 1, annotations },
    { progressDeadline: "1h", ...spec },
  ),
  status: { observedGeneration: 1, conditions: [ready], targets: all, ...status },
});

async function explained(
  t: test.TestContext,
  objects: readonly object[],
  ...args: readonly string[]
): Promise<string> {
  const isGiven = objects.some((object) => "kind" in object && object.kind === "Cluster");
  const fleet = [namespace, ...(isGiven ? [] : [cluster]), ...objects];
  const at = args.includes("--at") ? [] : ["--at", NOW];
  const command = ["explain", "team-a/prod-1", "-f", "fleet.yaml", ...at, ...args];
  const { code, stdout, stderr } = await onFiles(t, { "fleet.yaml": yaml(...fleet) }, command);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  return stdout;
}

test("a Cluster that only a rollout holds is told, with the queue and what uses the slots", async (t) => {
  const stdout = await explained(t, [
    rollout({}, { running: [claim("other")], next: [next("first"), next("prod-1")] }),
  ]);
  assert.equal(
    stdout,
    `Blocked: BeforeClusterUpgrade (${VERSION}) of Cluster team-a/prod-1, asked since 2026-11-21T11:00:00Z, at ${NOW}
  because   HookRollout upgrades: waits for a free slot (hookpolicy rollout status upgrades)
  released  when a slot is free for it, and it is its turn; Cluster API asks again after 10 s
  if it cannot wait: hookpolicy override team-a/prod-1 --hook BeforeClusterUpgrade --policy HookRollout/upgrades --for 1h --reason 'why'

There is no policy that could be about the Cluster.
HookRollout upgrades: Blocked (NoFreeSlot)
   because  all slots (1) are in use, by team-b/other
   because  it is number 2 of the queue
`,
  );
});

test("shows the reason of a pause next to the hold", async (t) => {
  const stdout = await explained(t, [
    rollout({ paused: true }, {}, { "hookpolicy.dev/pause-reason": "INC-7, see the channel" }),
  ]);
  assert.match(
    stdout,
    /\n {2}because +HookRollout upgrades: is paused .*\n +it was paused because: INC-7, see the channel\n {2}released /,
  );
});

test("since when a rollout holds the Cluster is in its status, or is the time of the Cluster's condition", async (t) => {
  const row = { namespace: "team-a", name: "prod-1", uid: "5d2c", target: VERSION, stage: "all" };
  const held = [{ ...row, reason: "Paused", message: "", since: "2026-11-20T11:00:00Z" }];
  assert.match(
    await explained(t, [rollout({ paused: true }, { held })]),
    /^Blocked: .*, asked since 2026-11-20T11:00:00Z/,
  );
  const [condition] = cluster.status.conditions;
  const conditions = [{ ...condition, lastTransitionTime: "2026-11-20T10:00:00Z" }];
  const shown = { ...cluster, status: { conditions } };
  assert.match(
    await explained(t, [shown, rollout({ paused: true })]),
    /^Blocked: .*, asked since 2026-11-20T10:00:00Z/,
  );
});

test("the verdicts ahead have what a rollout holds, until a window of its stage opens", () => {
  const allow = [{ from: "2026-11-22T12:00:00Z", to: "2026-11-23T12:00:00Z" }];
  const until = [{ name: "later", window: { allow } }];
  const stages = [{ name: "all", until }];
  assert.deepEqual(verdictsAhead(rollout({ stages })), [
    ["Blocked", "2026-11-21T12:00:00.000Z"],
    ["Allowed", "2026-11-22T12:00:00.000Z"],
    ["Blocked", "2026-11-23T12:00:00.000Z"],
  ]);
});

/** Each verdict about the Cluster under the rollout, and from when on, for three days. */
function verdictsAhead(object: object): unknown {
  const fleet = new Fleet([namespace, cluster, object] as RawObject[], {
    served: ALL_HOOKS,
    maxOverrideMs: 0,
    now: new Date(NOW),
  });
  const found = fleet.cluster("team-a", "prod-1");
  assert.ok(found);
  const options = { cluster: found, now: new Date(NOW), unread: [], live: true };
  const spans = spansAhead(fleet, options, new Date("2026-11-24T12:00:00Z"));
  return spans.map(({ verdict, from }) => [verdict, from.toISOString()]);
}

describe("a stage that soaks", () => {
  const canary = {
    name: "canary",
    clusterSelector: { matchLabels: { wave: "canary" } },
    minSuccessTime: "24h",
  };
  const soaking = { name: "canary", members: 1, ...counts, succeeded: 1, soakingSince: NOW };
  const rest = { name: "rest", members: 4, ...counts };
  const object = rollout(
    { stages: [canary, { name: "rest" }] },
    { targets: [{ version: VERSION, stages: [soaking, rest] }], next: [next("prod-1")] },
  );

  test("has passed at an instant after the end of its soak", async (t) => {
    const before = await explained(t, [object], "--at", "2026-11-22T11:59:59Z");
    assert.match(before, /^Blocked: [^]*waits for stage canary, which soaks until 2026-11-22T12:00:00Z/);
    const after = await explained(t, [object], "--at", "2026-11-22T12:00:00Z");
    assert.match(after, /^Allowed: [^]*HookRollout upgrades: Allowed \(SlotFree\)/);
  });

  test("holds in the verdicts ahead until then", () => {
    assert.deepEqual(verdictsAhead(object), [
      ["Blocked", "2026-11-21T12:00:00.000Z"],
      ["Allowed", "2026-11-22T12:00:00.000Z"],
    ]);
  });
});

describe("a rollout", () => {
  const stages = [
    { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } },
    { name: "rest", maxConcurrency: 1 },
  ];
  const canary = { name: "canary", members: 3, ...counts, succeeded: 1, running: 1, notAsked: 1 };
  const rest = { name: "rest", members: 4, ...counts };
  const staged = (row: object): object => ({ targets: [{ version: VERSION, stages: [row, rest] }] });
  const passed = { ...canary, passed: true, soakingSince: "2026-11-21T10:00:00Z" };
  const failed = [
    { namespace: "team-b", name: "ill", uid: "ill", stage: "all", reason: "Unhealthy", time: NOW },
  ];
  const cases: readonly (readonly [string, object, RegExp])[] = [
    [
      "that is paused says why",
      rollout({ paused: true }, {}, { "hookpolicy.dev/pause-reason": "INC-7" }),
      /Blocked \(Paused\)\n +because +it was paused because: INC-7/,
    ],
    ["that is paused without a reason", rollout({ paused: true }), /Blocked \(Paused\)\n$/],
    [
      "that is halted names what failed",
      rollout({}, { failed }),
      /Blocked \(Halted\)\n +because +team-b\/ill failed at .* \(Unhealthy\)/,
    ],
    ["that has no status holds", rollout({}, { conditions: [], targets: [] }), /Blocked \(NotReady\)/],
    [
      "that is not ready says why",
      rollout({}, { conditions: [{ ...ready, status: "False", message: "the status was lost" }] }),
      /because +the status was lost/,
    ],
    [
      "with an invalid spec says what is wrong",
      rollout({ progressDeadline: "soon" }),
      /Blocked \(InvalidSpec\)\n +because +spec\.progressDeadline/,
    ],
    [
      "whose earlier stage has not passed counts it",
      rollout({ stages }, staged(canary)),
      /stage rest: Blocked \(StageClosed\)\n +because +stage canary to v1\.35\.1: 1 of 3 succeeded, 1 running, 0 failed, 1 not asked/,
    ],
    [
      "whose earlier stage waits for Clusters names them",
      rollout(
        { stages },
        staged({ ...canary, waitsFor: [{ namespace: "team-b", name: "c3", reason: "NotAsked" }] }),
      ),
      /because +stage canary waits for team-b\/c3 \(not asked for this version\)/,
    ],
    [
      "that had passed says that it does not soak again",
      rollout(
        { stages: [{ ...stages[0], minSuccessTime: "1h" }, stages[1]] },
        staged({ ...canary, soakingSince: "2026-11-21T10:00:00Z", closed: true }),
      ),
      /: waits for stage canary \(hook[^]* stage canary had passed, and does not soak again\n/,
    ],
    [
      "that soaks says since when",
      rollout(
        { stages: [{ ...stages[0], minSuccessTime: "24h" }, stages[1]] },
        staged({ ...canary, soakingSince: NOW }),
      ),
      /which soaks until 2026-11-2\dT12:00:00Z[^]* stage canary soaks since 2026-11-21T12:00:00Z\n/,
    ],
    [
      "whose status does not know the target yet",
      rollout({ stages }, { targets: [] }),
      /no Cluster is asked for v[0-9.]+ yet, so stage canary has not begun for it/,
    ],
    [
      "whose stage is full",
      rollout(
        { maxConcurrency: 5, stages },
        { ...staged(passed), running: [{ ...claim("x"), stage: "rest" }] },
      ),
      /stage rest: Blocked \(NoFreeSlot\)\n +because +all slots of stage rest \(1\) are in use, by team-b\/x/,
    ],
    ["without a stage for the Cluster", rollout({ stages: [stages[0]] }), /Blocked \(NoStage\)/],
    [
      "with a gate",
      rollout({ stages: [{ name: "only", until: [{ name: "ok", annotation: { key: "example.com/ok" } }] }] }),
      /because +HookRollout upgrades, stage only: gate ok waits for annotation example\.com\/ok/,
    ],
    ["that begins nothing", rollout({ maxConcurrency: 0 }), /maxConcurrency is 0, so nothing begins/],
    [
      "with others before the Cluster",
      rollout({}, { next: [next("first"), next("prod-1")] }),
      /Blocked \(NotItsTurn\)\n +because +1 free, and it is number 2 of the queue/,
    ],
    [
      "whose queue does not name the Cluster",
      rollout({}, { next: [next("first")] }),
      /Blocked \(NotItsTurn\)\n +because +1 free, and it is not among the first of the queue/,
    ],
    [
      "with a spread says that it is one more limit",
      rollout({ spread: [{ labelKey: "region", maxConcurrency: 1 }] }, { next: [next("prod-1")] }),
      /Blocked \(NotItsTurn\)\n.*\n +because +only so many Clusters with the same value of region/,
    ],
    [
      "with a free slot and no one before it",
      rollout({}, { next: [next("prod-1")] }),
      /^Allowed: [^]*HookRollout upgrades: Allowed \(SlotFree\)/,
    ],
    [
      "that has given it a slot",
      rollout({}, { running: [{ ...claim("prod-1", "5d2c"), claimedAt: "2026-11-21T11:59:10Z" }] }),
      /^Allowed: [^]*Allowed \(HasSlot\)/,
    ],
    [
      "that has given it a slot for its tasks",
      rollout({}, { running: [{ ...claim("prod-1", "5d2c"), tasks: true }] }),
      /it has a slot, and may begin when its tasks are done/,
    ],
    [
      "that has given it a slot with which it did not begin in time",
      rollout({}, { running: [claim("prod-1", "5d2c")] }),
      /^Blocked: [^]*Blocked \(ClaimExpires\)/,
    ],
    [
      "that has given it a slot for another version lets it use that for this one",
      rollout({}, { running: [{ ...claim("prod-1", "5d2c"), target: "v1.34.0" }], next: [next("first")] }),
      /^Allowed: [^]*Allowed \(HasSlot\)/,
    ],
    [
      "counts no slot of the Cluster itself against it, but those of others",
      rollout({}, { running: [{ ...claim("prod-1", "5d2c"), target: "v1.34.0" }, claim("other")] }),
      /because +all slots \(1\) are in use, by team-b\/other\n/,
    ],
    [
      "in mode Audit holds nothing",
      rollout({ mode: "Audit", maxConcurrency: 0 }),
      /^Allowed: [^]*WouldBlock \(NoFreeSlot\), mode Audit, so it holds nothing/,
    ],
  ];
  for (const [title, object, words] of cases)
    test(title, async (t) => {
      const stdout = await explained(t, [object]);
      assert.match(stdout, words);
    });

  test("takes a percentage of its Clusters for a version, too, that none is asked for yet", async (t) => {
    const targets = [{ version: VERSION, stages: [{ name: "all", members: 40, ...counts }] }];
    const object = rollout({ maxConcurrency: "5%" }, { targets, running: [claim("other")] });
    const later = ["--hook", "BeforeClusterUpgrade", "--to-version", "v1.36.0"];
    assert.match(await explained(t, [object], ...later), /HookRollout upgrades: Allowed \(SlotFree\)/);
  });

  test("of another operation, or of other Clusters, is not named", async (t) => {
    const other = rollout({ operation: "Delete" });
    const elsewhere = rollout({ namespaceSelector: { matchLabels: { team: "b" } } });
    for (const object of [other, elsewhere]) {
      const stdout = await explained(t, [object], "--hook", "BeforeClusterUpgrade");
      assert.doesNotMatch(stdout, /HookRollout/);
    }
  });

  test("is lifted by a HookOverride that names no policy", async (t) => {
    const override = rawOverride(
      { name: "now", creationTimestamp: "2026-11-21T11:59:00Z" },
      { hooks: ["BeforeClusterUpgrade"], expiresAt: "2026-11-21T12:30:00Z" },
    );
    const stdout = await explained(t, [rollout({ paused: true }), override]);
    assert.match(stdout, /^Allowed: [^]*Allowed \(Overridden\)\n +because +overridden by HookOverride now/);
  });

  test("is in the JSON, which keeps to its schema", async (t) => {
    const stdout = await explained(t, [rollout({ paused: true })], "-o", "json");
    const report: {
      operations: [{ verdict: string; holds: boolean; rollouts: object[] }];
    } = await checked("explain", JSON.parse(stdout));
    const [{ verdict, holds, rollouts }] = report.operations;
    assert.deepEqual({ verdict, holds }, { verdict: "Blocked", holds: true });
    assert.deepEqual(rollouts, [
      {
        rollout: "upgrades",
        mode: "Enforce",
        holds: true,
        reason: "Paused",
        stage: "all",
        because: [],
        retryAfterSeconds: 10,
        message: "HookRollout upgrades: is paused (hookpolicy rollout status upgrades)",
        released:
          "only after a user who may update HookRollout upgrades has resumed it: hookpolicy rollout resume upgrades",
      },
    ]);
  });
});

test("the message is the operator's, which names no stage where all stages stop", async (t) => {
  const stages = [{ name: "canary" }];
  const stdout = await explained(t, [rollout({ paused: true, stages })], "-o", "json");
  const { operations } = JSON.parse(stdout) as { operations: [{ rollouts: [Record<string, unknown>] }] };
  const [{ stage, message }] = operations[0].rollouts;
  assert.equal(stage, "canary");
  assert.equal(message, "HookRollout upgrades: is paused (hookpolicy rollout status upgrades)");
});

test("a rollout that no operator has seen holds as simulate and suites say, with the stage of the Cluster", async (t) => {
  const canary = {
    ...cluster,
    metadata: { ...cluster.metadata, name: "c1", uid: "c1", labels: { tier: "canary" } },
  };
  const stages = [{ name: "canary", clusterSelector: { matchLabels: { tier: "canary" } } }, { name: "rest" }];
  const { status: _, ...written } = rollout({ stages }) as { status: object };
  const stdout = await explained(t, [cluster, canary, written]);
  assert.match(stdout, /^ {2}because {3}HookRollout upgrades: waits for stage canary \(/m);
  assert.match(
    stdout,
    /^HookRollout upgrades, stage rest: Blocked \(StageClosed\)\n +because +stage canary to v/m,
  );
  const conditions = [
    { type: "TopologyReconciled", status: "True", observedGeneration: 2 },
    { type: "Available", status: "False" },
  ];
  const halted = await explained(t, [cluster, { ...canary, status: { conditions } }, written]);
  assert.match(halted, /stage rest: Blocked \(Halted\)\n +because +team-a\/c1 failed at .* \(Unhealthy\)$/m);
});

test("a halt names five failures, and says how many more there are", async (t) => {
  const ill = ["a", "b", "c", "d", "e", "f", "g"].map((name) => ({ ...next(name), uid: name, time: NOW }));
  const failed = ill.map((each) => ({ ...each, stage: "all", reason: "Unhealthy" }));
  const stdout = await explained(t, [rollout({}, { failed })]);
  assert.match(stdout, /Blocked \(Halted\)\n[^]*team-a\/e failed .*\n +because +and 2 more failed$/m);
});

test("tells of a Cluster that is too large for memory, without which no stage passes", async (t) => {
  const large = { ...ready, reason: "TooLarge", message: "In force; the labels of team-b/c1 are too large" };
  const stages = [
    { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } },
    { name: "rest", namespaceSelector: {} },
  ];
  const rows = stages.map(({ name }) => ({ name, members: 1, ...counts, succeeded: 1 }));
  const targets = [{ version: VERSION, stages: rows }];
  const stdout = await explained(t, [rollout({ stages }, { conditions: [large], targets })]);
  assert.match(stdout, /StageClosed\)\n[^]* because +In force; the labels of team-b\/c1 are too large$/m);
});
