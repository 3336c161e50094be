/** The steps of an upgrade, as Cluster API 1.12 to 1.14 shows them: what stops or starts their clocks. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { RuleSpec } from "../../src/api/hook-policy.ts";
import type { Cluster } from "../../src/api/meta.ts";
import type { HookCall } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { APPROVED, at, gated } from "../unit/builders.ts";
import { passTo, statusOf, storeWith } from "../unit/memory/fixtures.ts";
import { Operators } from "./operators.ts";
import { blocking, FAILED, shown, type ClusterState, versions } from "./shown-clusters.ts";

const soak = { name: "soak", wait: { duration: "30m" } };

function waiting(...hooks: RuleSpec["hooks"]): PolicyObject {
  return gated([soak], { hooks });
}

async function isHeld(operators: Operators, call: HookCall, on: Cluster): Promise<boolean> {
  return (await operators.ask(0, call, on)).retryAfterSeconds !== 0;
}

const NEXT: HookCall = {
  hook: "BeforeControlPlaneUpgrade",
  fromKubernetesVersion: "v1.31.0",
  toKubernetesVersion: "v1.32.0",
};
const BEFORE_NEXT = {
  version: "v1.33.0",
  marks: "AfterClusterUpgrade",
  step: "v1.31.0",
  message: blocking("BeforeControlPlaneUpgrade", "v1.33.0", "v1.32.0", "v1.33.0"),
} satisfies ClusterState;
/** The control plane has taken the first version of two. */
const AFTER = {
  version: "v1.33.0",
  marks: "AfterClusterUpgrade,AfterControlPlaneUpgrade",
  step: "v1.32.0",
  message: blocking("AfterControlPlaneUpgrade", "v1.33.0", "v1.33.0"),
} satisfies ClusterState;
const AFTER_CALL: HookCall = { hook: "AfterControlPlaneUpgrade", kubernetesVersion: "v1.32.0" };

describe("a reconcile that fails", () => {
  const cases: Record<string, readonly [held: ClusterState, call: HookCall]> = {
    "before a step": [BEFORE_NEXT, NEXT],
    "before the only step": [
      {
        ...BEFORE_NEXT,
        version: "v1.32.0",
        message: blocking("BeforeControlPlaneUpgrade", "v1.32.0", "v1.32.0"),
      },
      NEXT,
    ],
    "after a step": [AFTER, AFTER_CALL],
  };
  for (const [when, [held, call]] of Object.entries(cases)) {
    test(`${when} restarts no clock of 1.12 and 1.13, which show the plan in the condition`, async () => {
      const operators = new Operators({ policies: [waiting(call.hook)], clusters: [shown(held)] });
      operators.passTo(at("+20m"));
      operators.set(shown({ ...held, ...FAILED }));
      operators.settle();
      operators.set(shown(held));
      operators.settle();
      assert.ok(await isHeld(operators, call, shown(held)));
      operators.passTo(at("+31m"));
      assert.equal(await isHeld(operators, call, shown(held)), false);
    });
  }

  test("while the operator restarts stops no clock either", () => {
    const policy = waiting(NEXT.hook);
    const operators = new Operators({ policies: [policy], clusters: [shown(BEFORE_NEXT)] });
    operators.settle();
    const status = operators.statusOf(policy);
    const failed = shown({ ...BEFORE_NEXT, ...FAILED });
    const restarted = new Operators({
      policies: [{ ...policy, ...(status && { status }) }],
      clusters: [failed],
    });
    restarted.passTo(at("+20m"));
    restarted.set(shown(BEFORE_NEXT));
    restarted.settle();
    const [row] = restarted.statusOf(policy)?.decisions ?? [];
    assert.equal(row?.firstAsked, "2026-11-21T12:00:00Z");
    assert.equal(row.targetVersion, "v1.32.0");
  });
});

describe("the version of a step", () => {
  const hooks = ["AfterControlPlaneUpgrade", "BeforeWorkersUpgrade", "AfterWorkersUpgrade"] as const;
  for (const hook of hooks) {
    test(`${hook}: is that of the control plane's spec, whatever its kubelets say`, async () => {
      const on = shown({
        ...AFTER,
        marks: `AfterClusterUpgrade,${hook}`,
        message: blocking(hook, "v1.33.0", "v1.33.0"),
        controlPlane: { upgradePlan: versions("v1.33.0"), versions: versions("v1.32.0+vendor.1") },
      });
      const operators = new Operators({ policies: [waiting(hook)], clusters: [on] });
      operators.passTo(at("+31m"));
      const isTo = hook === "BeforeWorkersUpgrade";
      const call = isTo
        ? { hook, fromKubernetesVersion: "v1.31.0", toKubernetesVersion: "v1.32.0" }
        : { hook, kubernetesVersion: "v1.32.0" };
      assert.equal(await isHeld(operators, call, on), false);
    });
  }

  test("can be approved, and then waited for, where the control plane shows no versions", async () => {
    const approved = { name: "ok", annotation: { key: APPROVED, valueFrom: "TargetVersion" as const } };
    const policy = gated([approved, soak], { hooks: [AFTER_CALL.hook] });
    const on = shown({ ...AFTER, annotations: { [APPROVED]: "v1.32.0" } });
    const operators = new Operators({ policies: [policy], clusters: [on] });
    assert.ok(await isHeld(operators, AFTER_CALL, on));
    operators.passTo(at("+31m"));
    assert.equal(await isHeld(operators, AFTER_CALL, on), false);
  });

  test("lets replicas that saw the step begin at different times agree, without a write", () => {
    let policy = gated([{ name: "long", wait: { duration: "30h" } }], { hooks: [AFTER_CALL.hook] });
    const first = storeWith({ policies: [policy], clusters: [shown(AFTER)] });
    policy = { ...policy, status: statusOf(first, policy) };
    first.setPolicy(policy);
    const second = storeWith({ policies: [policy], clusters: [shown(AFTER)], load: false });
    second.clock.now = at("+10m");
    second.store.load();
    for (const fixture of [first, second]) {
      passTo(fixture, at("+11m"));
      assert.deepEqual(statusOf(fixture, policy), policy.status);
      fixture.store.stop();
    }
  });
});

describe("the next step", () => {
  // One reconcile lets the workers of v1.32 pass, upgrades the control plane and marks the workers of v1.33: the marks
  // come first, then the step, and the status at the end.
  const policy = waiting("AfterWorkersUpgrade");
  const marks = "AfterClusterUpgrade,AfterWorkersUpgrade";
  const held = { ...AFTER, marks, message: blocking("AfterWorkersUpgrade", "v1.33.0", "v1.33.0") };
  const remarked = "AfterClusterUpgrade,AfterControlPlaneUpgrade,AfterWorkersUpgrade,BeforeWorkersUpgrade";

  test("does not begin by the condition of the one before", () => {
    const operators = new Operators({ policies: [policy], clusters: [shown(held)] });
    operators.passTo(at("+40m"));
    operators.set(shown({ ...held, marks: "AfterClusterUpgrade" }));
    operators.set(shown({ ...held, marks: remarked }));
    operators.set(shown({ ...held, marks: remarked, step: "v1.33.0" }));
    operators.settle();
    assert.equal(operators.statusOf(policy)?.decisions, undefined);
  });

  test("has clocks of its own", async () => {
    const operators = new Operators({ policies: [policy], clusters: [shown(held)] });
    operators.passTo(at("+40m"));
    const last = shown({ ...held, step: "v1.33.0", message: blocking("AfterWorkersUpgrade", "v1.33.0") });
    operators.set(last);
    const call: HookCall = { hook: "AfterWorkersUpgrade", kubernetesVersion: "v1.33.0" };
    assert.ok(await isHeld(operators, call, last));
    operators.passTo(at("+71m"));
    assert.equal(await isHeld(operators, call, last), false);
  });
});

describe("a forged version of the step", () => {
  for (const step of ["v1.33.0", "v1.30.0", "", undefined]) {
    test(`${JSON.stringify(step)} makes it wait for longer, and the next one no shorter`, async () => {
      const operators = new Operators({ policies: [waiting(AFTER_CALL.hook)], clusters: [shown(AFTER)] });
      operators.passTo(at("+20m"));
      const { step: _, ...rest } = AFTER;
      const forged = shown({ ...rest, ...(step !== undefined && { step }) });
      operators.set(forged);
      operators.passTo(at("+29m"));
      assert.ok(await isHeld(operators, AFTER_CALL, forged));
      operators.set(shown(AFTER));
      operators.passTo(at("+58m"));
      assert.ok(await isHeld(operators, AFTER_CALL, shown(AFTER)));
      const { marks, version } = AFTER;
      const last = shown({ version, marks, step: "v1.33.0", message: blocking(AFTER_CALL.hook, version) });
      operators.set(last);
      operators.passTo(at("+87m"));
      assert.ok(await isHeld(operators, { ...AFTER_CALL, kubernetesVersion: "v1.33.0" }, last));
    });
  }
});
