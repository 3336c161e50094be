/** Calls that are not Cluster API's, on the real store, confirmation and handlers: what an adversary tried. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import type { HookCall } from "../../src/api/runtime-hooks.ts";
import {
  APPROVED,
  at,
  cluster,
  DELETE,
  gated,
  heldAt,
  hookOverride,
  hookPolicy,
  NOW,
  UPGRADE,
} from "../unit/builders.ts";
import { Operators } from "./operators.ts";

const NEWEST = { resourceVersion: "99999999999" };
const begun = { deletionTimestamp: NOW.toISOString() };
const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const soak: GateSpec = { name: "soak", wait: { duration: "10m" } };
const GOES_ON = { deadline: { after: "1h", onExpiry: "Allow" } } satisfies Partial<RuleSpec>;
const approved = { annotations: { [APPROVED]: "" } };
const deleting = cluster(begun);
const STEP: HookCall = { ...UPGRADE, hook: "BeforeControlPlaneUpgrade" };

function marked(marks: string): Cluster {
  const topology = { className: "lab", version: "v1.36.0" };
  return cluster({ annotations: { [PENDING_HOOKS_ANNOTATION]: marks } }, { topology });
}

async function isHeld(operators: Operators, call: HookCall, on: Cluster, index = 0): Promise<boolean> {
  return (await operators.ask(index, call, on)).retryAfterSeconds !== 0;
}

describe("a forged copy of a Cluster", () => {
  test("(a) without the annotation starts no deadline: the rule goes on holding when it holds for the first time", async () => {
    const policy = gated([approval], GOES_ON);
    const operators = new Operators({ policies: [policy], clusters: [cluster({ ...begun, ...approved })] });
    await operators.ask(0, DELETE, cluster({ ...begun, ...NEWEST }));
    operators.settle();
    assert.equal(operators.statusOf(policy)?.decisions, undefined);
    operators.passTo(at("+2h"));
    operators.set(deleting);
    assert.ok(await isHeld(operators, DELETE, deleting), "it was released at once");
    operators.passTo(at("+3h"));
    assert.ok(!(await isHeld(operators, DELETE, deleting)), "its own deadline counts");
  });

  test("(b) without the approval restarts no wait, on either replica", async () => {
    const operators = new Operators({
      policies: [gated([approval, soak])],
      clusters: [cluster({ ...begun, ...approved })],
    });
    for (const minutes of [4, 8]) {
      operators.passTo(at(`+${minutes}m`));
      for (const index of [0, 1]) await operators.ask(index, DELETE, cluster({ ...begun, ...NEWEST }));
      operators.settle();
    }
    operators.passTo(at("+10m"));
    for (const index of [0, 1])
      assert.ok(!(await isHeld(operators, DELETE, cluster({ ...begun, ...approved }), index)));
  });

  for (const paused of [false, true]) {
    test(`(c) with an approval starts no wait${paused ? ", nor while the Cluster is paused" : ""}`, async () => {
      const operators = new Operators({
        policies: [gated([approval, soak])],
        clusters: [cluster(begun, { paused })],
      });
      await operators.ask(0, DELETE, cluster({ ...begun, ...approved, ...NEWEST }));
      operators.passTo(at("+9m"));
      const real = cluster({ ...begun, ...approved });
      operators.set(real);
      operators.passTo(at("+11m"));
      assert.ok(await isHeld(operators, DELETE, real), "the wait began with the forged copy");
      operators.passTo(at("+19m"));
      assert.ok(!(await isHeld(operators, DELETE, real)));
    });
  }
});

describe("a forged version", () => {
  const step = heldAt("BeforeControlPlaneUpgrade", marked("AfterClusterUpgrade"), ["v1.35.0", "v1.36.0"]);
  const next = heldAt("BeforeControlPlaneUpgrade", marked("AfterClusterUpgrade"), ["v1.36.0"]);
  const policy = gated([approval], { hooks: ["BeforeControlPlaneUpgrade"], ...GOES_ON });

  test("(d) resets no clock of the step that the Cluster shows", async () => {
    const operators = new Operators({ policies: [policy], clusters: [step] });
    assert.ok(await isHeld(operators, STEP, step));
    operators.passTo(at("+30m"));
    await operators.ask(0, { ...STEP, toKubernetesVersion: "v1.99.0" }, step);
    operators.settle();
    operators.passTo(at("+60m"));
    assert.ok(!(await isHeld(operators, STEP, step)), "its deadline began anew");
  });

  test("(d) starts no clock of a step to come, and the clocks of one do not count for the next", async () => {
    const operators = new Operators({ policies: [policy], clusters: [step] });
    const later = { ...STEP, toKubernetesVersion: "v1.36.0" };
    assert.ok(await isHeld(operators, STEP, step));
    await operators.ask(0, later, step);
    operators.passTo(at("+2h"));
    operators.set(next);
    assert.ok(await isHeld(operators, later, next), "a clock of the step before counted");
    operators.passTo(at("+3h"));
    assert.ok(!(await isHeld(operators, later, next)));
  });

  test("(d) meets no clock of a step that the API server shows to be over, where memory is behind", async () => {
    const operators = new Operators({ policies: [policy], clusters: [step], count: 1 });
    operators.passTo(at("+2h"));
    operators.clusters.set("team-a/prod-1", next);
    assert.ok(await isHeld(operators, STEP, next), "the clock of the step before counted");
  });

  test("(e) that the Cluster has already is not wanted: no Event, no row", async () => {
    const upgrade = gated([approval], { hooks: ["BeforeClusterUpgrade"] });
    const there = cluster({}, { progress: { reconciled: true, plan: [] } });
    const operators = new Operators({ policies: [upgrade], clusters: [there] });
    const forged = { ...UPGRADE, toKubernetesVersion: "v1.34.0" };
    assert.ok(await isHeld(operators, forged, there), "the answer may be strict");
    operators.settle();
    assert.deepEqual([operators.told, operators.statusOf(upgrade)?.decisions], [[], undefined]);
  });

  test("(f) that is none is no request, and nothing of it is kept", async () => {
    const seen = hookPolicy({ rules: [{ name: "seen", hooks: ["BeforeClusterUpgrade"] }] });
    const operators = new Operators({ policies: [seen], clusters: [cluster()] });
    for (const text of ["\u001B[2J\u009B31m".padEnd(64, "x"), `v1.35.0-\uD800`, "v1.35.0\n", "1.35"]) {
      const { status } = await operators.ask(0, { ...UPGRADE, toKubernetesVersion: text }, cluster());
      assert.equal(status, "Failure");
    }
    operators.settle();
    assert.equal(operators.statusOf(seen)?.recent, undefined);
  });
});

describe("a forged question that is answered with go", () => {
  test("is none where the Cluster is not being deleted, and no result, and uses no override", async () => {
    const policy = hookPolicy();
    const operators = new Operators({
      policies: [policy],
      overrides: [hookOverride()],
      clusters: [cluster()],
    });
    assert.ok(await isHeld(operators, DELETE, cluster({ ...begun, ...NEWEST })));
    assert.deepEqual(operators.unconfirmed, ["NotWanted"]);
    operators.settle();
    assert.deepEqual([operators.statusOf(policy)?.recent, operators.told], [undefined, []]);
    assert.deepEqual(operators.usedOverrides(), [[[]], [[]]]);
  });

  test("ends no hold: what is told and recorded is that the Cluster itself went on", async () => {
    const policy = hookPolicy();
    const operators = new Operators({ policies: [policy], clusters: [deleting], count: 1 });
    operators.set(cluster({ ...begun, ...approved }));
    assert.ok(!(await isHeld(operators, DELETE, cluster({ ...begun, ...NEWEST }))));
    operators.set(deleting);
    operators.settle();
    assert.equal(operators.statusOf(policy)?.recent, undefined);
    assert.equal(operators.told.filter((text) => text.startsWith("Released")).length, 0);
  });
});
