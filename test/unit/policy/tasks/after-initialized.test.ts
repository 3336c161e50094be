/** What decide() has stored at AfterControlPlaneInitialized, for which Cluster API does not wait. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookCall } from "../../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import { decide } from "../../../../src/policy/decide.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import type { World } from "../../../../src/policy/world.ts";
import { compiled, NOW, override } from "../../builders.ts";
import { reading, stored, task, taskWorld, withTasks } from "./fixtures.ts";

const FAILING = "cluster.metadata.labels['none'] == 'x'";
const judge = (policy: PolicyObject, over: Partial<World>, call: HookCall): Decision =>
  decide([compiled(policy)], taskWorld(over), call, NOW);

describe("at AfterControlPlaneInitialized", () => {
  const CALL: HookCall = { hook: "AfterControlPlaneInitialized" };
  const hooks = ["AfterControlPlaneInitialized"] as const;
  const two = [task({ name: "one" }), task({ name: "two" })];
  const policy = withTasks(two, { hooks: [...hooks] });

  test("all tasks of a rule are to be stored, each after the one before it, and nothing is held", () => {
    const decision = judge(policy, {}, CALL);
    assert.deepEqual([decision.holds, decision.verdict, decision.begins], [false, "Observed", undefined]);
    const [one, second] = decision.toStore ?? [];
    assert.deepEqual([one?.spec.task, one?.spec.after], ["one", undefined]);
    assert.deepEqual([second?.spec.task, second?.spec.after], ["two", one?.name]);
  });

  test("none of them, if one cannot be rendered or judged", () => {
    for (const broken of [
      task({ name: "two", when: FAILING }),
      task({
        name: "two",
        create: {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name: "<< cluster.metadata.labels['none'] >>" },
          spec: task().create?.["spec"],
        },
      }),
    ]) {
      const decision = judge(withTasks([task({ name: "one" }), broken], { hooks: [...hooks] }), {}, CALL);
      assert.deepEqual(
        [decision.holds, decision.verdict, decision.toStore],
        [false, "NotEvaluable", undefined],
      );
    }
  });

  test("only those that are needed now", () => {
    const some = withTasks([task({ name: "one", when: "false" }), task({ name: "two" })], {
      hooks: [...hooks],
    });
    assert.deepEqual(
      judge(some, {}, CALL).toStore?.map(({ spec }) => [spec.task, spec.after]),
      [["two", undefined]],
    );
  });

  test("also while HookTasks are not known, and not those that are stored", () => {
    const { tasks: _, ...unknown } = taskWorld();
    const all = decide([compiled(policy)], unknown, CALL, NOW).toStore ?? [];
    assert.equal(all.length, 2);
    const [one] = all.map((intent) => stored(intent));
    assert.ok(one);
    const rest = judge(policy, { tasks: reading(one) }, CALL).toStore;
    assert.deepEqual(
      rest?.map(({ spec }) => [spec.task, spec.after]),
      [["two", one.name]],
    );
  });

  test("nothing in mode Audit, and all of them under a HookOverride, which ends", () => {
    assert.equal(
      judge(withTasks(two, { hooks: [...hooks] }, { mode: "Audit" }), {}, CALL).toStore,
      undefined,
    );
    const overrides = [override({ hooks: [...hooks] })];
    assert.equal(judge(policy, { overrides }, CALL).toStore?.length, 2);
  });
});
