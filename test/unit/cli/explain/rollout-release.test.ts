/** When `hookpolicy explain` says that a Cluster under a rollout is released, beside policies and without them. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { checked, folder, yaml } from "../program.ts";
import { rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import { plan } from "../rollout/planned-fleet.ts";
import { cluster, explained, NAMESPACE, night, policy } from "./explained.ts";

const UPGRADE = ["--hook", "BeforeClusterUpgrade", "--to-version", "v1.36.0"] as const;
const held = (until: readonly object[]): object =>
  policy("p", [{ name: "r", hooks: ["BeforeClusterUpgrade"], until }]);
const rollout = (spec: object = {}): object => rawRollout("upgrades", spec);
const stages = [
  { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } },
  { name: "rest", clusterSelector: { matchLabels: { tier: "production" } } },
];
const canary = (version: string): object =>
  cluster(
    { name: "canary", uid: "c", labels: { wave: "canary" } },
    { topology: { classRef: { name: "lab" }, version } },
  );

interface Report {
  readonly operations: readonly [{ readonly message: string; readonly earliestRelease?: string }];
}

describe("a rollout that holds in addition to a policy", () => {
  const objects = [cluster(), held([night]), rollout({ stages }), canary("v1.35.0")];

  test("is named next, and the override lifts both", async (t) => {
    const stdout = await explained(t, objects, ...UPGRADE);
    assert.match(stdout, /\n {2}then +HookRollout upgrades: waits for stage canary /);
    assert.match(
      stdout,
      /\n {2}released +by policies: at 2026-11-21T22:00:00Z, if nothing else changes; then by HookRollout upgrades: when stage canary has passed, and a slot is free for it\n/,
    );
    assert.match(stdout, /if it cannot wait: .* --policy HookPolicy\/p --policy HookRollout\/upgrades /);
  });

  test("makes the release unknown in JSON, and the message stays the policy's", async (t) => {
    const text = await explained(t, objects, ...UPGRADE, "-o", "json");
    const { operations }: Report = await checked("explain", JSON.parse(text));
    assert.equal(operations[0].earliestRelease, "Unknown");
    assert.match(operations[0].message, /^HookPolicy team-a\/p/);
    const paused = [cluster(), held([night]), rollout({ paused: true })];
    const stuck = JSON.parse(await explained(t, paused, ...UPGRADE, "-o", "json")) as Report;
    assert.equal(stuck.operations[0].earliestRelease, undefined);
  });

  test("and no longer when the policy releases it, leaves the instant as it is", async (t) => {
    const until = [
      {
        name: "evening",
        window: { timeZone: "UTC", deny: [{ from: "2026-11-21", to: "2026-11-21T20:00" }] },
      },
    ];
    const early = rollout({ stages: [{ name: "only", until }] });
    const stdout = await explained(t, [cluster(), held([night]), early], ...UPGRADE);
    assert.match(stdout, /\n {2}released +at 2026-11-21T22:00:00Z, if nothing else changes\n/);
    assert.doesNotMatch(stdout, /\n {2}then /);
  });

  test("only from when the policy releases it on, is named as well", async (t) => {
    const until = [
      { name: "day", window: { timeZone: "UTC", deny: [{ from: "2026-11-21T20:00", to: "2026-11-23" }] } },
    ];
    const late = rollout({ stages: [{ name: "only", until }] });
    const stdout = await explained(t, [cluster(), held([night]), late], ...UPGRADE);
    assert.match(stdout, /\n {2}then +HookRollout upgrades, stage only: gate day waits for /);
    assert.match(stdout, /--policy HookRollout\/upgrades /);
  });
});

describe("what only a user can change is said, with who may", () => {
  const cases: readonly (readonly [string, object, RegExp])[] = [
    [
      "a pause",
      { paused: true },
      /who may update HookRollout upgrades has resumed it: hookpolicy rollout resume upgrades$/m,
    ],
    [
      "no slots",
      { maxConcurrency: 0 },
      /who may update HookRollout upgrades has raised maxConcurrency above 0$/m,
    ],
    [
      "no slots in the stage",
      { stages: [{ name: "all", maxConcurrency: "0%" }] },
      /has raised maxConcurrency above 0$/m,
    ],
    [
      "no stage",
      { stages: [stages[0]] },
      /a user has given the Cluster labels that a stage selects, or .* has added a stage for it$/m,
    ],
    [
      "an empty stage",
      { stages },
      /a user has given Clusters the labels of stage canary, or .* has set its minSucceeded to 0 and its minSuccessTime to 0s$/m,
    ],
    ["an invalid spec", { progressDeadline: "soon" }, /has corrected its spec$/m],
  ];
  for (const [title, spec, words] of cases)
    test(title, async (t) => {
      const stdout = await explained(t, [cluster(), rollout(spec)], ...UPGRADE);
      const [line = ""] = /^ {2}released .*$/m.exec(stdout) ?? [];
      assert.match(line, /released +only after a user /);
      assert.match(line, words);
    });
});

test("explain and the plan agree about a canary of a file that asks for the version already", async (t) => {
  const fleet = [cluster(), canary("v1.36.0"), rollout({ stages })];
  assert.match(await explained(t, fleet, ...UPGRADE), /^Allowed: [^]*Allowed \(SlotFree\)/);
  const planned = await plan(t, [NAMESPACE, ...fleet], "--to-version", "v1.36.0");
  assert.match(planned.stdout, /^canary +1 +1 +- /m);
  const soaking = [{ ...stages[0], minSuccessTime: "1h" }, stages[1]];
  assert.match(
    await explained(t, [cluster(), canary("v1.36.0"), rollout({ stages: soaking })], ...UPGRADE),
    /^Blocked: .*\n {2}because +HookRollout upgrades: waits for stage canary, which soaks until /,
  );
});

test("without the Cluster's Namespace, its stage and its release are unknown", async (t) => {
  const tiers = [{ name: "only", namespaceSelector: { matchLabels: { tier: "gold" } } }];
  const elsewhere = cluster({ namespace: "team-b" });
  const objects = [cluster(), elsewhere, rollout({ stages: tiers })];
  const cwd = await folder(t, { "f.yaml": yaml(...objects) });
  const { stdout } = await hookpolicy(["explain", "team-a/prod-1", ...UPGRADE, "-f", "f.yaml"], { cwd });
  assert.match(stdout, /what HookRollout upgrades selects of them is unknown/);
  assert.match(stdout, /\n {2}released +unknown without the Cluster's Namespace\n/);
});

test("Cluster API does not ask yet about a Cluster that is only in Git", async (t) => {
  const creations = rollout({ operation: "Create" });
  const create = ["--hook", "BeforeClusterCreate"];
  assert.match(await explained(t, [cluster(), creations], ...create), /^Allowed: .* does not ask about now/);
  const stored = cluster({ creationTimestamp: "2026-11-21T11:00:00Z" });
  assert.match(
    await explained(t, [stored, creations], ...create),
    /^Allowed: .*, asked since 2026-11-21T11:00:00Z/,
  );
});
