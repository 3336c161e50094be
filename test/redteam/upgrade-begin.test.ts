/** When an upgrade has begun: up to Cluster API 1.11 its mark alone does not say so. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { RuleSpec } from "../../src/api/hook-policy.ts";
import type { HookCall } from "../../src/api/runtime-hooks.ts";
import { servedHooks } from "../../src/api/hook-catalog.ts";
import { APPROVED, at, clusterHookPolicy, gated, hookOverride, NOW, rule } from "../unit/builders.ts";
import { Operators } from "./operators.ts";
import { FAILED, shown, type ClusterState, versions } from "./shown-clusters.ts";

const CALL: HookCall = {
  hook: "BeforeClusterUpgrade",
  fromKubernetesVersion: "v1.32.0",
  toKubernetesVersion: "v1.33.0",
};
/** Cluster API 1.11: internal/controllers/topology/cluster/conditions.go, scope/hookresponsetracker.go. */
const HELD: ClusterState = {
  version: "v1.33.0",
  reason: "LifecycleHookBlocking",
  message: 'hook "BeforeClusterUpgrade" is blocking: HookPolicy team-a/protect, rule r: no',
};
const MARKED = { ...HELD, marks: "AfterClusterUpgrade,AfterControlPlaneUpgrade" };
const policy = gated([{ name: "soak", wait: { duration: "30m" } }], { hooks: ["BeforeClusterUpgrade"] });

async function released(): Promise<Operators> {
  const operators = new Operators({ policies: [policy], clusters: [shown(HELD)], served: servedHooks(11) });
  operators.passTo(at("+31m"));
  assert.equal((await operators.ask(0, CALL, shown(HELD))).retryAfterSeconds, 0);
  operators.set(shown(MARKED));
  operators.settle();
  return operators;
}

describe("an upgrade that Cluster API 1.11 has marked", () => {
  test("is called again where the same reconcile fails, and proceeds at once", async () => {
    const operators = await released();
    operators.set(shown({ ...MARKED, ...FAILED }));
    operators.settle();
    operators.set(shown(MARKED));
    operators.settle();
    assert.equal((await operators.ask(0, CALL, shown(MARKED))).retryAfterSeconds, 0);
    assert.equal(operators.statusOf(policy)?.recent, undefined);
    assert.deepEqual(
      operators.told.filter((text) => text.startsWith("Released")),
      [],
    );
  });

  const begun: Record<string, ClusterState> = {
    "waits for workers": {
      version: "v1.33.0",
      reason: "MachineDeploymentsUpgradePending",
      message: "on hold.",
    },
    "has none": { version: "v1.33.0" },
    "is held by the next hook": { ...HELD, message: 'hook "AfterControlPlaneUpgrade" is blocking: no' },
  };
  for (const [why, is] of Object.entries(begun)) {
    test(`has begun when the control plane has taken the version: it ${why}`, async () => {
      const operators = await released();
      operators.set(shown({ ...is, marks: MARKED.marks }));
      operators.settle();
      const [result] = operators.statusOf(policy)?.recent ?? [];
      assert.equal(result?.targetVersion, "v1.33.0");
      assert.equal(operators.told.filter((text) => text.startsWith("Released")).length, 2);
      operators.set(shown(HELD));
      assert.notEqual((await operators.ask(0, CALL, shown(HELD))).retryAfterSeconds, 0);
    });
  }

  test("has not begun while the control plane is still to take the version", async () => {
    const operators = await released();
    operators.set(shown({ ...MARKED, reason: "ControlPlaneUpgradePending", message: "on hold." }));
    operators.settle();
    assert.equal(operators.statusOf(policy)?.recent, undefined);
  });
});

describe("a Cluster that is being deleted", () => {
  const hooks: RuleSpec["hooks"] = ["AfterControlPlaneUpgrade", "BeforeClusterCreate"];
  const until = [{ name: "ok", annotation: { key: APPROVED } }];
  const both = gated(until, { hooks, deadline: { after: "1h", onExpiry: "Allow" } });

  test("no longer has a row of an upgrade or a creation", () => {
    const upgrading: ClusterState = {
      version: "v1.33.0",
      marks: "AfterClusterUpgrade,AfterControlPlaneUpgrade",
      step: "v1.33.0",
      message: "Following hooks are blocking upgrade: AfterControlPlaneUpgrade: no",
    };
    const creating = { ...shown({ version: "v1.33.0" }), created: false };
    for (const on of [shown(upgrading), creating]) {
      const operators = new Operators({ policies: [both], clusters: [on] });
      operators.settle();
      assert.equal(operators.statusOf(both)?.decisions?.length, 1);
      operators.set({ ...on, metadata: { ...on.metadata, deletionTimestamp: NOW.toISOString() } });
      operators.settle();
      operators.passTo(at("+2h"));
      operators.settle();
      assert.equal(operators.statusOf(both)?.decisions, undefined);
      assert.deepEqual(
        operators.told.filter((text) => /^(Deadline|Released)/.test(text)),
        [],
      );
    }
  });
});

test("a mark on a Cluster that has nothing to do makes no result of an upgrade, and uses no override", () => {
  const fleet = clusterHookPolicy({ rules: [rule({ hooks: ["BeforeClusterUpgrade"] })] });
  const overrides = [hookOverride({ hooks: ["BeforeClusterUpgrade"] })];
  const idle = { version: "v1.33.0", controlPlane: { versions: versions("v1.33.0") } };
  const operators = new Operators({ policies: [fleet], overrides, clusters: [shown(idle)] });
  operators.set(shown({ ...idle, marks: "AfterClusterUpgrade" }));
  operators.settle();
  assert.equal(operators.statusOf(fleet)?.recent, undefined);
  assert.deepEqual(operators.usedOverrides(), [[[]], [[]]]);
});
