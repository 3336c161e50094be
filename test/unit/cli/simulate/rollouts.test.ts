/** HookRollouts in a simulation: what they hold if Cluster API asks about every Cluster at the same instant. */

import assert from "node:assert/strict";
import test from "node:test";
import { servedHooks } from "../../../../src/api/hook-catalog.ts";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import { fleetPair } from "../../../../src/cli/simulate/changed-fleet.ts";
import { simulate } from "../../../../src/cli/simulate/simulation.ts";
import { folder, yaml } from "../program.ts";
import { rawCluster, rawOverride, rawPolicy, rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const AT = new Date("2026-11-21T12:00:00Z");
const served = servedHooks(14);

type Raw = Record<string, unknown>;

const cluster = (name: string, wave: string, over: object = {}): Raw => ({
  ...rawCluster({ name, labels: { wave } }),
  spec: { topology: { classRef: { name: "lab" }, version: "v1.36.0" } },
  ...over,
});

function rollout(spec: object, status?: object): Raw {
  return {
    ...rawRollout("upgrades", { maxConcurrency: 1, ...spec }),
    ...(status !== undefined && { status }),
  };
}

const FREEZE = rawPolicy("freeze", {
  clusterSelector: { matchLabels: { wave: "canary" } },
  rules: [
    {
      name: "ok",
      hooks: ["BeforeClusterUpgrade"],
      until: [{ name: "ok", annotation: { key: "example.com/ok" } }],
    },
  ],
});
const STAGES = {
  stages: [{ name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } }, { name: "production" }],
};
const FLEET = [cluster("a", "canary"), cluster("b", "canary"), cluster("c", "production")];

interface Setup {
  readonly present: readonly Raw[];
  readonly applied: readonly Raw[];
  readonly from?: Date;
  readonly to?: Date;
  readonly prune?: boolean;
  readonly version?: string;
}

async function changes({
  present,
  applied,
  from = AT,
  to,
  prune = false,
  version,
}: Setup): Promise<readonly string[]> {
  const pair = fleetPair(present, applied, { served, maxOverrideMs: 3_600_000, now: from, prune });
  const hooks = ["BeforeClusterUpgrade"] as const;
  const found = await simulate(pair, {
    hooks,
    from,
    ...(to !== undefined && { to }),
    ...(version !== undefined && { version }),
  });
  return found.changes.map(({ change, cluster: name, after }) =>
    [change, name, ...after.rules.map(({ policy, rule, reason }) => `${policy} ${rule} ${reason}`)].join(" "),
  );
}

test("a new rollout holds all but the first that have a slot", async () => {
  assert.deepEqual(await changes({ present: FLEET, applied: [rollout({})] }), [
    "newly-blocked team-a/b HookRollout upgrades all NoFreeSlot",
    "newly-blocked team-a/c HookRollout upgrades all NoFreeSlot",
  ]);
});

test("later stages wait for earlier ones", async () => {
  assert.deepEqual(await changes({ present: FLEET, applied: [rollout({ ...STAGES, maxConcurrency: 2 })] }), [
    "newly-blocked team-a/c HookRollout upgrades production StageClosed",
  ]);
});

test("the gates of a stage see the version that upgrades would go to", async () => {
  const tested = { name: "tested", expression: "cluster.topology.version == 'v1.36.0'" };
  const staged = rollout({ maxConcurrency: 3, stages: [{ name: "all", until: [tested] }] });
  assert.deepEqual(await changes({ present: FLEET, applied: [staged], version: "v1.36.0" }), []);
  const to = await changes({ present: FLEET, applied: [staged], version: "v1.37.0" });
  assert.deepEqual(
    to,
    ["a", "b", "c"].map((name) => `newly-blocked team-a/${name} HookRollout upgrades all GateOpen`),
  );
});

test("a paused rollout is told with the stage of each Cluster", async () => {
  assert.deepEqual(await changes({ present: FLEET, applied: [rollout({ ...STAGES, paused: true })] }), [
    "newly-blocked team-a/a HookRollout upgrades canary Paused",
    "newly-blocked team-a/b HookRollout upgrades canary Paused",
    "newly-blocked team-a/c HookRollout upgrades production Paused",
  ]);
});

test("two versions of a rollout are compared", async () => {
  const present = [...FLEET, rollout({})];
  assert.deepEqual(await changes({ present, applied: [rollout({ maxConcurrency: 2 })] }), [
    "newly-allowed team-a/b",
  ]);
  assert.deepEqual(await changes({ present, applied: [rollout({ paused: true })] }), [
    "newly-blocked team-a/a HookRollout upgrades all Paused",
    "changed-reason team-a/b HookRollout upgrades all Paused",
    "changed-reason team-a/c HookRollout upgrades all Paused",
  ]);
  assert.deepEqual(await changes({ present, applied: [], prune: true }), [
    "newly-allowed team-a/b",
    "newly-allowed team-a/c",
  ]);
});

test("what a policy holds takes no slot", async () => {
  const present = [...FLEET, rollout({})];
  assert.deepEqual(await changes({ present, applied: [FREEZE] }), [
    "newly-blocked team-a/a HookPolicy team-a/freeze ok WaitingForAnnotation",
    "changed-reason team-a/b HookPolicy team-a/freeze ok WaitingForAnnotation",
    "newly-allowed team-a/c",
  ]);
});

const message = "Following hooks are blocking upgrade: BeforeClusterUpgrade: held";
const RESTING = { status: "True", reason: "ReconcileSucceeded" };
const ASKING = { status: "False", reason: "LifecycleHookBlocking", message };

function shown(name: string, state: object, available = "True"): Raw {
  const conditions = [
    { type: "TopologyReconciled", observedGeneration: 1, ...state },
    { type: "Available", status: available },
  ];
  const metadata = { namespace: "team-a", name, generation: 1, labels: { wave: name } };
  return { ...cluster(name, name), metadata, status: { conditions } };
}

test("a Cluster that is unhealthy at a version for which another one asks halts a new rollout", async () => {
  const fleet = [shown("a", RESTING, "False"), shown("b", ASKING)];
  assert.deepEqual(await changes({ present: fleet, applied: [rollout({})] }), [
    "newly-blocked team-a/a HookRollout upgrades all Halted",
    "newly-blocked team-a/b HookRollout upgrades all Halted",
  ]);
  assert.deepEqual(await changes({ present: fleet.slice(0, 1), applied: [rollout({})] }), []);
});

test("free slots go to the Clusters that ask now, so that a release is seen", async () => {
  const fleet = [shown("a", RESTING), shown("b", ASKING)];
  const freeze = { ...FREEZE, spec: { ...FREEZE.spec, clusterSelector: { matchLabels: { wave: "b" } } } };
  const weak = { ...freeze, spec: { ...freeze.spec, mode: "Audit" } };
  assert.deepEqual(await changes({ present: [...fleet, freeze, rollout({})], applied: [weak] }), [
    "newly-blocked team-a/a HookRollout upgrades all NoFreeSlot",
    "newly-allowed team-a/b HookPolicy team-a/freeze ok WaitingForAnnotation",
  ]);
});

test("slots in use and failures are those of the status", async () => {
  const at = "2026-11-21T11:00:00Z";
  const claim = { namespace: "team-a", name: "a", uid: "uid-of-team-a/a", target: "v1.36.0", stage: "all" };
  const running = [{ ...claim, claimed: true, claimedAt: at, renewedAt: at, markedAt: at, attempts: 1 }];
  const before = rollout({}, { running });
  assert.deepEqual(
    await changes({ present: [...FLEET, before], applied: [rollout({ maxConcurrency: 2 })] }),
    ["newly-allowed team-a/b"],
  );
});

test("a rollout in Audit holds nothing", async () => {
  assert.deepEqual(await changes({ present: FLEET, applied: [rollout({ mode: "Audit" })] }), []);
});

test("over a time, a rollout holds as at its beginning", async () => {
  const to = new Date("2026-11-22T12:00:00Z");
  assert.deepEqual(await changes({ present: FLEET, applied: [rollout({ maxConcurrency: 2 })], to }), [
    "newly-blocked team-a/c HookRollout upgrades all NoFreeSlot",
  ]);
});

test("over a time, the windows of stages open and close", async () => {
  const from = new Date("2026-11-21T21:00:00Z");
  const to = new Date("2026-11-22T21:00:00Z");
  const window = { timeZone: "UTC", allow: [{ schedule: "0 20 * * *", duration: "8h" }] };
  const applied = [
    rollout({ maxConcurrency: "100%", stages: [{ name: "all", until: [{ name: "night", window }] }] }),
  ];
  const held = ["a", "b", "c"].map(
    (name) => `newly-blocked team-a/${name} HookRollout upgrades all GateOpen`,
  );
  assert.deepEqual(await changes({ present: FLEET, applied, from, to }), held);
  assert.deepEqual(await changes({ present: FLEET, applied, from }), []);
  const pair = fleetPair(FLEET, applied, { served, maxOverrideMs: 0, now: from, prune: false });
  const day = await simulate(pair, { hooks: ["BeforeClusterUpgrade"], from, to });
  assert.deepEqual([...new Set(day.changes.map(({ seconds }) => seconds / 3600))], [16]);
  assert.deepEqual(day.windowed, ["HookRollout upgrades"]);
});

test("an override that names the rollout lifts it", async () => {
  const override = rawOverride(
    { name: "now", creationTimestamp: "2026-11-21T11:59:00Z" },
    {
      clusterRef: { namespace: "team-a", name: "c" },
      hooks: ["BeforeClusterUpgrade"],
      policyRefs: [{ kind: "HookRollout", name: "upgrades" }],
      expiresAt: "2026-11-21T12:30:00Z",
    },
  );
  const present = [...FLEET, override];
  const held = "newly-blocked team-a/b HookRollout upgrades all NoFreeSlot";
  assert.deepEqual(await changes({ present, applied: [rollout({})] }), [held]);
  const to = new Date("2026-11-21T13:00:00Z");
  assert.deepEqual(await changes({ present, applied: [rollout({})], to }), [held, held.replace("/b", "/c")]);
});

test("the objects that gates of stages look at are read", () => {
  const object = { apiVersion: "example.com/v1", kind: "Approval", name: "ok", namespace: "platform" };
  const staged = rollout({ stages: [{ name: "all", until: [{ name: "ok", object }] }] });
  const fleet = new Fleet([staged], { served, maxOverrideMs: 0, now: AT });
  assert.deepEqual(
    fleet.demands().map(({ kind }) => kind),
    [{ apiVersion: "example.com/v1", kind: "Approval" }],
  );
});

test("a change that the API server refuses is an error", async (t) => {
  const cwd = await folder(t, {
    "before.yaml": yaml(...FLEET, rollout({})),
    "after.yaml": JSON.stringify(rollout({ operation: "Delete" })),
  });
  const args = ["simulate", "-f", "after.yaml", "--against", "before.yaml"];
  const { code, stderr } = await hookpolicy(args, { cwd });
  const text = "HookRollout upgrades: spec.operation: cannot be changed. Create another HookRollout";
  assert.deepEqual({ code, stderr }, { code: 2, stderr: `error: after.yaml:1:113: ${text}\n` });
});

test("what a policy no longer holds is told where a rollout hides it", async (t) => {
  const fleet = [...FLEET, FREEZE, rollout({ paused: true })];
  const weak = { ...FREEZE, spec: { ...FREEZE.spec, mode: "Audit" } };
  const cwd = await folder(t, {
    "fleet.yaml": yaml(...fleet),
    "weak.yaml": JSON.stringify(weak),
    "same.yaml": JSON.stringify(FREEZE),
    "open.yaml": yaml(weak, rollout({ maxConcurrency: 9 })),
  });
  const run = async (file: string, ...more: readonly string[]): Promise<string> => {
    const args = [
      ...`simulate -f ${file} --against fleet.yaml --hook BeforeClusterUpgrade`.split(" "),
      ...more,
    ];
    return (await hookpolicy(args, { cwd })).stdout;
  };
  const line = /^held by a HookRollout alone after the change: 2 Clusters; policies no longer do/m;
  assert.match(await run("weak.yaml"), /^0 newly blocked, 0 newly allowed, /m);
  assert.match(await run("weak.yaml"), line);
  assert.match(await run("weak.yaml", "-o", "markdown"), line);
  assert.match(await run("weak.yaml", "-o", "json"), /"heldByRolloutAlone": 2,/);
  for (const file of ["same.yaml", "open.yaml"]) assert.doesNotMatch(await run(file), /HookRollout alone/);
});
